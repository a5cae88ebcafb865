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


def test_several_chosen_in_a_stratum_are_refused():
    rows = pd.read_csv(FOLDER / "retinopathy.csv")
    rows.loc[rows["id"] == rows["id"].iloc[0], "status"] = 1
    model = nw.Model.from_features(["trt", "risk"], variables=["trt", "risk"])
    with pytest.raises(nw.NoAnswerError, match="2 alternatives of its stratum were chosen"):
        nw.fit(model, rows, strata="id", chosen="status")
