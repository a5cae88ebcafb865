"""What once went wrong, each with the input that showed it."""

import os
import stat
import time

import pytest

QUARTIC = 'variables = ["x"]\nlog_density = "-a*x^2/2 - b*x^4"\n[parameters]\na = 1\nb = 0.1\n'
CONSTANT = 'variables = ["x"]\nlog_density = "-x^4"\n'
GAMMA = (
    'variables = ["x"]\nlog_density = "(k-1)*log(x) - r*x"\ndomain = "positive"\n[parameters]\nk = 0.5\nr = 1\n'
)


def test_noise_that_equals_the_data_takes_no_longer_than_other_noise(command):
    """The divergences, all of them rounding, were refined for minutes."""
    began = time.monotonic()
    answer = command.json("error", command.model(GAMMA), "--noise", "gamma(0.5, 1)")
    assert answer["error"] == pytest.approx(answer["error_noise_equals_data"], rel=1e-8)
    assert time.monotonic() - began < 10


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
    command.refuses("design", command.model(QUARTIC), *arguments, says=["kde", "--out", "again"])
