"""What follows a fit in files: data against draws with numbers computed here, and the pages of penalties."""

import math
import re

import numpy as np
import pytest

INDEPENDENT = 'variables = ["x", "y"]\nfeatures = ["x", "y", "x^2", "y^2"]\n'
GAUSSIAN = 'variables = ["x", "y"]\nfamily = "gaussian"\n'
SPINS = 'variables = ["a", "b", "c"]\nfamily = "ising"\nstates = [-1, 1]\nedges = [["a", "b"], ["b", "c"]]\n'


def write(command, columns, name="data.csv"):
    rows = zip(*(map(float, column) for column in columns.values()))
    lines = [",".join(columns), *(",".join(map(repr, row)) for row in rows)]
    (command.folder / name).write_text("\n".join(lines) + "\n")
    return {name: np.asarray(column, dtype=float) for name, column in columns.items()}


def held_against(command, model, count=3000, seed=0):
    """The goodness of fit by the command, with the draws that it was computed from, and its page."""
    command.model(model)
    assert command.run("fit", "model.toml", "data.csv", "--noise", "exact", "--out", "fit.json").returncode == 0
    found = command.json("simulate", "fit.json", count, "--data", "data.csv", "--report", "page.html", "--seed", seed)
    return found, (command.folder / "page.html").read_text()


def moments(data, draws, effective):
    """Differences of the means of variables, squares and products in standard errors, by name."""
    names = list(data)
    products = {name: (name,) for name in names}
    for i, a in enumerate(names):
        for b in names[i:]:
            products[f"{a}²" if a == b else f"{a}·{b}"] = (a, b)
    found = {}
    for label, of in products.items():
        seen, drawn = (np.prod([np.asarray(sample[name], dtype=float) for name in of], axis=0) for sample in (data, draws))
        spread = seen.var() / len(seen) + drawn.var() / effective
        if spread > 0:
            found[label] = (seen.mean() - drawn.mean()) / math.sqrt(spread)
    return found


def check(found, page, data):
    """Whether the largest difference is that of the draws, and the page says the same; gives its name and p-value."""
    goodness = found["goodness"]
    expected = moments(data, found["draws"], found["effective"])
    worst = max(expected, key=lambda name: abs(expected[name]))
    assert (goodness["moments"], goodness["largest"]) == (len(expected), worst)
    assert goodness["z"] == pytest.approx(expected[worst], rel=1e-9)
    bound = min(1.0, len(expected) * math.erfc(abs(expected[worst]) / math.sqrt(2)))
    assert goodness["p_value"] == pytest.approx(bound, rel=1e-6)
    said = re.search(r"Of (\d+) means the one of (\S+) is the farthest apart: ([\d.]+) standard errors", page)
    assert (int(said[1]), said[2]) == (len(expected), worst)
    assert float(said[3]) == pytest.approx(abs(expected[worst]), rel=1e-2)
    return worst, goodness["p_value"]


def test_draws_of_a_right_model_are_like_the_data(command):
    # A p-value of Bonferroni's is below 0.001 in at most one of a thousand right models; these are ten, with fixed seeds.
    for seed in range(10):
        rng = np.random.default_rng(seed)
        x = rng.normal(1, 2, 800)
        data = write(command, {"x": x, "y": 0.6 * x + rng.normal(size=800)})
        assert check(*held_against(command, GAUSSIAN, seed=seed), data)[1] > 1e-3


def test_what_a_model_lacks_is_the_largest_difference(command):
    rng = np.random.default_rng(7)
    x = rng.normal(size=800)
    data = write(command, {"x": x, "y": 0.6 * x + 0.8 * rng.normal(size=800)})
    worst, p_value = check(*held_against(command, INDEPENDENT), data)
    # The mean of xy is 0.6 with the error √(1.36/800 + 1/3000), and 0 in the draws: 13 errors.
    assert worst == "x·y" and p_value < 1e-20
    # A coupling of the two ends of a chain of spins that has none but through the middle.
    spins = rng.choice([-1.0, 1.0], (800, 3))
    spins[:, 2] = np.where(rng.random(800) < 0.8, spins[:, 0], -spins[:, 0])
    data = write(command, dict(zip("abc", spins.T)))
    found, page = held_against(command, SPINS)
    worst, p_value = check(found, page, data)
    assert worst == "a·c" and p_value < 1e-20 and "correlation in the draws" in page


def test_a_model_of_wrong_tails_is_caught_by_none_of_its_own_moments(command):
    """A normal model matches the means and squares of any data: the page shows what the moments cannot."""
    rng = np.random.default_rng(3)
    data = write(command, {"x": rng.laplace(size=800)})
    found, page = held_against(command, 'variables = ["x"]\nfeatures = ["x", "x^2"]\n')
    assert check(found, page, data)[1] > 1e-3
    assert "<svg" in page and "Each variable" in page and ">Pairs<" not in page


@pytest.fixture
def polynomial(command):
    rng = np.random.default_rng(2)
    write(command, {"x": rng.normal(0.4, 0.8, 500)})
    command.model('variables = ["x"]\nfeatures = ["x", "x^2", "x^3", "x^4"]\ndomain = [-4, 4]\n')
    return command


def test_the_page_of_a_penalty_has_its_path(polynomial):
    def page(*penalty):
        found = polynomial.json("fit", "model.toml", "data.csv", "--nu", "2", "--seed", "1", "--report", "page.html", *penalty)
        text = (polynomial.folder / "page.html").read_text()
        assert f"λ = {found['penalty']['strength']:.4g}".rstrip("0") in text
        section = re.search(r"The path of the penalty</h2>.*?</section>", text, re.DOTALL)
        return found["penalty"], section and section[0]

    report, section = page("--penalty", "auto")
    assert report["rule"] == "one-standard-error" and len(report["path"]) > 10
    # Two panels: estimates by name, and held-out losses of the penalised and of the refitted.
    for words in ("strength λ", "scaled estimate", "held-out loss", "penalised", "refitted", "within one standard error"):
        assert words in section, words
    shown = [name for name, value in zip(["x", "x^2", "x^3", "x^4"], report["path"][-1]["values"]) if value != 0]
    assert shown and all(f">{name}<" in section for name in shown)
    report, section = page("--penalty", "lasso:min")
    assert report["rule"] == "minimum" and "its minimum is taken" in section and "refitted" not in section
    # A strength of one's own has a path down to it without held-out losses, and ridge has none.
    report, section = page("--penalty", "lasso:0.02")
    assert report["folds"] is None and "scaled estimate" in section and "held-out loss" not in section
    report, section = page("--penalty", "ridge:0.02")
    assert len(report["path"]) == 1 and section is None
