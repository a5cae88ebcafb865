"""Simulated designs: the theory's errors, the nominal coverage, and the same numbers whoever fits."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import noisewright as nw
from noisewright.cluster import mapping

MEAN = nw.Model.from_formula("-(x - m)^2/2", variables="x", parameters={"m": 0.0})
#: log √(2π), the constant of that model.
LOG_Z = 0.5 * math.log(2 * math.pi)


def _simulated(**more: Any) -> nw.SimulationResult:
    design: dict[str, Any] = {"at": {"m": 0.0}, "rows": 500, "noise": nw.Normal(0, 1), "repeats": 200, "log_normalizer": LOG_Z}
    return nw.simulate_design(MEAN, nw.Normal(0, 1), **{**design, **more})


def test_a_gaussian_mean_has_the_error_of_the_theory() -> None:
    found = _simulated(noise=nw.Normal(0, 2))
    assert found.failed == 0 and found.coordinates[0] == "m" and found.predicted is not None
    for j in range(2):
        assert abs(found.sd[j] - found.predicted[j]) < 4 * found.sd_error[j]
        assert abs(found.mean[j] - found.truth[j]) < 4 * found.sd[j] / math.sqrt(found.repeats)
        # Four binomial standard errors of 95 % in 200.
        assert abs(found.coverage[j] - 0.95) < 4 * math.sqrt(0.95 * 0.05 / found.repeats)


def test_what_is_predicted_is_the_closed_form() -> None:
    """With noise = data and ν = 1 the weights are ½, so that n times the variance of the mean is 2 (and T = 2n)."""
    found = _simulated(repeats=2, rows=500)
    assert found.predicted is not None and abs(found.predicted[0] - math.sqrt(2.0 / 500)) < 1e-9


def test_whoever_fits_the_numbers_are_the_same() -> None:
    here = _simulated(repeats=12, rows=200)
    with ThreadPoolExecutor(3) as threads:
        assert np.array_equal(_simulated(repeats=12, rows=200, executor=threads).estimates, here.estimates)
    other = _simulated(repeats=12, rows=200, seed=1)
    assert not np.array_equal(other.estimates, here.estimates)


def test_a_function_may_draw_and_auto_has_no_prediction() -> None:
    def draw(rows: int, seed: int) -> np.ndarray:
        return np.random.default_rng(seed).normal(0.5, 1.0, rows)

    found = nw.simulate_design(MEAN, draw, at={"m": 0.5}, rows=200, repeats=10)
    assert found.predicted is None and np.isnan(found.coverage[1]) and abs(found.mean[0] - 0.5) < 0.2
    assert "10 data sets of 200 rows" in found.summary()


def test_refusals() -> None:
    with pytest.raises(nw.InputError, match="`sample` must be a noise"):
        nw.simulate_design(MEAN, [1.0], at={"m": 0.0}, rows=10)  # type: ignore[arg-type]
    with pytest.raises(nw.InputError, match="`repeats` must be at least 2"):
        _simulated(repeats=1)


def test_lost_workers_are_asked_again_and_given_up_in_the_end() -> None:
    class Losing(mapping.Engine):
        """Loses its first calls."""

        def __init__(self, losses: int) -> None:
            self._threads, self._losses = ThreadPoolExecutor(2), losses

        def submit(self, name: str, place: float, function: Any, *arguments: Any) -> Any:
            return self._threads.submit(function, *arguments)

        def result(self, future: Any) -> Any:
            self._losses -= 1
            if self._losses >= 0:
                raise mapping.Lost
            return future.result()

    assert mapping._Mapping(Losing(3), abs, [-1, 2, -3], "test").finish(mapping.Bar("test", False)) == [1, 2, 3]
    with pytest.raises(nw.errors.WorkersLostError, match="were lost 5 times"):
        mapping._Mapping(Losing(1000), abs, [-1], "test").finish(mapping.Bar("test", False))
