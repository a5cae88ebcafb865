"""What once went wrong, each with the input that showed it."""

import os
import stat
from pathlib import Path
from statistics import NormalDist

import pytest

QUARTIC = 'variables = ["x"]\nlog_density = "-a*x^2/2 - b*x^4"\n[parameters]\na = 1\nb = 0.1\n'
CONSTANT = 'variables = ["x"]\nlog_density = "-x^4"\n'
GAMMA = (
    'variables = ["x"]\nlog_density = "(k-1)*log(x) - r*x"\ndomain = "positive"\n[parameters]\nk = 0.5\nr = 1\n'
)


@pytest.mark.alone
def test_noise_that_equals_the_data_takes_no_longer_than_other_noise(command):
    """The divergences, all of them rounding, were refined for minutes."""
    began = os.times().children_user
    answer = command.json("error", command.model(GAMMA), "--noise", "gamma(0.5, 1)")
    assert answer["error"] == pytest.approx(answer["error_noise_equals_data"], rel=1e-8)
    # Its own time: other programs may keep the cores.
    assert os.times().children_user - began < 10


@pytest.mark.parametrize("nu", [1e-4, 1e-6])
def test_the_design_at_a_small_ratio_is_certified(command, nu):
    """It was called optimal with a gap of several hundred per cent."""
    answer = command.json("design", command.model(QUARTIC), "--nu", nu)
    assert answer["gap"] < 1e-4
    assert answer["error"] < 0.2 * answer["error_noise_equals_data"]


def test_a_noise_too_narrow_to_compute_is_not_called_optimal(command):
    command.refuses("design", command.model(QUARTIC), "--nu", "1e-12", says=["1e-12", "larger"])


def test_a_constant_alone_has_no_negative_error_and_no_design(command):
    model = command.model(CONSTANT)
    answer = command.json("error", model, "--noise", "data")
    assert 0 <= answer["error"] < 1e-12
    assert answer["error_noise_equals_data"] == 0
    command.refuses("design", model, says=["without parameters"])
    process = command.run("design", model, "--noise", "normal(?, ?)", "--nu", "1")
    assert process.returncode == 0
    assert "NaN" not in process.stdout and "∞" not in process.stdout
    process = command.run("design", model, "--noise", "mixture", "--nu", "1")
    assert process.returncode == 0, process.stderr
    assert "NaN" not in process.stdout and "∞" not in process.stdout


def test_with_prices_it_is_money_that_is_saved(command):
    process = command.run("design", command.model(QUARTIC), "--nu", "1", "--price-data", "10")
    assert "to pay" in process.stdout and "points." not in process.stdout


def test_a_designed_noise_with_holes_is_refused_with_its_remedy(command):
    """The best noise for one parameter of two leaves out where it is not seen; a fit said only that other noises are to be chosen."""
    model = command.model('variables = ["x"]\nfeatures = ["x", "x^2"]\n')
    assert command.run(
        "design", model, "--at", "x=0,x^2=-0.5", "--nu", "0.2", "--target", "x", "--out", "best.json"
    ).returncode == 0
    x = [NormalDist().inv_cdf((i + 0.5) / 500) for i in range(500)]
    (command.folder / "data.csv").write_text("x\n" + "\n".join(map(repr, x)) + "\n")
    command.refuses("fit", model, "data.csv", "--noise", 'file("best.json")', says=["no density", "0.9*NOISE + 0.1*auto"])
    answer = command.json("fit", model, "data.csv", "--noise", '0.9*file("best.json") + 0.1*auto')
    assert answer["parameters"]["x^2"]["estimate"] == pytest.approx(-0.5, abs=0.1)


def test_exit_statuses(command):
    model = command.model(QUARTIC)
    for arguments in (["error", model], ["design", model], ["sample", 3]):
        assert command.run(*arguments, "--noise", "normal(0, -1)").returncode == 2
    twice = command.model('variables = ["x", "x"]\nlog_density = "-x^2"\n', name="twice.toml")
    assert command.run("error", twice).returncode == 1


def test_an_angle_is_told_how_to_be_uniform(command):
    model = command.model('variables = ["x"]\nlog_density = "k*cos(x)"\ndomain = "circle"\n[parameters]\nk = 1\n')
    command.refuses("error", model, "--noise", "uniform(0, 1)", says=["without arguments"])


def test_a_link_is_followed_and_not_replaced(command):
    (command.folder / "real.html").write_text("")
    os.symlink("real.html", command.folder / "link.html")
    process = command.run("error", command.model(QUARTIC), "--noise", "normal(0, 1)", "--report", "link.html")
    assert process.returncode == 0
    assert stat.S_ISLNK(os.lstat(command.folder / "link.html").st_mode)
    assert "</html>" in (command.folder / "real.html").read_text()


def test_data_that_no_noise_can_be_fitted_to_are_no_wrong_usage(command):
    model = command.model(QUARTIC)
    for name, values in (("constant", [1] * 9), ("single", [1]), ("huge", [1e300, -1e300, 0, 1, 2])):
        (command.folder / f"{name}.csv").write_text("x\n" + "\n".join(map(str, values)) + "\n")
        process = command.run("error", model, "--noise", "auto", "--data", f"{name}.csv")
        assert process.returncode == 1, process.stderr
    assert "too far apart" in process.stderr


def test_a_noise_that_cannot_be_saved_says_what_to_do(command):
    (command.folder / "x.csv").write_text("x\n" + "\n".join(str(i / 10) for i in range(-20, 21)) + "\n")
    arguments = ["--noise", "kde", "--data", "x.csv", "--nu", "1", "--out", "k.json"]
    command.refuses("design", command.model(QUARTIC), *arguments, says=["kde", "--out", "cannot be saved"])


def test_no_estimate_is_marked_where_none_can_be_trusted(command, tmp_path):
    """nce bore the star for the one to trust above a sentence that none can be."""
    draws = {"a.csv": (0.0, 1.0), "b.csv": (8.0, 0.25)}
    for name, (mean, variance) in draws.items():
        x = [mean + variance**0.5 * NormalDist().inv_cdf((i + 0.5) / 1000) for i in range(1000)]
        rows = [f"{-(v**2) / 2!r},{-((v - 8) ** 2) * 2!r}" for v in x]
        (tmp_path / name).write_text("\n".join(["log_f,log_noise", *rows]) + "\n")
    process = command.run("logz", tmp_path / "a.csv", tmp_path / "b.csv", "--independent")
    assert process.returncode == 1
    assert "*" not in process.stdout and "one to trust" not in process.stdout


@pytest.mark.parametrize(
    ("noise", "columns"),
    [
        ("poisson(3)", ["x"]),
        ("bernoulli(0.3)", ["x"]),
        ("von-mises(0, 2)", ["x"]),
        ("categorical([1, 2, 5], [0.2, 0.3, 0.5])", ["x"]),
        ("normal([0, 0], [[1, 0.5], [0.5, 1]])", ["x0", "x1"]),
        ("product(normal(0, 1), poisson(2))", ["x0", "x1"]),
        ("von-mises-fisher([0, 0, 1], 3)", ["x0", "x1", "x2"]),
    ],
)
def test_a_noise_is_drawn_without_a_model(command, noise, columns):
    """The only space without a model was the real line."""
    answer = command.json("sample", 5, "--noise", noise)
    assert list(answer["draws"]) == [*columns, "log_density"]
    assert all(len(values) == 5 for values in answer["draws"].values())


def test_what_stands_on_no_space_of_its_own_asks_for_a_model(command):
    command.refuses("sample", 5, "--noise", "0.5*normal(0, 1) + 0.5*poisson(3)", says=["--model"])


def test_coordinates_that_are_not_asked_for_are_left_blank(command):
    text = command.run("error", command.model(QUARTIC), "--noise", "normal(0, 4)", "--target", "a,b").stdout
    row = next(line for line in text.splitlines() if line.startswith("log_normalizer"))
    assert row.split() == ["log_normalizer"]


def test_tables_are_as_wide_as_the_terminal(command, monkeypatch):
    example = Path(__file__).parents[2] / "examples" / "umbrella" / "draws.csv"
    arguments = ["logz", example, "--states", "u_*"]
    for columns, tables in (("60", 2), ("160", 1)):
        monkeypatch.setenv("COLUMNS", columns)
        lines = command.run(*arguments).stdout.splitlines()
        assert sum(line.startswith("state") for line in lines) >= tables
        assert (sum(line.startswith("state") for line in lines) == 1) == (tables == 1)


def test_a_parameter_at_its_bound_makes_no_second_table(command, tmp_path):
    model = command.model(
        'variables = ["x"]\nlog_density = "-a*x^2/2 - b*x^4"\n[parameters]\na = 1\nb = { start = 0.1, lower = 0.0 }\n'
    )
    x = [4 * NormalDist().inv_cdf((i + 0.5) / 300) / (1 + 0.2 * (i % 3)) for i in range(300)]
    (tmp_path / "x.csv").write_text("x\n" + "\n".join(map(repr, x)) + "\n")
    text = command.run("fit", model, tmp_path / "x.csv").stdout
    assert "b, at its bound" in text
    assert sum("std. error" in line for line in text.splitlines()[:12]) == 1


def test_numbers_in_sentences_are_short(command, tmp_path):
    (tmp_path / "x.csv").write_text("x\n1e200\n1\n2\n")
    model = command.model('variables = ["x"]\nfeatures = ["x"]\ndomain = { x = [0, 1] }\n')
    process = command.run("fit", model, tmp_path / "x.csv")
    assert "1e200" in process.stderr and "000000000" not in process.stderr


def test_differences_below_a_hundredth_per_cent_are_none(command):
    text = command.run("error", command.model(QUARTIC), "--noise", "data", "--nu", "1").stdout
    assert "The same error as noise = data at the same ν." in text


def test_one_point_is_too_few(command, tmp_path):
    (tmp_path / "x.csv").write_text("x\n1\n")
    process = command.run("error", command.model(QUARTIC), "--data", tmp_path / "x.csv", "--noise", "normal")
    assert process.returncode == 1 and "1 points" not in process.stderr
