"""The examples inside the command are those of the repository, and each of them runs."""

import re
import runpy
import shlex

import numpy as np
from conftest import ROOT, Command

SKIPPED = ("seconds", "model", "data", "draws", "files")


def test_every_example_runs_as_its_readme_says(tmp_path):
    command, root = Command(tmp_path), Command(ROOT)
    listed = command.json("examples")["examples"]
    folders = {path.name for path in (ROOT / "examples").iterdir() if (path / "model.toml").exists()}
    # Those two are only there for the pages on theory.
    assert folders - {example["name"] for example in listed} <= {"gaussian-mean", "gaussian-variance"}
    for example in listed:
        inside = command.json("examples", example["name"])
        outside = root.json(*shlex.split(example["command"]))
        for field in outside.keys() - SKIPPED:
            assert inside[field] == outside[field], (example["name"], field)


def test_independent_components_are_those_that_were_mixed():
    unmixing = runpy.run_path(str(ROOT / "examples" / "ica" / "make.py"))["UNMIXING"]
    fit = Command(ROOT).json(*"fit examples/ica/model.toml examples/ica/mixtures.csv --starts 1 --nu 20".split())
    assert fit["converged"] and fit["curvature"] == "expected" and len(fit["diagnostics"]["warnings"]) == 0
    found = [fit["parameters"][f"b{i}{j}"] for i in range(4) for j in range(4)] + [fit["log_normalizer"]]
    truth = [value for row in unmixing for value in row] + [2 * np.log(2) - np.log(np.linalg.det(unmixing))]
    distances = [abs(one["estimate"] - value) / one["se"] for one, value in zip(found, truth)]
    # Seventeen normal deviates: the largest is above four once in a thousand data sets.
    assert max(distances) < 4, distances
    # The page has the same estimates; where a search ends among kinks is known to a part of an error.
    page = re.findall(r": (−?\d+\.\d+) ± (\d+\.\d+)", (ROOT / "examples" / "ica" / "README.md").read_text())
    assert len(page) == 16
    for one, shown in zip(found, page):
        estimate, se = (float(number.replace("−", "-")) for number in shown)
        assert abs(estimate - one["estimate"]) < 0.1 * one["se"] and abs(se / one["se"] - 1) < 0.05, shown
    assert all(0.8 < share < 0.95 for share in fit["efficiency"].values()), fit["efficiency"]


def test_examples_are_copied_to_the_byte(tmp_path):
    command = Command(tmp_path)
    assert command.run("examples", "--out", "here").returncode == 0
    copied = [file for file in (tmp_path / "here").rglob("*") if file.is_file()]
    assert len(copied) > 10
    for file in copied:
        assert file.read_bytes() == (ROOT / file.relative_to(tmp_path / "here")).read_bytes()


def test_an_unknown_example_is_named(command):
    command.refuses("examples", "old-faithfull", says=["old-faithfull", "wind"])
