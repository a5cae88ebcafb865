"""Names and promises that users' scripts rely on."""

import json

import pytest
from conftest import ROOT
from reference import MODELS

ERROR_FIELDS = ["error", "covariance", "cramer_rao", "efficiency", "weights_mean"]


def test_fields_of_error(command):
    got = command.json("error", command.model(MODELS["mean with constant"][0]), "--noise", "normal(0, 2)", "--nu", 2)
    for field in ERROR_FIELDS:
        assert field in got, field
    assert 0 < got["weights_mean"] < 1


def test_json_is_all_of_standard_output(command):
    process = command.run("error", command.model(MODELS["mean"][0]), "--noise", "data", "--json")
    json.loads(process.stdout)
    assert process.returncode == 0


COMMANDS = [
    ["error", "mean with constant", "--noise", "student(5, 0, 2)", "--nu", "2"],
    ["design", "variance with constant", "--nu", "0.5"],
    ["design", "mean", "--nu", "1"],
]


@pytest.mark.parametrize("arguments", COMMANDS)
def test_the_number_of_threads_changes_nothing(command, arguments):
    name = command.model(MODELS[arguments[1]][0])
    run = lambda threads: command.run(arguments[0], name, *arguments[2:], "--json", "--threads", threads).stdout
    assert run(1) == run(2)


def test_threads_with_sampled_expectations(command):
    text = 'variables = ["a","b","c","d","e"]\nfamily = "gaussian"\n'
    name = command.model(text)
    run = lambda threads: command.run(
        "error", name, "--noise", "student(5, [0,0,0,0,0], [[2,0,0,0,0],[0,2,0,0,0],[0,0,2,0,0],[0,0,0,2,0],[0,0,0,0,2]])",
        "--json", "--draws", 20000, "--threads", threads)
    first = run(1)
    assert first.returncode == 0, first.stderr
    assert first.stdout == run(2).stdout
    draws = lambda threads: command.run("sample", 30000, "--noise", "gamma(2, 1)", "--threads", threads).stdout
    assert draws(1) == draws(2)


def test_a_report_is_one_file_that_needs_no_other(command):
    name = command.model(MODELS["mean"][0])
    for arguments in (["error", name, "--noise", "normal(1, 2)"], ["design", name, "--nu", "1"]):
        process = command.run(*arguments, "--report", "page.html")
        assert process.returncode == 0, process.stderr
        page = (command.folder / "page.html").read_text()
        assert page.lstrip().lower().startswith("<!doctype html>") and "<svg" in page
        assert "src=\"http" not in page and "<link" not in page


def test_exit_status(command):
    name = command.model(MODELS["mean"][0])
    assert command.run("--help").returncode == 0
    assert command.run("--version").returncode == 0
    assert command.run("error", name, "--noise", "data").returncode == 0
    assert command.run("error", "missing.toml", "--noise", "data").returncode == 1
    assert command.run("error", name, "--noise", "data", "--nu", "0").returncode == 2
    assert command.run("error", name, "--no-such-flag").returncode == 2
    assert command.run("no-such-command").returncode == 2


COMMANDS_ALL = ["fit", "ratio", "information", "error", "design", "logz", "sample", "evidence", "reproduce", "lab", "examples", "families"]


def test_manual_pages_and_completions_know_every_command(command):
    whole = command.run("man").stdout
    for name in COMMANDS_ALL:
        assert f"noisewright\\-{name}" in whole, name
        page = command.run("man", name).stdout
        assert f".TH noisewright-{name}" in page and "\\-\\-seed" in page, name
    assert "noise\\-share" in command.run("man", "fit").stdout
    command.refuses("man", "nothing", says=["`nothing`", "fit"])
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"]:
        script = command.run("completions", shell)
        assert script.returncode == 0 and script.stderr == ""
        assert all(name in script.stdout for name in COMMANDS_ALL), shell


def test_every_command_helps(command):
    for name in COMMANDS_ALL:
        done = command.run(name, "--help")
        assert done.returncode == 0 and done.stderr == "" and f"noisewright {name}" in done.stdout, name


def test_lists_are_json_too(command):
    families = {family["name"] for family in command.json("families")["families"]}
    assert {"gaussian", "ising", "von-mises"} <= families
    copied = command.json("examples", "wind", "--out", "here")
    assert copied["folder"] == "here" and [example["name"] for example in copied["examples"]] == ["wind"]
    assert (command.folder / "here" / "examples" / "wind" / "model.toml").exists()


def test_another_seed_simulates_other_samples(command):
    run = lambda *more: command.json("reproduce", "tab2", "--quiet", *more)["items"][0]["values"]
    assert run() == run("--seed", 0) != run("--seed", 1)


# A posterior has no parameters of its own to be estimated, and a density given covariates has no noise of its own.
OTHERS = ("evidence", "freight", "periwinkles")
MODELS_TO_ESTIMATE = (p.parent.name for p in (ROOT / "examples").glob("*/model.toml") if not p.parent.name.startswith(OTHERS))


@pytest.mark.parametrize("folder", sorted(MODELS_TO_ESTIMATE))
def test_every_example_can_be_evaluated(command, folder):
    for model in sorted((ROOT / "examples" / folder).glob("*.toml")):
        got = command.json("error", model, "--noise", "data", "--nu", 1)
        # In many dimensions both are sampled, and say how accurate they are.
        accuracy = max(1e-6, got["accuracy"]["relative_error"])
        assert got["error"] == pytest.approx(got["error_noise_equals_data"], rel=accuracy)


# log Z at the maximum-likelihood estimates, from R's data by quadrature, enumeration or closed form.
LOG_Z = [("old-faithful", 1.49267), ("wind", 2.50461), ("ozone", 5.35964), ("lsat", 6.13403)]


@pytest.mark.parametrize("folder, log_z", LOG_Z)
def test_normalizers_of_the_examples(command, folder, log_z):
    got = command.json("error", ROOT / "examples" / folder / "model.toml", "--noise", "data", "--nu", 1)
    assert got["log_normalizer"] == pytest.approx(log_z, abs=2e-4)


DATA = [("old-faithful", "faithful.csv"), ("wind", "wind.csv"), ("ozone", "ozone.csv"), ("lsat", "lsat6.csv")]


@pytest.mark.parametrize("folder, data", DATA)
def test_the_default_noise_covers_the_examples(command, folder, data):
    """`auto` costs at most 2.5 times what noise equal to the data does, and every loss stays finite."""
    here = ROOT / "examples" / folder
    for loss in ["js", "kl"]:
        got = command.json("error", here / "model.toml", "--data", here / data, "--nu", 1, "--loss", loss)
        assert got["error"] < 2.5 * got["error_noise_equals_data"], loss
