"""What the tests of the Python package share."""

import matplotlib
import numpy as np
import pytest

matplotlib.use("Agg")


@pytest.fixture
def rng():
    return np.random.default_rng(20261115)


@pytest.fixture
def quartic():
    """A density with two wells and no closed form."""
    import noisewright as nw

    return nw.Model.from_formula("a*x^2/2 - b*x^4", variables="x", parameters={"a": 1.0, "b": (0.1, 0.0, np.inf)})
