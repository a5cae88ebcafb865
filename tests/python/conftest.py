"""What the tests of the Python package share."""

import signal

import matplotlib
import numpy as np
import pytest

matplotlib.use("Agg")
# A run that was started in the background ignores Ctrl-C, and so would the programs that it starts.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def rng():
    return np.random.default_rng(20261115)


@pytest.fixture
def quartic():
    """A density with two wells and no closed form."""
    import noisewright as nw

    return nw.Model.from_formula("a*x^2/2 - b*x^4", variables="x", parameters={"a": 1.0, "b": (0.1, 0.0, np.inf)})
