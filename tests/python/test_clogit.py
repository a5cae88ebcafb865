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
