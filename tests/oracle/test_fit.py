"""`noisewright fit` against maximum likelihood by others, and every kind of data that has no answer."""

import gzip
import json
import math
import struct

import numpy as np
import pytest
from conftest import ROOT
from scipy import optimize, special, stats

EXAMPLES = ROOT / "examples"

# Maximum likelihood by quadrature, enumeration or closed form: estimate and standard error of each parameter, log Z.
REFERENCE = {
    "ozone": {
        "data": "ozone.csv",
        "estimates": {"shape": 1.6992772511682352, "rate": 0.040334798677207954},
        "se": [0.20497413773147852, 0.005650237866464117],
        "log_z": 5.359640543727619,
    },
    "old-faithful": {
        "data": "faithful.csv",
        "estimates": {
            "t1": 0.975594006026866,
            "t2": 1.351029067635483,
            "t3": -0.6591423876527825,
            "t4": -0.7572419373297158,
        },
        "se": [0.16438265171763936, 0.24683620110359106, 0.11776318530705936, 0.10762800313609758],
        "log_z": 1.492666216219217,
    },
    "wind": {
        "data": "wind.csv",
        "estimates": {"a": 1.6929428162858955, "b": 0.5091970422832527},
        "se": [0.12481377565268831, 0.09653737325989785],
        "log_z": 2.5046148259845076,
    },
    "iris": {
        "data": "iris.csv",
        "estimates": {
            "h0": 0.0,
            "h1": 0.0,
            "h2": 0.0,
            "h3": 0.0,
            "P00": 3.990112789512452,
            "P01": -0.9590278082413461,
            "P02": -4.047876041544914,
            "P03": 1.506845452851938,
            "P11": 1.7219537585608633,
            "P12": 0.7246248342093236,
            "P13": -1.0022088646228513,
            "P22": 7.252446651447873,
            "P23": -3.9783068242155064,
            "P33": 3.9483542367121283,
        },
        "se": [
            0.1997526668035361, 0.13122323569249705, 0.2693036697010991, 0.19870466116103383, 0.5642871622326838,
            0.27911510263622324, 0.6732264150114119, 0.4245581462675185, 0.24352103591360988, 0.36074172091089896,
            0.2793439819714176, 1.025650841486486, 0.6667994724830859, 0.5583816110611547,
        ],
        "log_z": 2.2175212630053496,
    },
    "lsat": {
        "data": "lsat6.csv",
        "estimates": {
            "h0": 1.6030518316843898,
            "h1": -0.32864361224444494,
            "h2": -1.2545573736245461,
            "h3": 0.07800419936462494,
            "h4": 0.9751627993934704,
            "J01": 0.4636661436982905,
            "J02": 0.6758455080602029,
            "J03": 0.2416376556161431,
            "J04": 0.10787892308971073,
            "J12": 0.4484347125749494,
            "J13": 0.2094572560265277,
            "J14": 0.46596677522295593,
            "J23": 0.4607073946531813,
            "J24": 0.20259949595791396,
            "J34": 0.5689529033137639,
        },
        "se": [
            0.36611294944505457, 0.30541645400833667, 0.31380975742974737, 0.31448914360346436, 0.35588302132233296,
            0.24856686536820785, 0.24869309159644112, 0.2666814629750208, 0.33581323005573216, 0.14234113047723557,
            0.16269994347600314, 0.19805042199919848, 0.15208936304401985, 0.1929038254774999, 0.2041872803309237,
        ],
        "log_z": 6.134034757655987,
    },
}  # fmt: skip


def paths(case):
    folder = EXAMPLES / case
    return folder / "model.toml", folder / REFERENCE[case]["data"]


@pytest.mark.parametrize("case", REFERENCE)
def test_real_data(command, case):
    """Every parameter, and log Z, within four standard errors of the noise of maximum likelihood."""
    expected = REFERENCE[case]
    fit = command.json("fit", *paths(case))
    assert fit["converged"] is True
    assert list(fit["parameters"]) == list(expected["estimates"])
    pairs = [(fit["parameters"][name], value) for name, value in expected["estimates"].items()]
    for found, value in [*pairs, (fit["log_normalizer"], expected["log_z"])]:
        assert abs(found["estimate"] - value) <= 4 * found["se_noise"] + 1e-6 * (1 + abs(value)), (found, value)
    for found in fit["parameters"].values():
        # The two parts add up, and noise adds little.
        assert found["se"] == pytest.approx(math.hypot(found["se_data"], found["se_noise"]), rel=1e-9)
        assert found["se_noise"] <= 0.15 * found["se"]
        assert found["lower"] < found["estimate"] < found["upper"]


@pytest.mark.parametrize("case", ["ozone", "old-faithful", "wind", "lsat"])
def test_exact(command, case):
    """Without noise it is maximum likelihood, to all digits of the reference, with its standard errors."""
    expected = REFERENCE[case]
    fit = command.json("fit", *paths(case), "--noise", "exact", "--covariance", "model")
    assert math.isinf(fit["nu"])
    for (name, value), se in zip(expected["estimates"].items(), expected["se"], strict=True):
        found = fit["parameters"][name]
        assert found["estimate"] == pytest.approx(value, rel=1e-5, abs=1e-7)
        assert found["se_noise"] == 0.0
        assert found["se"] == pytest.approx(se, rel=1e-4)
    assert fit["log_normalizer"]["estimate"] == pytest.approx(expected["log_z"], rel=1e-6)


def test_names_of_the_interface(command):
    fit = command.json("fit", *paths("wind"))
    fields = {"parameters", "log_normalizer", "covariance", "loss", "iterations", "converged", "nu", "noise", "diagnostics"}
    assert fields <= set(fit)
    for entry in [*fit["parameters"].values(), fit["log_normalizer"]]:
        assert {"estimate", "se", "se_data", "se_noise", "lower", "upper"} <= set(entry)
    covariance = np.array(fit["covariance"])
    assert covariance.shape == (3, 3) and np.allclose(covariance, covariance.T)
    assert math.sqrt(covariance[0, 0]) == pytest.approx(fit["parameters"]["a"]["se"], rel=1e-9)
    assert isinstance(fit["noise"], str) and isinstance(fit["iterations"], int)


GAUSSIAN = 'variables = ["x"]\nfamily = "gaussian"\n'


@pytest.fixture
def sample(command):
    """300 numbers from N(1, 4), as a file."""
    x = np.random.default_rng(5).normal(1, 2, 300)
    write_csv(command.folder / "x.csv", {"x": x})
    return x


def write_csv(path, columns):
    rows = zip(*columns.values())
    path.write_text("\n".join([",".join(columns), *(",".join(map(repr, map(float, row))) for row in rows)]) + "\n")


def estimates(fit):
    return np.array([entry["estimate"] for entry in [*fit["parameters"].values(), fit["log_normalizer"]]])


def test_exact_gaussian_in_closed_form(command, sample):
    fit = command.json("fit", command.model(GAUSSIAN), "x.csv", "--noise", "exact")
    mean, variance = sample.mean(), sample.var()
    log_z = 0.5 * math.log(2 * math.pi * variance) + mean**2 / (2 * variance)
    assert estimates(fit) == pytest.approx([mean / variance, 1 / variance, log_z], rel=1e-6)


def test_formats_and_standard_input_give_the_same_numbers(command, sample):
    model = command.model(GAUSSIAN)
    expected = command.json("fit", model, "x.csv")
    np.save(command.folder / "x.npy", sample)
    np.savez(command.folder / "x.npz", x=sample)
    text = (command.folder / "x.csv").read_bytes()
    (command.folder / "x.csv.gz").write_bytes(gzip.compress(text))
    for name in ["x.npy", "x.npz", "x.csv.gz"]:
        fit = command.json("fit", model, name)
        assert fit["parameters"] == expected["parameters"], name
    process = command.run("fit", model, "-", "--json", stdin=text.decode())
    assert process.returncode == 0 and json.loads(process.stdout)["parameters"] == expected["parameters"]


def test_streaming_gives_the_same_fit(command, sample):
    model = command.model(GAUSSIAN)
    whole = command.json("fit", model, "x.csv", "--noise", "normal(1, 6)", "--nu", "10")
    blocks = command.json("fit", model, "x.csv", "--noise", "normal(1, 6)", "--nu", "10", "--stream")
    assert estimates(blocks) == pytest.approx(estimates(whole), rel=1e-9)
    assert blocks["rows"] == whole["rows"] == 300
    for name in whole["parameters"]:
        assert blocks["parameters"][name]["se"] == pytest.approx(whole["parameters"][name]["se"], rel=1e-6)


def test_weights_are_frequencies(command):
    """A row of weight three is three rows."""
    x = np.random.default_rng(3).normal(size=80)
    counts = np.random.default_rng(4).integers(0, 4, 80)
    write_csv(command.folder / "w.csv", {"x": x, "n": counts})
    write_csv(command.folder / "r.csv", {"x": np.repeat(x, counts)})
    model = command.model(GAUSSIAN)
    weighted = command.json("fit", model, "w.csv", "--weights", "n", "--noise", "exact")
    repeated = command.json("fit", model, "r.csv", "--noise", "exact")
    assert estimates(weighted) == pytest.approx(estimates(repeated), rel=1e-8)
    for name, found in weighted["parameters"].items():
        assert found["se"] == pytest.approx(repeated["parameters"][name]["se"], rel=1e-6)
    assert weighted["total_weight"] == counts.sum()


def test_clusters_widen_the_errors(command):
    """Every row given five times, told to be one cluster each: the errors of the rows given once."""
    x = np.random.default_rng(6).normal(size=120)
    write_csv(command.folder / "once.csv", {"x": x, "id": np.arange(120)})
    write_csv(command.folder / "five.csv", {"x": np.repeat(x, 5), "id": np.repeat(np.arange(120), 5)})
    model = command.model(GAUSSIAN)
    once = command.json("fit", model, "once.csv", "--noise", "exact", "--cluster", "id")
    five = command.json("fit", model, "five.csv", "--noise", "exact", "--cluster", "id")
    naive = command.json("fit", model, "five.csv", "--noise", "exact")
    # But for the correction (n − 1)/(n − p) with three unknowns, the constant among them.
    factor = math.sqrt((599 / 597) / (119 / 117))
    for name in ["h0", "P00"]:
        assert five["parameters"][name]["se"] == pytest.approx(factor * once["parameters"][name]["se"], rel=1e-6)
        assert naive["parameters"][name]["se"] == pytest.approx(five["parameters"][name]["se"] / math.sqrt(5), rel=0.02)


def test_chains_widen_the_errors(command):
    """An autoregression with coefficient 0.8: the variance of a mean is nine times that of independent rows."""
    generator = np.random.default_rng(7)
    files = []
    for chain in range(4):
        x = np.zeros(2000)
        for i in range(1, 2000):
            x[i] = 0.8 * x[i - 1] + math.sqrt(1 - 0.64) * generator.normal()
        write_csv(command.folder / f"chain{chain}.csv", {"x": x})
        files.append(f"chain{chain}.csv")
    model = command.model('variables = ["x"]\nlog_density = "m*x - x^2/2"\n[parameters]\nm = 0\n')
    plain = command.json("fit", model, *files, "--noise", "exact")
    chains = command.json("fit", model, *files, "--noise", "exact", "--chains")
    ratio = chains["parameters"]["m"]["se"] / plain["parameters"]["m"]["se"]
    # The long-run variance from 8000 rows is itself known to about 15 %.
    assert ratio == pytest.approx(3.0, rel=0.2)
    assert chains["parameters"]["m"]["estimate"] == plain["parameters"]["m"]["estimate"]


def test_confidence(command, sample):
    model = command.model(GAUSSIAN)
    fit = command.json("fit", model, "x.csv", "--confidence", "0.5")
    entry = fit["parameters"]["h0"]
    half = stats.t.ppf(0.75, entry["degrees_of_freedom"]) * entry["se"]
    assert [entry["lower"], entry["upper"]] == pytest.approx([entry["estimate"] - half, entry["estimate"] + half], rel=1e-6)


def test_a_formula_with_a_bound(command):
    """A Student-like density that is not linear in its parameters, against scipy's maximum likelihood."""
    x = stats.t(5, loc=2, scale=1.5).rvs(400, random_state=np.random.default_rng(8))
    write_csv(command.folder / "t.csv", {"x": x})
    model = command.model(
        'variables = ["x"]\nlog_density = "-3*log1p(((x - m)/s)^2/5)"\n'
        "[parameters]\nm = 0\ns = { start = 1, lower = 0 }\n"
    )
    fit = command.json("fit", model, "t.csv", "--noise", "exact")
    best = optimize.minimize(
        lambda p: -stats.t(5, loc=p[0], scale=math.exp(p[1])).logpdf(x).sum(), [1.0, 0.0], options={"gtol": 1e-8}
    )
    found = [fit["parameters"]["m"]["estimate"], fit["parameters"]["s"]["estimate"]]
    assert found == pytest.approx([best.x[0], math.exp(best.x[1])], rel=1e-4)
    constant = math.log(math.sqrt(5) * found[1]) + special.betaln(0.5, 2.5)
    assert fit["log_normalizer"]["estimate"] == pytest.approx(constant, abs=1e-5)


def test_seeds_and_threads(command, sample):
    model = command.model(GAUSSIAN)
    first = command.json("fit", model, "x.csv", "--threads", "1")
    assert first == command.json("fit", model, "x.csv", "--threads", "3")
    assert first["parameters"] != command.json("fit", model, "x.csv", "--seed", "1")["parameters"]


def test_fitted_values(command, sample):
    model = command.model(GAUSSIAN)
    fit = command.json("fit", model, "x.csv", "--noise", "exact", "--out", "fitted.csv")
    table = np.genfromtxt(command.folder / "fitted.csv", delimiter=",", names=True)
    h, p = (fit["parameters"][name]["estimate"] for name in ["h0", "P00"])
    assert table["x"] == pytest.approx(sample)
    assert table["log_density"] == pytest.approx(stats.norm(h / p, p**-0.5).logpdf(sample), rel=1e-6)


def test_summary_and_report(command, sample):
    model = command.model(GAUSSIAN)
    process = command.run("fit", model, "x.csv", "--report", "page.html")
    assert process.returncode == 0, process.stderr
    for word in ["h0", "P00", "log_normalizer", "300 rows", "95"]:
        assert word in process.stdout
    page = (command.folder / "page.html").read_text()
    assert page.count("<svg") >= 6 and "http://" not in page.replace("http://www.w3.org", "")


# What has no answer, in one sentence with status 1.

TWO = 'variables = ["x", "y"]\nfamily = "gaussian"\n'
COUNTS = 'variables = ["x"]\nfamily = "com-poisson"\n'
POSITIVE = 'variables = ["x"]\nfamily = "gamma"\n'


def numbers(count, seed=1):
    return "\n".join(f"{x!r}" for x in np.random.default_rng(seed).normal(size=count).tolist())


BAD = {
    "a missing column": (TWO, b"x,z\n1,2\n2,3\n", ["no column `y`", "x, z"]),
    "a missing value": (GAUSSIAN, b"x\n1\n2\nNaN\n4\n", ["row 3", "`x`", "--drop-missing"]),
    "text": (GAUSSIAN, b"x\n1\n2\nthree\n", ["row 3", "`x`", "`three` is not a number"]),
    "a constant column": (TWO, b"x,y\n" + b"1,5\n2,5\n3,5\n4,5\n" * 4, ["column `y`", "5"]),
    "too few rows": (TWO, b"x,y\n1,5\n2,4\n3,6\n", ["3"]),
    "a value outside the domain": (POSITIVE, b"x\n1\n2\n-0.5\n3\n4\n", ["row 3", "`x` = -0.5", "is not a positive number"]),
    "an empty file": (GAUSSIAN, b"", ["data.csv is empty"]),
    "a binary file": (GAUSSIAN, struct.pack("<64d", *range(64)), ["data.csv is a binary file"]),
    "a header alone": (GAUSSIAN, b"x\n", ["data.csv has a header but no rows"]),
}


@pytest.mark.parametrize("case", BAD)
@pytest.mark.parametrize("stream", [[], ["--stream"]], ids=["whole", "streamed"])
def test_bad_data(command, case, stream):
    model, text, says = BAD[case]
    (command.folder / "data.csv").write_bytes(text)
    process = command.run("fit", command.model(model), "data.csv", *stream)
    assert process.returncode == 1, process.stderr
    command.refuses("fit", "model.toml", "data.csv", *stream, says=says)


def test_a_missing_file(command):
    assert command.run("fit", command.model(GAUSSIAN), "none.csv").returncode == 1
    command.refuses("fit", "model.toml", "none.csv", says=["none.csv", "no such file"])


SEPARATED = 'variables = ["x"]\nfeatures = ["x", "x^2", "max(0, x - 3)"]\n'


@pytest.mark.parametrize("noise", [["--noise", "normal(0, 9)", "--nu", "5"], ["--noise", "auto", "--nu", "50"]])
def test_separation_is_named(command, noise):
    """A feature that is never present in the data, like close pairs of points that repel each other."""
    x = np.random.default_rng(2).normal(size=200).clip(-2.5, 2.5)
    write_csv(command.folder / "d.csv", {"x": x})
    process = command.run("fit", command.model(SEPARATED), "d.csv", *noise)
    assert process.returncode == 1, process.stdout
    command.refuses("fit", "model.toml", "d.csv", *noise, says=["max(0, x - 3)", "∞"])


@pytest.mark.parametrize("noise", ["auto", "exact"])
def test_states_never_seen_are_named(command, noise):
    """Two items never right together: the coupling runs to minus infinity."""
    rows = [(0, 0)] * 40 + [(0, 1)] * 30 + [(1, 0)] * 30
    (command.folder / "d.csv").write_text("a,b\n" + "".join(f"{a},{b}\n" for a, b in rows))
    model = command.model('variables = ["a", "b"]\nfamily = "ising"\nstates = [0, 1]\n')
    process = command.run("fit", model, "d.csv", "--noise", noise)
    assert process.returncode == 1, process.stdout
    command.refuses("fit", model, "d.csv", "--noise", noise, says=["J01", "−∞"])


def spread_counts(command):
    x = np.random.default_rng(9).negative_binomial(0.25, 0.02, 400)
    write_csv(command.folder / "d.csv", {"x": x})


@pytest.mark.parametrize("noise", ["auto", "exact"])
def test_com_poisson_with_negative_dispersion_is_named(command, noise):
    """Counts more spread than any Conway-Maxwell-Poisson: the best dispersion is negative, where nothing integrates."""
    spread_counts(command)
    process = command.run("fit", command.model(COUNTS), "d.csv", "--noise", noise)
    assert process.returncode == 1, process.stdout
    command.refuses("fit", "model.toml", "d.csv", "--noise", noise, says=["dispersion", "com-poisson"])


def test_a_fitted_density_that_does_not_integrate_is_named(command):
    """The same as features, without the family's bound."""
    spread_counts(command)
    model = command.model('variables = ["x"]\nfeatures = ["x", "-lgamma(x + 1)"]\ndomain = { x = "counts" }\n')
    process = command.run("fit", model, "d.csv")
    assert process.returncode == 1, process.stdout
    command.refuses("fit", model, "d.csv", says=["no probability", "`x`"])


def test_a_bound_that_was_written_is_accepted_with_a_warning(command):
    spread_counts(command)
    model = command.model(COUNTS + "[parameters]\ndispersion = { start = 1, lower = 0 }\n")
    fit = command.json("fit", model, "d.csv")
    assert fit["parameters"]["dispersion"]["at_bound"] and fit["parameters"]["dispersion"]["se"] is None
    assert "at-bound" in [warning["kind"] for warning in fit["diagnostics"]["warnings"]]
    # What is left is geometric: log_rate = log(mean / (1 + mean)).
    x = np.genfromtxt(command.folder / "d.csv", skip_header=1)
    found = fit["parameters"]["log_rate"]
    assert abs(found["estimate"] - math.log(x.mean() / (1 + x.mean()))) < 5 * found["se_noise"] + 0.3 * found["se"]


USAGE = [
    (["--nu", "-1"], "nu"),
    (["--nu", "many"], "nu"),
    (["--loss", "huber"], "loss"),
    (["--confidence", "95"], "confidence"),
    (["--noise", "normale(0, 1)"], "normal"),
    (["--start", "q=1"], "q"),
    (["--format", "xls"], "format"),
    (["--weights", "x"], "`x`"),
    (["--stream", "--chains"], "--stream"),
    (["--starts", "0"], "starts"),
]


@pytest.mark.parametrize("arguments, says", USAGE, ids=lambda v: " ".join(v) if isinstance(v, list) else v)
def test_wrong_usage(command, sample, arguments, says):
    model = command.model(GAUSSIAN)
    assert command.run("fit", model, "x.csv", *arguments).returncode == 2
    command.refuses("fit", model, "x.csv", *arguments, says=[says])


def test_weights_that_are_none(command):
    model = command.model(GAUSSIAN)
    for text, says in [
        ("x,n\n1,2\n2,-1\n3,1\n", ["row 2", "`n`", "-1"]),
        ("x,n\n1,0\n2,0\n3,0\n", ["weight"]),
        ("x\n1\n2\n", ["no column `n`"]),
    ]:
        (command.folder / "d.csv").write_text(text)
        for stream in [[], ["--stream"]]:
            command.refuses("fit", model, "d.csv", "--weights", "n", *stream, says=says)
