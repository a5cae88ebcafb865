"""A corner of the nets of `bench/nets`: coverage of intervals, false alarms and power, certificates."""

import sys
from pathlib import Path

import numpy as np
import pytest

import noisewright as nw

sys.path.insert(0, str(Path(__file__).parents[2] / "bench" / "nets"))

import alarms  # noqa: E402
import calibration  # noqa: E402
import certificates  # noqa: E402
import lists  # noqa: E402
from systems import systems  # noqa: E402

SYSTEMS = {system.name: system for system in systems()}
EXACT = {"noise": "exact"}


def test_the_lists_are_the_librarys():
    assert {system.kind for system in SYSTEMS.values()} >= set(lists.families()) and "power:0.3" in lists.losses()
    assert {"normal", "kde", "auto", "optimal"} <= set(lists.noises())
    assert "misspecified" in lists.codes("fit") and len(lists.codes("fit")) > 20
    assert "contradiction" in lists.codes("logz") and "disconnected" in lists.codes("states")
    assert "elsewhere" in lists.codes("path")


@pytest.mark.parametrize("name", sorted(SYSTEMS))
def test_intervals_cover_the_truth(name):
    # 100 samples of 100 rows: a coverage of 95 % is below 86 % with probability 3e-4 (binomial).
    for cell in calibration.measure(SYSTEMS[name], 100, EXACT, range(100)):
        assert cell.refused <= 2
        assert cell.coverage >= 0.86, (cell.number, cell.coverage)
        assert abs(cell.z_mean) < 0.6 and 0.7 < cell.z_sd < 1.5, cell.number


@pytest.mark.long
def test_small_units_change_no_coverage():
    for system in systems(1e-6):
        cells = (calibration.measure(s, 100, EXACT, range(6)) for s in (SYSTEMS[system.name], system))
        one, other = ([(cell.number, cell.covered) for cell in of] for of in cells)
        assert one == other, system.name


def test_right_models_draw_no_alarms():
    row = alarms.false_alarms(90, 300, "exact")
    # At a level of 1 % six or more of at most 90 have a probability of 4e-4 (Poisson with mean 0.9).
    assert 60 <= row.total <= 90 and row.said["misspecified"] < 6, row.by


def test_wrong_models_are_caught():
    normal = nw.Model.from_features(["x", "x^2"], variables="x")
    draw = lambda k: np.random.default_rng([6, k]).standard_t(3, 3000)
    assert sum("misspecified" in alarms.codes_of_fit(normal, draw(k), seed=k, noise="exact") for k in range(10)) >= 9


def test_certificates_hold_on_another_rule():
    found = [verified for verified in certificates.designs([1.0]) if verified.target == "mse"]
    assert len(found) >= 5
    assert all(verified.holds for verified in found), [verified for verified in found if not verified.holds]
