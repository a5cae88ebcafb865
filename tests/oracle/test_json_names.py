"""The tables of docs/src/json.md against what commands print: every name stands in both."""

import re

import numpy as np
import pytest
from conftest import ROOT

EXAMPLES = ROOT / "examples"
PAGE = (ROOT / "docs" / "src" / "json.md").read_text()

SECTION = re.compile(r"^## (?P<title>[^\n]+)\n(?P<body>.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)


def documented(title):
    """The first words of every row of a section's tables, and of its sentences where it has no table."""
    sections = {found["title"].replace("`", ""): found["body"] for found in SECTION.finditer(PAGE)}
    body = sections[title]
    rows = [line.split("|")[1] for line in body.splitlines() if line.startswith("| `")]
    text = "\n".join(rows) if rows else body.split("with `draws`")[0]
    return set(re.findall(r"`([a-z_0-9]+)`", text))


def example(*parts):
    return str(EXAMPLES.joinpath(*parts))


FAITHFUL = [example("old-faithful", "model.toml"), example("old-faithful", "faithful.csv")]
QUARTIC = example("quartic", "model.toml")
NORMAL = 'variables = ["x"]\nfeatures = ["x", "x^2"]\n'


@pytest.fixture
def files(command):
    """Two samples, a pair of columns, three states with an observable, and models and fits of the first."""
    draws = np.random.default_rng(1).normal(size=(400, 2))
    for name, x in (("a.csv", draws[:, 0] + 0.5), ("b.csv", draws[:, 1])):
        (command.folder / name).write_text("x\n" + "\n".join(map(repr, map(float, x))) + "\n")
    pairs = [f"{float(a)!r},{float(a + b)!r}" for a, b in draws]
    (command.folder / "pairs.csv").write_text("x,y\n" + "\n".join(pairs) + "\n")
    command.model(NORMAL)
    command.model('variables = ["x"]\nfeatures = ["x^2"]\n', "small.toml")
    for model, out in (("model.toml", "fit.json"), ("small.toml", "small.json")):
        assert command.run("fit", model, "a.csv", "--noise", "exact", "--cross-validate", 4, "--out", out).returncode == 0
    return command


STATES = ["--observable", "x", "--surface", "x", "--energies", "--convergence", "4", "--equilibration"]

#: Section of the page, and the commands that together print all of its names.
PRINTED = {
    "fit": [
        ["fit", *FAITHFUL, "--noise", "exact", "--derive", "r = t1/t2", "--test", "t1 = 0"],
        ["fit", "model.toml", "a.csv", "--loss", "brier", "--nu", "4", "--bootstrap", "20"],
        ["fit", "model.toml", "a.csv", "--penalty", "lasso:0.1"],
        ["fit", "model.toml", "a.csv", "--noise", "exact", "--cross-validate", "4"],
    ],
    "compare, density, simulate": [
        ["compare", "fit.json", "small.json"],
        ["density", "fit.json", "b.csv"],
        ["simulate", "fit.json", "50", "--data", "a.csv", "--report", "page.html"],
    ],
    "ratio": [
        ["ratio", "a.csv", "b.csv", "--features", "x,x^2", "--points", "b.csv"],
        ["ratio", "a.csv", "b.csv", "--basis", "quadratic", "--points", "b.csv"],
    ],
    "information": [["information", "pairs.csv", "--between", "x", "--and", "y"]],
    "error": [["error", QUARTIC, "--noise", "normal(0, 4)", "--nu", "1"]],
    "design": [["design", QUARTIC, "--nu", "1"], ["design", QUARTIC, "--efficiency", "0.8"]],
    "logz": [
        ["logz", example("free-energy", "data.csv"), example("free-energy", "noise.csv")],
        ["logz", example("free-energy", "data.csv"), example("free-energy", "noise.csv"), "--price-data", "1", "--price-noise", "1"],
    ],
    "sample": [["sample", "3", "--noise", "normal(0, 1)"]],
    "evidence": [
        [
            "evidence",
            example("evidence-regression", "model.toml"),
            *(example("evidence-regression", f"chain_{chain}.csv") for chain in range(1, 5)),
        ]
    ],
    "logz --states": [
        ["logz", example("windows", "draws.csv"), "--states", "u_*", *STATES],
    ],
    "logz --path": [["logz", "--path", "--model", QUARTIC, "--noise", "normal(-5, 0.25)"]],
    "reproduce": [["reproduce", "tab2", "--quiet"]],
    "examples": [["examples"]],
}

#: What else is named there: values, what lists hold, and sections that are referred to.
OTHERS = {
    "information": {"null", "ratio"},
    "sample": {"random", "quiet", "log_density"},
    "reproduce": {"name", "title", "seconds", "values"},
    "examples": {"name", "about", "command"},
}


@pytest.mark.parametrize("title", PRINTED)
def test_names_of_the_page_are_printed_and_those_printed_are_on_the_page(files, title):
    printed = set().union(*(files.json(*words) for words in PRINTED[title]))
    assert printed == documented(title) - OTHERS.get(title, set())
