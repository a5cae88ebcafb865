"""`noisewright ratio` against closed forms, logistic regression by scipy, and simulation."""

import math

import numpy as np
import pytest
from scipy import optimize


def write_csv(path, columns):
    rows = zip(*columns.values())
    path.write_text("\n".join([",".join(columns), *(",".join(map(repr, map(float, row))) for row in rows)]) + "\n")


@pytest.fixture
def samples(command):
    """1500 from N(1, 1) and 2500 from N(0, 2): log p1/p2 = x - x²/4 - 1/2 + log(2)/2."""
    generator = np.random.default_rng(11)
    first, second = generator.normal(1, 1, 1500), generator.normal(0, math.sqrt(2), 2500)
    write_csv(command.folder / "a.csv", {"x": first})
    write_csv(command.folder / "b.csv", {"x": second})
    return first, second


def logistic(first, second):
    """Logistic regression of the sample on x and x²: the coefficients, and the constant without the samples' sizes."""
    x = np.concatenate([first, second])
    features = np.stack([np.ones_like(x), x, x * x], axis=1)
    label = np.arange(x.size) < first.size

    def loss(beta):
        g = features @ beta
        return np.logaddexp(0, np.where(label, -g, g)).sum()

    def slope(beta):
        return features.T @ (1 / (1 + np.exp(-(features @ beta))) - label)

    beta = optimize.minimize(loss, np.zeros(3), jac=slope, method="BFGS", options={"gtol": 1e-6}).x
    return beta[1], beta[2], -(beta[0] - math.log(first.size / second.size))


def test_it_is_logistic_regression(command, samples):
    fit = command.json("ratio", "a.csv", "b.csv", "--features", "x, x^2")
    found = [fit["parameters"]["x"]["estimate"], fit["parameters"]["x^2"]["estimate"], fit["constant"]["estimate"]]
    assert found == pytest.approx(logistic(*samples), rel=1e-4)
    assert fit["converged"] and fit["rows"] == [1500, 2500]


@pytest.mark.parametrize("loss", ["js", "kl", "hellinger"])
def test_losses_find_the_truth(command, samples, loss):
    fit = command.json("ratio", "a.csv", "b.csv", "--features", "quadratic", "--loss", loss)
    for name, truth in [("x", 1.0), ("x^2", -0.25)]:
        assert abs(fit["parameters"][name]["estimate"] - truth) < 4 * fit["parameters"][name]["se"]
    assert abs(fit["constant"]["estimate"] - 0.5 + 0.5 * math.log(2)) < 4 * fit["constant"]["se"]


def test_points_have_the_errors_of_a_linear_form(command, samples):
    (command.folder / "p.csv").write_text("note,x\na,-1\nb,0\nc,2\n")
    fit = command.json("ratio", "a.csv", "b.csv", "--features", "quadratic", "--points", "p.csv", "--out", "r.csv")
    covariance, points = np.array(fit["covariance"]), fit["points"]
    assert points["x"] == [-1, 0, 2]
    for x, value, se in zip(points["x"], points["log_ratio"], points["se"], strict=True):
        gradient = np.array([x, x * x, -1])
        assert se == pytest.approx(math.sqrt(gradient @ covariance @ gradient), rel=1e-9)
        assert abs(value - (x - x * x / 4 - 0.5 + 0.5 * math.log(2))) < 4 * se
    table = np.genfromtxt(command.folder / "r.csv", delimiter=",", names=True)
    assert table["log_ratio"] == pytest.approx(points["log_ratio"])


def test_standard_errors_are_those_of_simulation(command):
    """60 pairs of samples: the spread of the estimates is the mean standard error, within what 60 can tell."""
    generator = np.random.default_rng(12)
    estimates, errors = [], []
    for _ in range(60):
        write_csv(command.folder / "a.csv", {"x": generator.normal(0.5, 1, 300)})
        write_csv(command.folder / "b.csv", {"x": generator.normal(0, 1, 500)})
        fit = command.json("ratio", "a.csv", "b.csv", "--features", "linear")
        entries = [fit["parameters"]["x"], fit["constant"]]
        estimates.append([entry["estimate"] for entry in entries])
        errors.append([entry["se"] for entry in entries])
    ratio = np.std(estimates, axis=0, ddof=1) / np.mean(errors, axis=0)
    # A standard deviation from 60 is known to 9 %; four times that.
    assert ratio == pytest.approx([1, 1], abs=0.37)
    z = (np.mean(estimates, axis=0) - [0.5, 0.125]) / (np.mean(errors, axis=0) / math.sqrt(60))
    assert np.abs(z).max() < 4


def test_columns_in_common_are_taken(command):
    generator = np.random.default_rng(13)
    a, b = generator.normal(size=(3, 200)), generator.normal(size=(3, 200))
    write_csv(command.folder / "a.csv", {"x": a[0], "y": a[1], "only": a[2]})
    write_csv(command.folder / "b.csv", {"other": b[2], "y": b[1], "x": b[0]})
    assert list(command.json("ratio", "a.csv", "b.csv", "--features", "quadratic")["parameters"]) == ["x", "y", "x^2", "y^2", "x*y"]
    assert list(command.json("ratio", "a.csv", "b.csv", "--columns", "y", "--features", "linear")["parameters"]) == ["y"]


def test_weights_of_the_first_sample(command):
    generator = np.random.default_rng(14)
    x, n = generator.normal(1, 1, 100), generator.integers(0, 4, 100)
    write_csv(command.folder / "w.csv", {"x": x, "n": n})
    write_csv(command.folder / "r.csv", {"x": np.repeat(x, n)})
    write_csv(command.folder / "b.csv", {"x": generator.normal(size=300)})
    weighted = command.json("ratio", "w.csv", "b.csv", "--weights", "n", "--columns", "x", "--features", "quadratic")
    repeated = command.json("ratio", "r.csv", "b.csv", "--features", "quadratic")
    for name, entry in repeated["parameters"].items():
        assert weighted["parameters"][name]["estimate"] == pytest.approx(entry["estimate"], rel=1e-6)
        assert weighted["parameters"][name]["se"] == pytest.approx(entry["se"], rel=1e-3)


def test_report(command, samples):
    process = command.run("ratio", "a.csv", "b.csv", "--features", "quadratic", "--report", "page.html")
    assert process.returncode == 0, process.stderr
    assert "constant" in process.stdout and "1,500 rows and 2,500 rows" in process.stdout
    assert (command.folder / "page.html").read_text().count("<svg") >= 4


BAD = [
    ({"x": [1, 2, 3, 4]}, {"y": [1, 2, 3, 4]}, [], "in common"),
    ({"x": [1, 2, 3, 4]}, {"x": [1, 2, 3, 4]}, ["--features", "x, z"], "z"),
    ({"x": [1, 2, 3, 4]}, {"x": [1, 2, 3, 4]}, ["--columns", "q"], "`q`"),
    ({"x": [1, 2, 3, 4, 5, 6]}, {"x": [11, 12, 13, 14, 15, 16]}, ["--features", "linear"], "`x`"),
    ({"x": [1, 2]}, {"x": [1, 2, 3, 4]}, [], "too few"),
    ({"x": [1, 2, 3, 4]}, {"x": [1, 2, 3, 4]}, ["--confidence", "2"], "confidence"),
]


@pytest.mark.parametrize("first, second, arguments, says", BAD)
def test_no_answer(command, first, second, arguments, says):
    write_csv(command.folder / "a.csv", first)
    write_csv(command.folder / "b.csv", second)
    command.refuses("ratio", "a.csv", "b.csv", *arguments, says=[says])


def test_without_features_the_log_ratio_is_the_truth_within_its_interval(command, samples):
    (command.folder / "p.csv").write_text("x\n-1\n0\n1\n2\n")
    found = command.json("ratio", "a.csv", "b.csv", "--points", "p.csv", "--importance", "w.csv", "--permutations", "99")
    x = np.array(found["points"]["x"])
    truth = x - x**2 / 4 - 0.5 + math.log(2) / 2
    half = np.array(found["points"]["upper"]) - np.array(found["points"]["log_ratio"])
    # Twice the half-width is about four standard errors.
    assert np.all(np.abs(np.array(found["points"]["log_ratio"]) - truth) < 2 * half)
    # KL(N(1, 1), N(0, 2)) = ½(1/2 + 1/2 − 1 + log 2).
    kl = found["divergences"]["kl"]
    assert abs(kl["estimate"] - 0.5 * math.log(2)) < 4 * kl["se"]
    weights = np.loadtxt(command.folder / "w.csv", delimiter=",", skiprows=1)
    assert np.average(weights[:, 0], weights=weights[:, 1]) == pytest.approx(1, abs=0.15)
    effective = weights[:, 1].sum() ** 2 / (weights[:, 1] ** 2).sum()
    assert effective == pytest.approx(found["importance"]["effective_size"], rel=1e-9)


def test_samples_apart_need_bridges(command):
    generator = np.random.default_rng(5)
    write_csv(command.folder / "a.csv", {"x": generator.normal(0, 1, 1000)})
    write_csv(command.folder / "b.csv", {"x": generator.normal(8, 1, 1000)})
    command.refuses("ratio", "a.csv", "b.csv", says=["--bridges auto"])
    kl = command.json("ratio", "a.csv", "b.csv", "--features", "x", "--bridges", "auto")["divergences"]["kl"]
    assert abs(kl["estimate"] - 32) < 4 * kl["se"] and kl["se"] < 3
    for wrong in (["--loss", "kl"], ["--bridges", "none"], ["--basis", "wavelets"]):
        command.refuses("ratio", "a.csv", "b.csv", *wrong, says=[wrong[0]])


def test_mutual_information_of_a_normal_pair(command):
    generator = np.random.default_rng(6)
    x = generator.normal(size=2000)
    write_csv(command.folder / "pairs.csv", {"x": x, "y": 0.8 * x + 0.6 * generator.normal(size=2000), "z": generator.normal(size=2000)})
    found = command.json("information", "pairs.csv", "--between", "x", "--and", "y,z")["information"]
    assert abs(found["estimate"] + 0.5 * math.log(1 - 0.8**2)) < 4 * found["se"]
    assert command.json("information", "pairs.csv", "--between", "x", "and", "y", "z")["information"] == found
    command.refuses("information", "pairs.csv", "--between", "x", says=["two sides"])
    command.refuses("information", "pairs.csv", "--between", "x", "--and", "w", says=["`w`"])
    command.refuses("information", "pairs.csv", "--between", "x", "--and", "x", says=["`x`"])
