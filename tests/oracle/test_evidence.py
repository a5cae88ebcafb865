"""`noisewright evidence` against closed forms and scipy."""

import json
import math

import numpy as np
import pytest
from conftest import ROOT
from scipy import integrate, special, stats

EXAMPLES = ROOT / "examples"
REGRESSION = EXAMPLES / "evidence-regression"
BINOMIAL = EXAMPLES / "evidence-beta-binomial"


def write(folder, name, columns):
    """Writes columns as CSV; gives the file's name."""
    rows = zip(*columns.values())
    lines = [",".join(columns)] + [",".join(f"{v:.17g}" for v in row) for row in rows]
    (folder / name).write_text("\n".join(lines) + "\n")
    return name


def near(result, truth, errors=4):
    assert result["converged"] and result["se"] < math.inf
    assert abs(result["log_evidence"] - truth) < errors * result["se"], (result["log_evidence"], result["se"], truth)
    assert result["lower"] < result["log_evidence"] < result["upper"]


def test_beta_binomial(command):
    result = command.json("evidence", BINOMIAL / "model.toml", BINOMIAL / "draws.csv", "--independent")
    near(result, math.log(1 / 11))
    # 16 scrambles of a power of two of noise points.
    assert result["se"] < 0.01 and (result["draws"], result["noise_draws"]) == (4000, 4096)
    assert set(result["estimates"]) == {"is", "revis", "is-revis", "nce"}
    for estimate in result["estimates"].values():
        assert abs(estimate["log_z"] - math.log(1 / 11)) < 5 * estimate["se"]


def regression_evidence():
    x, y = np.loadtxt(REGRESSION / "data.csv", delimiter=",", skiprows=1, unpack=True)
    design = np.column_stack([np.ones_like(x), x])
    # Given sigma = 1 the marginal of y is normal; scaled by an inverse gamma variance it is Student's.
    covariance = np.eye(len(x)) + 4 * design @ design.T
    return stats.multivariate_t(loc=np.zeros(len(x)), shape=covariance * 2 / 3, df=6).logpdf(y)


@pytest.mark.parametrize("noise", ["auto", "normal", "student", "mixture", "warped"])
def test_regression_in_stan_format(command, noise):
    chains = [REGRESSION / f"chain_{k}.csv" for k in range(1, 5)]
    result = command.json("evidence", REGRESSION / "model.toml", *chains, "--noise", noise)
    near(result, regression_evidence())
    assert result["chains"] == [1000] * 4, "the warm-up must be left out"
    assert result["se"] < 0.05
    assert noise in ("auto", result["noise"])
    assert result["trace"][-1]["draws"] == 4000


def test_a_chain_column_says_the_same_as_files(command):
    columns = {"beta_1": [], "beta_2": [], "sigma": [], "chain": []}
    for k in range(1, 5):
        lines = [line for line in (REGRESSION / f"chain_{k}.csv").read_text().splitlines() if not line.startswith("#")]
        for line in lines[201:]:
            values = line.split(",")
            for name, value in zip(columns, [*map(float, values[2:5]), k]):
                columns[name].append(value)
    # Interleaved: the first draw of every chain, then the second …
    order = sorted(range(4000), key=lambda i: (i % 1000, i // 1000))
    columns = {name: [values[i] for i in order] for name, values in columns.items()}
    name = write(command.folder, "all.csv", columns)
    files = [REGRESSION / f"chain_{k}.csv" for k in range(1, 5)]
    one = command.json("evidence", REGRESSION / "model.toml", name, "--chain", "chain")
    four = command.json("evidence", REGRESSION / "model.toml", *files)
    assert one["log_evidence"] == pytest.approx(four["log_evidence"], abs=1e-9)
    assert one["chains"] == four["chains"]


@pytest.mark.parametrize("dimension", [4, 50])
def test_gaussian_family_with_the_names_of_stan(command, dimension):
    random = np.random.default_rng(3)
    rows = 20_000
    scales = 1 + 0.1 * np.arange(dimension)
    draws = scales * random.standard_normal((rows, dimension))
    columns = {f"beta.{j + 1}": draws[:, j] for j in range(dimension)}
    name = write(command.folder, "draws.csv", columns)
    names = ", ".join(f'"beta_{j + 1}"' for j in range(dimension))
    separator = "_" if dimension > 10 else ""
    variances = "\n".join(f"C{j}{separator}{j} = {float(s * s)!r}" for j, s in enumerate(scales))
    command.model(f'variables = [{names}]\nfamily = "gaussian"\nparametrization = "moments"\n[parameters]\n{variances}\n')
    result = command.json("evidence", "model.toml", name, "--independent")
    near(result, 0.5 * dimension * math.log(2 * math.pi) + np.log(scales).sum())
    assert result["se"] < 0.02 and result["overlap"] > 0.9


def test_a_formula_with_parameters_at_given_values(command):
    random = np.random.default_rng(5)
    draws = stats.gamma(3, scale=0.5).rvs(8000, random_state=random)
    name = write(command.folder, "draws.csv", {"x": draws})
    command.model(
        'variables = ["x"]\nlog_density = "(shape - 1)*log(x) - rate*x"\ndomain = { x = "positive" }\n'
        "[parameters]\nshape = 1.0\nrate = 1.0\n"
    )
    result = command.json("evidence", "model.toml", name, "--at", "shape=3,rate=2", "--independent")
    near(result, special.gammaln(3) - 3 * math.log(2))


def test_a_chain_from_a_metropolis_sampler(command):
    random = np.random.default_rng(8)

    def log_f(x):
        return 0.5 * x * x - 0.25 * x**4

    x, chain = 0.0, []
    for step, height in zip(random.normal(0, 1.0, 40_000), random.random(40_000)):
        if math.log(height) < log_f(x + step) - log_f(x):
            x += step
        chain.append(x)
    name = write(command.folder, "chain.csv", {"x": chain})
    command.model('variables = ["x"]\nlog_density = "x^2/2 - x^4/4"\n')
    result = command.json("evidence", "model.toml", name)
    truth = math.log(integrate.quad(lambda x: math.exp(log_f(x)), -10, 10)[0])
    assert truth == pytest.approx(1.362293, abs=1e-6)
    near(result, truth)
    assert result["chain_ess"] < 0.5 * len(chain)
    independent = command.json("evidence", "model.toml", name, "--independent", "--noise", result["noise"])
    assert result["se"] > 1.1 * independent["se"], "draws taken as independent must look better than they are"


def test_the_same_seed_gives_the_same_bits(command):
    arguments = ["evidence", BINOMIAL / "model.toml", BINOMIAL / "draws.csv"]
    first, second = (command.json(*arguments, "--threads", n) for n in (1, 2))
    assert first == second
    assert command.json(*arguments, "--seed", 5)["log_evidence"] != first["log_evidence"]


def test_the_page(command):
    process = command.run("evidence", BINOMIAL / "model.toml", BINOMIAL / "draws.csv", "--report", "page.html")
    assert process.returncode == 0, process.stderr
    page = (command.folder / "page.html").read_text()
    assert page.count("<svg") >= 2 and "http://" not in page.replace("http://www.w3.org", "")


def test_refusals(command):
    model = BINOMIAL / "model.toml"
    write(command.folder, "end.csv", {"p": [*np.linspace(0.1, 0.9, 50), 1.0]})
    command.refuses("evidence", model, "end.csv", says=["end.csv", "row 51", "`p` = 1"])
    write(command.folder, "outside.csv", {"p": [*np.linspace(0.1, 0.9, 50), 1.5]})
    command.refuses("evidence", model, "outside.csv", says=["row 51"])
    write(command.folder, "few.csv", {"p": [0.1, 0.2, 0.3]})
    command.refuses("evidence", model, "few.csv", says=["3 draws are too few"])
    write(command.folder, "same.csv", {"p": [0.25] * 100})
    command.refuses("evidence", model, "same.csv", says=["does not vary"])
    write(command.folder, "other.csv", {"q": np.linspace(0.1, 0.9, 50)})
    command.refuses("evidence", model, "other.csv", says=["`p`"])
    draws = BINOMIAL / "draws.csv"
    command.refuses("evidence", model, draws, "--noise", "cauchy", says=["--noise", "student"])
    command.refuses("evidence", model, draws, "--confidence", "1.5", says=["--confidence"])
    command.refuses("evidence", model, draws, "--noise-draws", "1", says=["--noise-draws"])
    command.refuses("evidence", model, draws, draws, "--chain", "c", says=["--chain"])
    command.refuses("evidence", model, "nowhere.csv", says=["nowhere.csv"])


def test_no_overlap_is_a_result_that_says_so(command):
    random = np.random.default_rng(2)
    halves = np.concatenate([random.normal(-30, 1, 500), random.normal(30, 1, 500)])
    name = write(command.folder, "jump.csv", {"x": halves})
    command.model('variables = ["x"]\nlog_density = "max(-(x-30)^2/2, -(x+30)^2/2)"\n')
    process = command.run("evidence", "model.toml", name, "--noise", "normal", "--json")
    assert process.returncode == 1 and "no estimate can be trusted" in process.stderr
    result = json.loads(process.stdout)
    assert result["se"] == math.inf and result["warnings"]
    assert "warning:" in process.stderr
