"""Results move as they must when the question is put in other units, another order, or another spelling.

Without noise (`noise="exact"`) the two answers are equal but for the tolerance of the search, 1e-6 standard errors, squared
where a Newton step ends it; 1e-4 standard errors leave room for curvature. Against noise, the same seed gives the same draws
in the other units.
"""

import sys
from pathlib import Path

import numpy as np
import pytest

import noisewright as nw

sys.path.insert(0, str(Path(__file__).parents[2] / "bench" / "nets"))

import metamorphic  # noqa: E402
from systems import systems  # noqa: E402

#: Largest difference of two equal answers, in standard errors.
SAME = 1e-4

QUARTIC = {"t1": 0.1, "t2": 0.3, "t4": -0.1}


def quartic(names=("t1", "t2", "t4")):
    terms = {"t1": "t1*x", "t2": "t2*x^2", "t4": "t4*x^4"}
    parameters = {name: {"t4": -0.1}.get(name, 0.0) for name in names}
    return nw.Model.from_formula(" + ".join(terms[n] for n in names), variables="x", parameters=parameters)


@pytest.fixture(scope="module")
def wells():
    rng = np.random.default_rng(7)
    return np.where(rng.random(400) < 0.4, -1.2, 1.1) + 0.6 * rng.normal(size=400)


def assert_moved(first, second, moves, se_moves=None):
    """The second answer is the first one moved: `moves[name](estimate)`, errors by their own factor."""
    for name, move in moves.items():
        a, b = first[name], second[name]
        factor = (se_moves or {}).get(name, 1.0)
        assert b.estimate == pytest.approx(move(a.estimate), abs=SAME * abs(factor) * a.se)
        assert b.se == pytest.approx(abs(factor) * a.se, rel=1e-3)


@pytest.mark.parametrize("noise", ["exact", "auto"])
@pytest.mark.parametrize("unit", [1e-6, 1e-3, 1e3, 1e6])
def test_units(wells, unit, noise):
    given = {"noise": noise} if noise == "exact" else {"nu": 5.0}
    features = ["x", "x^2"]
    model = nw.Model.from_features(features, variables="x")
    one, other = nw.fit(model, wells, **given), nw.fit(model, unit * wells, **given)
    factors = {"x": 1 / unit, "x^2": 1 / unit**2}
    moves = {name: (lambda value, f=f: f * value) for name, f in factors.items()}
    assert_moved(one, other, moves, factors)
    assert_moved(one, other, {"log_normalizer": lambda c: c + np.log(unit)})


@pytest.mark.parametrize("shift", [-100.0, 3.0, 1e4])
def test_shifts(wells, shift):
    """A shifted Gaussian has the same precision; its linear term is h + P·shift."""
    model = nw.Model.from_family("gaussian", variables="x", parametrization="moments")
    one, other = (nw.fit(model, x, noise="exact") for x in (wells, wells + shift))
    assert_moved(one, other, {"m0": lambda m: m + shift, "C00": lambda c: c})


@pytest.mark.parametrize("noise", ["exact", "auto"])
def test_order_of_rows(wells, noise):
    given = {"noise": noise} if noise == "exact" else {"nu": 5.0}
    mixed = np.random.default_rng(1).permutation(wells)
    one, other = (nw.fit(quartic(), x, **given) for x in (wells, mixed))
    assert_moved(one, other, {name: (lambda v: v) for name in one.estimates})


def test_order_of_parameters(wells):
    one, other = (nw.fit(quartic(names), wells, noise="exact") for names in (("t1", "t2", "t4"), ("t4", "t1", "t2")))
    assert_moved(one, other, {name: (lambda v: v) for name in one.estimates})


@pytest.mark.parametrize("errors", ["robust", "model"])
def test_duplicates_and_weights(wells, errors):
    counts = np.random.default_rng(3).integers(1, 4, len(wells))
    one = nw.fit(quartic(), np.repeat(wells, counts), noise="exact", errors=errors)
    other = nw.fit(quartic(), wells, weights=counts, noise="exact", errors=errors)
    assert_moved(one, other, {name: (lambda v: v) for name in one.estimates})
    assert (one.rows, other.rows) == (counts.sum(), len(wells)) and one.total_weight == other.total_weight


def test_a_row_of_weight_zero_is_no_row(wells):
    weights = np.r_[np.ones(len(wells)), 0.0]
    one = nw.fit(quartic(), wells, noise="exact")
    other = nw.fit(quartic(), np.r_[wells, 2.5], weights=weights, noise="exact")
    assert_moved(one, other, {name: (lambda v: v) for name in one.estimates})


@pytest.mark.parametrize("noise", ["exact", "auto"])
def test_angles_from_zero_and_from_minus_pi(noise):
    given = {"noise": noise} if noise == "exact" else {"nu": 5.0}
    angles = np.random.default_rng(4).vonmises(2.8, 1.5, 300)
    model = nw.Model.from_family("von-mises", variables="x")
    one, other = (nw.fit(model, x, **given) for x in (angles, angles % (2 * np.pi)))
    if noise == "exact":
        assert_moved(one, other, {name: (lambda v: v) for name in one.estimates})
    else:
        for name, a in one.estimates.items():
            assert abs(other[name].estimate - a.estimate) < 5 * np.hypot(a.se_noise, other[name].se_noise)


def test_log_z_in_other_units_and_orders():
    rng = np.random.default_rng(5)
    f, q = rng.normal(size=500), rng.normal(0.5, 1.5, 600)
    log_f = lambda x: -0.5 * x**2
    log_q = lambda x: -0.5 * ((x - 0.5) / 1.5) ** 2 - np.log(1.5 * np.sqrt(2 * np.pi))
    one = nw.log_z(log_f(f), log_q(f), log_f(q), log_q(q), independent=True)
    # A factor on f moves log Z by its logarithm; new units of x move both log-densities alike.
    other = nw.log_z(log_f(f) + 2, log_q(f), log_f(q) + 2, log_q(q), independent=True)
    moved = nw.log_z(log_f(f) + 5, log_q(f) + 5, log_f(q) + 5, log_q(q) + 5, independent=True)
    mixed = nw.log_z(log_f(f)[::-1], log_q(f)[::-1], log_f(q)[::-1], log_q(q)[::-1], independent=True)
    for name, estimate in one.estimates.items():
        assert other.estimates[name].log_z == pytest.approx(estimate.log_z + 2, abs=1e-9)
        assert moved.estimates[name].log_z == pytest.approx(estimate.log_z, abs=1e-9)
        assert mixed.estimates[name].log_z == pytest.approx(estimate.log_z, abs=1e-9)
        for again in (other, moved, mixed):
            assert again.estimates[name].se == pytest.approx(estimate.se, rel=1e-6)


# Every family and kind of model, from the list of the library: the net of bench/nets/metamorphic.py without noise.

CASES = list(metamorphic.cases())


def test_every_family_and_transformation_is_here():
    known = {system.name for system in systems() if system.kind != "function"}
    assert {system.kind for system in systems()} >= {family["name"] for family in nw.families()}
    assert known <= {case.system.partition(", ×")[0] for case in CASES}
    assert {case.transformation for case in CASES} == {
        *("order of rows", "order of columns", "order of parameters", "duplicates and weights", "a row of weight zero"),
        *("units", "shifts", "two spellings", "family and features", "angles from 0 and from −π"),
    }


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.transformation}, {case.system}")
def test_answers_move_as_they_must(case):
    for found in metamorphic.differences(case, {"noise": "exact"}):
        assert found.estimate <= 1 and found.se <= 1, found
