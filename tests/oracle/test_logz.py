"""`noisewright logz` against closed forms and plain NumPy, from every kind of file, and on input that cannot be."""

import io
import json
import math

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import expit, logsumexp
from scipy.stats import norm

TRUTH = 0.5 * math.log(2 * math.pi)


def sample(n_data=2000, n_noise=3000, mean=0.7, sd=1.3, seed=1):
    """Both log-densities at draws of exp(-x²/2) and of N(mean, sd²)."""
    rng = np.random.default_rng(seed)
    sides = [rng.normal(0, 1, n_data), rng.normal(mean, sd, n_noise)]
    return [np.column_stack([-0.5 * x**2, norm.logpdf(x, mean, sd)]) for x in sides]


def csv(path, table, header="log_f,log_noise"):
    np.savetxt(path, table, delimiter=",", header=header, comments="", fmt="%.17g")


@pytest.fixture
def files(command):
    data, noise = sample()
    csv(command.folder / "data.csv", data)
    csv(command.folder / "noise.csv", noise)
    return data, noise


def by_hand(data, noise):
    """The four estimates in NumPy."""
    d, n = data[:, 0] - data[:, 1], noise[:, 0] - noise[:, 1]
    mean = lambda x: logsumexp(x) - math.log(len(x))
    log_nu = math.log(len(n) / len(d))
    equation = lambda c: expit(c + log_nu - d).sum() - expit(n - c - log_nu).sum()
    return {
        "is": mean(n),
        "revis": -mean(-d),
        "is-revis": mean(n / 2) - mean(-d / 2),
        "nce": brentq(equation, -50, 50, xtol=1e-13),
    }


def test_the_four_estimates(command, files):
    answer = command.json("logz", "data.csv", "noise.csv")
    for name, value in by_hand(*files).items():
        found = answer["estimates"][name]
        assert found["log_z"] == pytest.approx(value, abs=1e-10)
        assert abs(found["log_z"] - TRUTH) < 4 * found["se"] or found["refused"]
        assert {"log_z", "se", "ess", "pareto_k", "lower", "upper", "converged", "refused"} <= set(found)
    assert answer["recommended"] in answer["estimates"]
    assert answer["converged"] is True and answer["warnings"] == []
    assert answer["data"]["draws"] == 2000 and answer["noise"]["draws"] == 3000
    assert "." in answer["reason"] and 0 < answer["overlap"] < 1


def test_files_of_every_kind_give_the_same(command, files):
    data, noise = files
    expected = command.json("logz", "data.csv", "noise.csv")
    np.save(command.folder / "data.npy", data)
    np.save(command.folder / "noise.npy", noise)
    assert command.json("logz", "data.npy", "noise.npy") == expected
    assert command.json("logz", "data.csv", "noise.npy") == expected
    process = command.run("logz", "-", "noise.csv", "--json", stdin=(command.folder / "data.csv").read_text())
    assert process.returncode == 0 and process.stdout == command.run("logz", "data.csv", "noise.csv", "--json").stdout
    csv(command.folder / "named.csv", np.column_stack([data[:, 1], data[:, 0]]), "q,u")
    csv(command.folder / "noise2.csv", np.column_stack([noise[:, 1], noise[:, 0]]), "q,u")
    assert command.json("logz", "named.csv", "noise2.csv", "--log-f", "u", "--log-noise", "q") == expected


def test_points_and_a_model(command):
    rng = np.random.default_rng(3)
    points = [rng.normal(0, 1, 1000), rng.normal(0.5, 1.2, 1500)]
    for name, x in zip(["d", "n"], points):
        csv(command.folder / f"{name}.csv", x[:, None], "x")
        csv(command.folder / f"{name}l.csv", np.column_stack([-0.5 * x**2, norm.logpdf(x, 0.5, 1.2)]))
    model = command.model('variables = ["x"]\nlog_density = "-k*x^2/2"\n[parameters]\nk = 3\n')
    arguments = ["--model", model, "--at", "k=1", "--noise", "normal(0.5, 1.44)"]
    computed = command.json("logz", "d.csv", "n.csv", *arguments)
    given = command.json("logz", "dl.csv", "nl.csv")
    for name in ["is", "revis", "is-revis", "nce"]:
        assert computed["estimates"][name]["log_z"] == pytest.approx(given["estimates"][name]["log_z"], abs=1e-9)
    drawn = command.json("logz", "d.csv", *arguments, "--draws", 5000)["estimates"]["nce"]
    assert abs(drawn["log_z"] - TRUTH) < 4 * drawn["se"]


def test_chains_are_gathered_and_counted(command):
    data, noise = sample(400, 400)
    label = np.tile([2, 1], 200)
    csv(command.folder / "mixed.csv", np.column_stack([data, label]), "log_f,log_noise,chain")
    order = np.argsort(-label, kind="stable")
    csv(command.folder / "sorted.csv", np.column_stack([data, label])[order], "log_f,log_noise,chain")
    csv(command.folder / "noise.csv", noise)
    mixed = command.json("logz", "mixed.csv", "noise.csv", "--chain", "chain")
    assert mixed["data"]["chains"] == 2 and mixed["noise"]["chains"] == 1
    assert mixed == command.json("logz", "sorted.csv", "noise.csv", "--chain", "chain")


def test_a_slow_chain_has_larger_errors(command):
    rng = np.random.default_rng(5)
    z, rho = np.empty(20_000), 0.9
    z[0] = rng.normal()
    for t in range(1, len(z)):
        z[t] = rho * z[t - 1] + math.sqrt(1 - rho**2) * rng.normal()
    x = rng.normal(1, 1, 20_000)
    for name, values in [("data.csv", z), ("noise.csv", x)]:
        csv(command.folder / name, np.column_stack([-0.5 * values**2, norm.logpdf(values, 1, 1)]))
    chains = command.json("logz", "data.csv", "noise.csv", "--bootstrap", 100)
    naive = command.json("logz", "data.csv", "noise.csv", "--independent")
    nce = chains["estimates"]["nce"]
    assert chains["data"]["autocorrelation_time"] > 8 and chains["noise"]["autocorrelation_time"] < 1.5
    assert naive["estimates"]["nce"]["se"] < 0.6 * nce["se"]
    assert nce["bootstrap_se"] == pytest.approx(nce["se"], rel=0.35)


def test_powers_alpha_ratio_and_budget(command, files):
    arguments = ["--power", "0.5", "--power", "0", "--alpha", "-(log_f + log_noise)/2", "--price-data", "4", "--price-noise", "1"]
    answer = command.json("logz", "data.csv", "noise.csv", *arguments, "--budget", "1000", "--ratio")
    estimates = answer["estimates"]
    for name, same in [("power:0.5", "is-revis"), ("power:0", "is"), ("alpha", "is-revis")]:
        assert estimates[name]["log_z"] == pytest.approx(estimates[same]["log_z"], abs=1e-11)
        assert estimates[name]["se"] == pytest.approx(estimates[same]["se"], rel=1e-6)
    assert answer["ratio"] is True
    allocation = answer["allocation"]["is-revis"]
    assert allocation["data_draws"] * 4 + allocation["noise_draws"] <= 1000
    # Chains: a price per independent draw; ν² = price and autocorrelation of the data over those of the noise.
    times = answer["data"]["autocorrelation_time"], answer["noise"]["autocorrelation_time"]
    expected = math.sqrt(4 * max(times[1], 1) / max(times[0], 1))
    assert allocation["nu"] == pytest.approx(expected, rel=1e-3)


def test_the_page_and_the_table(command, files):
    process = command.run("logz", "data.csv", "noise.csv", "--report", "page.html")
    assert process.returncode == 0 and "nce" in process.stdout and "Overlap" in process.stdout
    page = (command.folder / "page.html").read_text()
    assert page.count("<svg") >= 3 and "log f" in page and "1e999" not in process.stdout


def test_minus_infinity_is_a_value(command):
    data = np.zeros((500, 2))
    noise = np.zeros((500, 2))
    noise[::2, 0] = -np.inf
    csv(command.folder / "d.csv", data)
    csv(command.folder / "n.csv", noise)
    answer = command.json("logz", "d.csv", "n.csv", "--independent")
    assert answer["noise"]["outside"] == 250
    for name in ["is", "nce", "is-revis", "revis"]:
        assert answer["estimates"][name]["log_z"] == pytest.approx(math.log(0.5), abs=1e-12)
    np.save(command.folder / "n.npy", noise)
    assert command.json("logz", "d.csv", "n.npy", "--independent") == answer


@pytest.mark.parametrize("mean, sd", [(8, 0.5), (10, 0.5), (10, 0.25), (1000, 0.5)])
def test_too_little_overlap_is_said(command, mean, sd):
    data, noise = sample(1000, 1000, mean, sd)
    csv(command.folder / "d.csv", data)
    csv(command.folder / "n.csv", noise)
    process = command.run("logz", "d.csv", "n.csv", "--json")
    assert process.returncode == 1 and "overlap" in process.stderr
    assert "no estimate can be trusted" in process.stderr
    answer = json.loads(process.stdout)
    assert answer["se"] == math.inf and answer["refused"] and answer["warnings"]
    assert answer["lower"] == -math.inf and answer["upper"] == math.inf
    assert all(e["se"] == math.inf for e in answer["estimates"].values())


ROWS = "log_f,log_noise\n-1,-2\n{},{}\n-1,-1\n"
BAD = [
    ("d", "nan", "-1", ["bad.csv", "row 2", "log_f", "missing"]),
    ("d", "", "-1", ["bad.csv", "row 2", "log_f", "missing"]),
    ("d", "abc", "-1", ["bad.csv", "row 2", "log_f", "abc"]),
    ("d", "inf", "-1", ["bad.csv", "row 2", "log_f"]),
    ("d", "-inf", "-1", ["bad.csv", "row 2", "log_f", "drawn"]),
    ("n", "-1", "-inf", ["bad.csv", "row 2", "log_noise", "drawn"]),
    ("n", "-1", "inf", ["bad.csv", "row 2", "log_noise"]),
    ("n", "-1", "nan", ["bad.csv", "row 2", "log_noise"]),
]


@pytest.mark.parametrize("side, log_f, log_noise, says", BAD)
def test_bad_numbers_name_their_row(command, side, log_f, log_noise, says):
    (command.folder / "bad.csv").write_text(ROWS.format(log_f, log_noise))
    (command.folder / "good.csv").write_text(ROWS.format("-1", "-3"))
    files = ["bad.csv", "good.csv"] if side == "d" else ["good.csv", "bad.csv"]
    command.refuses("logz", *files, says=says)


def test_a_bad_row_of_a_gathered_chain_is_the_row_of_the_file(command):
    (command.folder / "bad.csv").write_text("log_f,log_noise,c\n-1,-2,1\n-1,-2,2\n-1,-1,1\n-inf,-1,1\n-1,-2,2\n")
    (command.folder / "good.csv").write_text(ROWS.format("-1", "-3"))
    command.refuses("logz", "bad.csv", "good.csv", "--chain", "c", says=["row 4", "log_f"])


USAGE = [
    (["d.csv"], []),
    (["d.csv", "nowhere.csv"], ["nowhere.csv"]),
    (["d.csv", "d.csv", "--log-f", "logf"], ["logf", "log_f"]),
    (["d.csv", "d.csv", "--chain", "x"], ["x"]),
    (["d.csv", "d.csv", "--confidence", "1"], ["confidence"]),
    (["d.csv", "d.csv", "--confidence", "nan"], ["confidence"]),
    (["d.csv", "d.csv", "--bootstrap", "1"], ["--bootstrap", "2"]),
    (["d.csv", "d.csv", "--power", "inf"], ["--power", "finite"]),
    (["d.csv", "d.csv", "--alpha", "log_g + 1"], ["log_g"]),
    (["d.csv", "d.csv", "--alpha", "sqrt(log_f - log_noise - 100)"], ["log α", "row 1"]),
    (["d.csv", "d.csv", "--price-noise", "0"], ["price", "noise"]),
    (["d.csv", "d.csv", "--price-data", "-1"], ["price", "data"]),
    (["d.csv", "d.csv", "--budget", "0"], ["budget"]),
    (["-", "-"], ["standard input"]),
    (["empty.csv", "d.csv"], ["empty.csv"]),
    (["header.csv", "d.csv"], ["header.csv"]),
]


@pytest.mark.parametrize("arguments, says", USAGE)
def test_wrong_usage(command, arguments, says):
    (command.folder / "d.csv").write_text(ROWS.format("-1", "-3"))
    (command.folder / "empty.csv").write_text("")
    (command.folder / "header.csv").write_text("log_f,log_noise\n")
    if len(arguments) == 1:
        assert command.run("logz", *arguments).returncode == 2
    else:
        command.refuses("logz", *arguments, says=says)


def test_one_draw_and_identical_densities(command):
    (command.folder / "one.csv").write_text("log_f,log_noise\n-1.5,-4\n")
    (command.folder / "many.csv").write_text("log_f,log_noise\n" + "".join(f"{-i / 8},{-i / 8 - 2.5}\n" for i in range(64)))
    (command.folder / "copy.csv").write_text("log_f,log_noise\n-1.5,-4\n")
    for pair in [("one.csv", "many.csv"), ("many.csv", "one.csv"), ("one.csv", "copy.csv")]:
        answer = command.json("logz", *pair)
        assert answer["log_z"] == 2.5 and answer["se"] < 1e-15
    assert io.StringIO(command.run("logz", "one.csv", "many.csv").stdout).readline().startswith("log Z")
