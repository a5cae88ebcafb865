"""Conditional logits against survival::clogit of R: the numbers are committed, and made again by tests/clogit/reference.R."""

import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import noisewright as nw

FOLDER = Path(__file__).parent.parent / "clogit"
#: Where R has written its numbers, if it has done so just now.
NUMBERS = json.loads((Path(os.environ.get("CLOGIT_NUMBERS", FOLDER)) / "reference.json").read_text())

MODELS = {
    "infert": (["spontaneous", "induced"], "stratum", "case", ["spontaneous", "induced"]),
    "logan": (
        ["o2", "o3", "o4", "o5", *(f"o{k}*education" for k in range(2, 6))],
        "id",
        "chosen",
        ["education", "o2", "o3", "o4", "o5"],
    ),
    "retinopathy": (["trt", "risk"], "id", "status", ["trt", "risk"]),
    "lung": (["age", "sex", "ecog"], "inst", "status", ["age", "sex", "ecog"]),
    "infert_by_school": (
        ["spontaneous", "induced", "parity"],
        "school",
        "case",
        ["spontaneous", "induced", "parity"],
    ),
}


@pytest.mark.parametrize("name", MODELS)
def test_conditional_logits_are_those_of_survival(name):
    features, strata, chosen, variables = MODELS[name]
    rows = pd.read_csv(FOLDER / f"{name}.csv")
    model = nw.Model.from_features(features, variables=variables)
    fit = nw.fit(model, rows, strata=strata, chosen=chosen, errors="model", tolerance=1e-9)
    expected = NUMBERS[name]
    np.testing.assert_allclose([e.estimate for e in fit.parameters.values()], expected["coefficients"], rtol=1e-6)
    np.testing.assert_allclose([e.se for e in fit.parameters.values()], expected["errors"], rtol=1e-6)
    total = -fit.loss * rows[strata].nunique()
    assert total == pytest.approx(expected["log_likelihood"], rel=1e-9)


def test_a_stratum_of_which_all_were_chosen_says_nothing():
    rows = pd.read_csv(FOLDER / "retinopathy.csv")
    model = nw.Model.from_features(["trt", "risk"], variables=["trt", "risk"])
    first = rows["id"] == rows["id"].iloc[0]
    without = nw.fit(model, rows[~first], strata="id", chosen="status", errors="model", tolerance=1e-9)
    rows.loc[first, "status"] = 1
    both = nw.fit(model, rows, strata="id", chosen="status", errors="model", tolerance=1e-9)
    for name in ("trt", "risk"):
        assert both[name].estimate == pytest.approx(without[name].estimate, rel=1e-8)
        assert both[name].se == pytest.approx(without[name].se, rel=1e-8)
    assert both.log_likelihood == pytest.approx(without.log_likelihood, rel=1e-12)


def test_robust_errors_of_few_strata_are_refused():
    rows = pd.read_csv(FOLDER / "infert_by_school.csv")
    features, strata, chosen, variables = MODELS["infert_by_school"]
    model = nw.Model.from_features(features, variables=variables)
    with pytest.raises(nw.InputError, match="3 strata beside 3 parameters"):
        nw.fit(model, rows, strata=strata, chosen=chosen)


def test_what_follows_a_fit_of_choices():
    rows = pd.read_csv(FOLDER / "infert.csv")
    model = nw.Model.from_features(["spontaneous", "induced"], variables=["spontaneous", "induced"])
    asked = {"strata": "stratum", "chosen": "case", "progress": False}
    fit = nw.fit(model, rows, bootstrap=100, interval="profile", cross_validate=10, **asked)
    assert fit.interval == "profile" and fit.bootstrap["unit"] == "strata"
    assert fit["induced"].lower < fit["induced"].estimate < fit["induced"].upper
    assert fit.held_out["folds"] == 10 and fit.held_out["log_likelihood"] < fit.log_likelihood
    shrunk = nw.fit(model, rows, penalty="ridge:1", **asked)
    assert 0 < shrunk["induced"].estimate < fit["induced"].estimate
    none = nw.fit(model, rows, penalty="lasso:10", **asked)
    assert [e.estimate for e in none.parameters.values()] == [0.0, 0.0]


def weighted(rows, **asked):
    model = nw.Model.from_features(["spontaneous", "induced"], variables=["spontaneous", "induced"])
    return nw.fit(model, rows, strata="stratum", chosen="case", tolerance=1e-9, progress=False, **asked)


def errors(fit):
    return np.array([e.se for e in fit.parameters.values()])


def test_weights_and_clusters_of_strata_are_those_of_survival():
    rows, expected = pd.read_csv(FOLDER / "infert_weighted.csv"), NUMBERS["infert_weighted"]
    fit = weighted(rows, weights=rows["weight"], errors="model")
    np.testing.assert_allclose([e.estimate for e in fit.parameters.values()], expected["coefficients"], rtol=1e-6)
    np.testing.assert_allclose(errors(fit), expected["errors"], rtol=1e-6)
    assert fit.log_likelihood == pytest.approx(expected["log_likelihood"], rel=1e-9)
    assert fit.total_weight == rows.loc[rows["case"] == 1, "weight"].sum()
    # survival's sandwich has no correction for few clusters; ours is G/(G - 1) · (n - 1)/(n - p) (Cameron and Miller 2015).
    total = fit.total_weight
    for column, name in (("pool", "clustered"), ("stratum", "by_stratum")):
        groups = rows[column].nunique()
        corrected = np.sqrt(groups / (groups - 1) * (total - 1) / (total - 2))
        fit = weighted(rows, weights=rows["weight"], clusters=rows[column])
        np.testing.assert_allclose(errors(fit), np.array(expected[name]) * corrected, rtol=1e-6)
        np.testing.assert_allclose([e.estimate for e in fit.parameters.values()], expected["coefficients"], rtol=1e-6)


def test_a_stratum_of_weight_two_is_the_stratum_twice():
    rows = pd.read_csv(FOLDER / "infert_weighted.csv")
    copies = [rows.loc[rows["weight"] > k].assign(stratum=lambda r, k=k: 1000 * k + r["stratum"]) for k in range(4)]
    once, several = weighted(rows, weights=rows["weight"]), weighted(pd.concat(copies))
    np.testing.assert_allclose(errors(once), errors(several), rtol=1e-8)
    assert once["induced"].estimate == pytest.approx(several["induced"].estimate, rel=1e-9)
    assert once.log_likelihood == pytest.approx(several.log_likelihood, rel=1e-12)
    # What does not count says nothing, also where it cannot be.
    rows["weight"] = (rows["stratum"] > 3).astype(float)
    part = weighted(rows[rows["stratum"] > 3])
    np.testing.assert_allclose(errors(weighted(rows, weights=rows["weight"])), errors(part), rtol=1e-8)


def test_what_follows_a_fit_of_weighted_choices():
    rows = pd.read_csv(FOLDER / "infert_weighted.csv")
    fit = weighted(rows, weights=rows["weight"], clusters=rows["pool"], bootstrap=400, cross_validate=10, interval="profile", seed=1)
    assert fit.bootstrap["unit"] == "clusters" and fit.held_out["folds"] == 10
    assert fit.held_out["log_likelihood"] < fit.log_likelihood
    # 400 replicates know a standard error to 1/√800, 3.5 %, and the two differ to second order in one over 63 clusters.
    spread = np.array([e["se"] for e in fit.bootstrap["estimates"].values()])
    np.testing.assert_allclose(spread, errors(fit), rtol=0.25)
    shrunk = weighted(rows, weights=rows["weight"], clusters=rows["pool"], penalty="ridge:0.5")
    assert 0 < shrunk["induced"].estimate < fit["induced"].estimate
    found = weighted(rows, weights=rows["weight"], clusters=rows["pool"], penalty="lasso:min", seed=1)
    assert found.penalty["folds"] == 10


def test_weights_and_clusters_belong_to_whole_strata():
    rows = pd.read_csv(FOLDER / "infert_weighted.csv")
    rows.loc[100, "weight"] += 1
    with pytest.raises(nw.NoisewrightError, match="its weight is not that of the other alternatives of its stratum"):
        weighted(rows, weights=rows["weight"])
    with pytest.raises(nw.NoisewrightError, match="a choice belongs to one cluster"):
        weighted(rows, clusters=np.arange(len(rows)))
    with pytest.raises(nw.InputError, match="cannot stand beside chains"):
        weighted(rows, chains=[len(rows)])
