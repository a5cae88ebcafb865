"""A corner of the nets of `bench/nets`: coverage of intervals, false alarms and power."""

import sys
from pathlib import Path

import numpy as np
import pytest

import noisewright as nw

sys.path.insert(0, str(Path(__file__).parents[2] / "bench" / "nets"))

import alarms  # noqa: E402
import calibration  # noqa: E402

SYSTEMS = {system.name: system for system in calibration.systems()}


@pytest.mark.parametrize("name", sorted(SYSTEMS))
def test_intervals_cover_the_truth(name):
    # 100 samples of 100 rows: a coverage of 95 % is below 86 % with probability 3e-4 (binomial).
    cells, refused = calibration.measure(SYSTEMS[name], 100, "exact, robust", 100)
    assert refused <= 2
    for cell in cells:
        assert cell.coverage >= 0.86, (cell.parameter, cell.coverage)
        assert abs(np.mean(cell.z)) < 0.6 and 0.7 < np.std(cell.z) < 1.5, cell.parameter


def test_small_units_change_no_coverage():
    small = {system.name: system for system in calibration.systems(1e-6)}
    for name, system in small.items():
        one, other = (calibration.measure(s, 100, "exact, robust", 20)[0] for s in (SYSTEMS[name], system))
        assert [(c.parameter, c.covered) for c in one] == [(c.parameter, c.covered) for c in other], name


def test_right_models_draw_no_alarms():
    counted, fits = alarms.false_alarms(90, 300, "exact")
    # At a level of 1 % five or more of 90 have a probability of 2e-3 (Poisson with mean 0.9).
    assert fits == 90 and counted["misspecified"] < 5, counted


def test_wrong_models_are_caught():
    normal = nw.Model.from_features(["x", "x^2"], variables="x")
    caught = [
        "misspecified" in alarms.codes_of(normal, np.random.default_rng([6, k]).standard_t(3, 3000), k, noise="exact")
        for k in range(10)
    ]
    assert sum(caught) >= 9
