"""Every mistake is one sentence that says what is wrong and what would be right, and status 1 or 2."""

import pytest
from reference import MODELS

GOOD = 'variables = ["x"]\nlog_density = "-a*x^2/2 - b*x^4"\n[parameters]\na = 1\nb = 0.1\n'


def formula(text):
    return f'variables = ["x"]\nlog_density = "{text}"\n[parameters]\na = 1\n'


FORMULAS = [
    ("-a*sqr(x)", ["sqr", "sqrt"]),
    ("-a*x^2 - bb*x^4", ["bb"]),
    ("-alpha*x^2", ["alpha"]),
    ("-a*(x^2", ["parenthes"]),
    ("-a*x^2)", []),
    ("-a*3", ["variable"]),
    ("-a*x^", []),
    ("-a*x^2 + 3 4", []),
    ("-a*exp(x, 2)", ["exp"]),
    ("", []),
]


@pytest.mark.parametrize("text, says", FORMULAS)
def test_formulas(command, text, says):
    command.refuses("error", command.model(formula(text)), "--noise", "normal(0, 1)", says=says)


FILES = [
    ("variables = [", []),
    ("", []),
    ('variables = ["x"]\n', ["log_density"]),
    ('variables = ["x"]\nlog_density = "-x^2*a"\n', ["a"]),
    ('variables = ["x"]\nlog_densty = "-x^2*a"\n[parameters]\na = 1', ["log_density"]),
    ('variables = ["x"]\nfamily = "gausian"\n', ["gaussian"]),
    ('variables = ["x", "x"]\nlog_density = "-x^2*a"\n[parameters]\na = 1', ["x"]),
    ('variables = ["x"]\nlog_density = "-x^2*a"\ndomain = {x = "postive"}\n[parameters]\na = 1', ["positive"]),
    ('variables = ["x"]\nlog_density = "-x^2*a"\ndomain = {x = [2, 1]}\n[parameters]\na = 1', ["domain"]),
    ('variables = ["x"]\nlog_density = "-x^2*a"\n[parameters]\na = nan', ["a"]),
    ('variables = ["x"]\nlog_density = "-x^2*a"\n[parameters]\na = { start = 1, lower = 2 }', ["a"]),
    ('variables = ["x"]\nlog_density = "-x^2*a"\n[parameters]\na = "one"', ["a"]),
]


@pytest.mark.parametrize("text, says", FILES)
def test_model_files(command, text, says):
    command.refuses("error", command.model(text), "--noise", "normal(0, 1)", says=says)


MODELS_WITHOUT_ANSWER = [
    # Does not integrate.
    ('variables = ["x"]\nlog_density = "a*x^2"\n[parameters]\na = 1', ["integrate"]),
    ('variables = ["x"]\nlog_density = "-a*log(x)"\ndomain = {x = "positive"}\n[parameters]\na = 0.5', ["integrate"]),
    ('variables = ["x"]\nlog_density = "-a*log(1+x^2)"\n[parameters]\na = 0.4', ["integrate"]),
    ('variables = ["x"]\nlog_density = "a*x"\n[parameters]\na = 0', ["integrate"]),
    # Says it is normalized and is not.
    ('variables = ["x"]\nlog_density = "-x^2/(2*v)"\nnormalized = true\n[parameters]\nv = 1', ["normalized"]),
    # Not a number inside its domain.
    ('variables = ["x"]\nlog_density = "-a*x^2 + log(x)"\n[parameters]\na = 1', ["not a number"]),
    # Two parameters that mean the same.
    ('variables = ["x"]\nlog_density = "-(a+b)*x^2"\n[parameters]\na = 1\nb = 1', ["`a`", "`b`"]),
]


@pytest.mark.parametrize("text, says", MODELS_WITHOUT_ANSWER)
def test_models_without_an_answer(command, text, says):
    name = command.model(text)
    command.refuses("error", name, "--noise", "normal(1, 1)", says=says)
    command.refuses("design", name, says=says)


ARGUMENTS = [
    (["--noise", "normal(0, 1)", "--nu", "0"], ["ν"]),
    (["--noise", "normal(0, 1)", "--nu", "-1"], ["ν"]),
    (["--noise", "normal(0, 1)", "--nu", "nan"], ["ν"]),
    (["--noise", "normal(0, 1)", "--nu", "inf"], ["ν"]),
    (["--noise", "normal(0, 1)", "--loss", "jss"], ["jss", "js"]),
    (["--noise", "normal(0, 1)", "--target", "c"], ["c"]),
    (["--noise", "normal(0, 1)", "--at", "c=1"], ["c"]),
    (["--noise", "normal(0, 1)", "--at", "a=nan"], ["a"]),
    (["--noise", "normal(0, 1)", "--at", "a"], ["a"]),
    (["--noise", "normal(0, 0)"], ["variance"]),
    (["--noise", "normal(0, -1)"], ["variance"]),
    (["--noise", "normal(nan, 1)"], []),
    (["--noise", "normal(0)"], ["normal"]),
    (["--noise", "normall(0, 1)"], ["normal"]),
    (["--noise", "normal(0, 1"], []),
    (["--noise", "0.5*normal(0, 1) + 0.4*normal(1, 1)"], []),
    (["--noise", "normal(?, 1)"], ["?"]),
    (["--noise", "normal"], ["data"]),
    (["--noise", "uniform(20, 21)"], ["noise"]),
    (["--noise", "uniform(500, 501)"], ["noise"]),
    (["--noise", "file(\"missing.json\")"], ["missing.json"]),
    (["--noise", "normal(0, 1)", "--data", "missing.csv"], ["missing.csv"]),
    (["--noise", "normal(0, 1)", "--threads", "0"], ["threads"]),
    (["--noise", "normal(0, 1)", "--accuracy", "0"], ["accuracy"]),
]


@pytest.mark.parametrize("arguments, says", ARGUMENTS)
def test_arguments_of_error(command, arguments, says):
    command.refuses("error", command.model(GOOD), *arguments, says=says)


def test_noise_whose_support_misses_the_data(command):
    text = 'variables = ["x"]\nlog_density = "-a*x^2"\ndomain = {x = [0, 1]}\n[parameters]\na = 1'
    says = ["uniform(2, 3)", "0 and 1"]
    command.refuses("error", command.model(text), "--noise", "uniform(2, 3)", says=says)


DESIGNS = [
    (["--price-data", "0"], ["price"]),
    (["--price-noise", "-2"], ["price"]),
    (["--price-noise", "nan"], ["price"]),
    (["--nu", "zero"], ["nu"]),
    (["--nu", "0"], []),
    (["--nu", "-3"], []),
    (["--efficiency", "1.5"], ["efficiency"]),
    (["--efficiency", "0"], ["efficiency"]),
    (["--noise", "data(?)"], []),
    (["--noise", "kde(?)"], ["?"]),
    (["--noise", "all-noise(?)"], ["?"]),
    (["--noise", "histogram(?, -5, 5)"], ["?"]),
    (["--noise", "histogram(20, 5, -5)"], []),
    (["--noise", "histogram(0, -5, 5)"], []),
    (["--target", "nothing"], ["nothing"]),
]


@pytest.mark.parametrize("arguments, says", DESIGNS)
def test_arguments_of_design(command, arguments, says):
    command.refuses("design", command.model(GOOD), *arguments, says=says)


def test_a_sample_too_small_for_the_parameters(command):
    (command.folder / "few.csv").write_text("x\n1\n2\n")
    command.refuses("design", command.model(GOOD), "--data", "few.csv", says=["2"])


DATA = [
    ("y\n1\n2\n", ["x"]),
    ("x\n1\n\nnan\n3\n", ["row"]),
    ("x\n1\ntwo\n3\n", ["two"]),
    ("x\n", []),
    ("", []),
    ("x\n2\n2\n2\n2\n2\n", ["every row"]),
]


@pytest.mark.parametrize("text, says", DATA)
def test_data(command, text, says):
    (command.folder / "data.csv").write_text(text)
    command.refuses("error", command.model(GOOD), "--noise", "auto", "--data", "data.csv", says=says)


def test_data_outside_the_domain(command):
    (command.folder / "data.csv").write_text("x\n1\n2\n-3\n4\n5\n")
    text = 'variables = ["x"]\nfamily = "gamma"\n'
    command.refuses("error", command.model(text), "--noise", "auto", "--data", "data.csv", says=["-3"])


def test_binary_files(command):
    (command.folder / "data.csv").write_bytes(bytes(range(256)) * 4)
    command.refuses("error", command.model(GOOD), "--noise", "auto", "--data", "data.csv")
    command.refuses("error", "data.csv", "--noise", "data", says=["data.csv"])
    command.refuses("error", ".", "--noise", "data", says=["folder"])


SAMPLES = [
    (["sample", "10", "--noise", "normal(0, -1)"], ["variance"]),
    (["sample", "10", "--noise", "nonsense(1)"], ["nonsense"]),
    (["sample", "10", "--noise", "optimal"], ["model"]),
    (["sample", "10", "--design", "missing.json"], ["missing.json"]),
]


@pytest.mark.parametrize("arguments, says", SAMPLES)
def test_samples(command, arguments, says):
    command.refuses(*arguments, says=says)


def test_a_file_that_is_no_design(command):
    for text in ["{}", "not json", '{"version": 99}', "[1, 2"]:
        (command.folder / "design.json").write_text(text)
        command.refuses("sample", 10, "--design", "design.json", says=["design.json"])


USAGE = [
    (["fitt"], ["`fitt`", "`fit`"]),
    (["fit"], ["MODEL and DATA", "noisewright fit --help"]),
    (["fit", "model.toml", "x.csv", "--nose", "auto"], ["`--nose`", "`--noise`"]),
    (["fit", "model.toml", "x.csv", "--noise"], ["--noise needs a value", "noisewright fit --help"]),
    (["fit", "model.toml", "x.csv", "--covariance", "best"], ["robust or model", "`best`"]),
    (["fit", "model.toml", "x.csv", "--starts", "two"], ["--starts", "whole number", "`two`"]),
    (["fit", "model.toml", "x.csv", "--noise", "normal(0, -1)"], ["variance", "positive"]),
    (["fit", "model.toml", "x.csv", "--noise", "0.5*student + 0.5*normal(0, -1)"], ["variance", "positive"]),
    (["fit", "model.toml", "x.csv", "--chains", "--cluster", "x"], ["--chains", "--cluster"]),
    (["error", "model.toml", "--nu", "two"], ["--nu", "number", "`two`"]),
    (["error", "model.toml", "--accuracy", "-1"], ["--accuracy", "-1"]),
    (["error", "model.toml", "--threads", "-1"], ["--threads", "`-1`"]),
    (["error", "model.toml", "--format", "csv"], ["--data"]),
    (["error", "model.toml", "--noise", "normal(0, 1)", "--data", "x.csv"], ["--data", "normal(0, 1)"]),
    (["error", "model.toml", "more"], ["`more`", "too many"]),
    (["design", "model.toml", "--drop-missing"], ["--data"]),
    (["design", "model.toml", "--data", "x.csv", "--noise", "histogram(9, -3, 3)"], ["histogram", "data"]),
    (["sample"], ["N", "--noise"]),
    (["sample", "-5", "--noise", "normal(0, 1)"], ["N must be", "`-5`"]),
    (["sample", "5", "--noise", "normal(0, 1)", "--report", "page.html"], ["--report"]),
    (["sample", "5", "--noise", "normal(0, 1)", "--at", "a=1"], ["--model"]),
    (["sample", "5", "--noise", "data", "--model", "model.toml", "--nu", "2"], ["--nu", "`data`"]),
    (["sample", "5", "--noise", "normal(0, 1)", "--data", "x.csv"], ["--data"]),
    (["sample", "5", "--design", "x.json", "--at", "a=1"], ["--design"]),
    (["ratio", "x.csv", "x.csv", "--out", "r.csv"], ["--points"]),
    (["logz", "x.csv", "x.csv", "--power", "half"], ["--power", "`half`"]),
    (["logz", "--path", "--model", "model.toml", "--moves", "walk"], ["moves", "random-walk", "`walk`"]),
    (["logz", "x.csv", "x.csv", "--alpha", "log_g"], ["alpha", "log_g"]),
    (["evidence", "model.toml"], ["DRAWS"]),
    (["reproduce", "fig9"], ["`fig9`", "fig7"]),
    (["examples", "nothing"], ["`nothing`", "wind"]),
    (["examples", "--report", "page.html"], ["--report"]),
    (["completions", "csh"], ["bash", "`csh`"]),
    (["man", "--json"], ["--json"]),
    (["families", "--report", "page.html"], ["--report"]),
    (["--json"], ["command"]),
]


@pytest.mark.parametrize("arguments, says", USAGE)
def test_wrong_usage_is_one_sentence_and_status_2(command, arguments, says):
    command.model(GOOD)
    rows = "\n".join(str(0.1 * (i % 17) - 0.8) for i in range(60))
    (command.folder / "x.csv").write_text(f"x\n{rows}\n")
    command.refuses(*arguments, says=says)
    assert command.run(*arguments).returncode == 2


def test_threads_beyond_reason_are_not_started(command):
    name = command.model(GOOD)
    run = lambda threads: command.run("error", name, "--noise", "normal(0, 1)", "--json", "--threads", threads)
    assert run(5000).stdout == run(1).stdout != ""


def test_more_draws_than_memory(command):
    command.refuses("sample", 10**14, "--noise", "normal(0, 1)", says=["disk"])


def test_nothing_is_said_about_good_input(command):
    process = command.run("error", command.model(MODELS["mean"][0]), "--noise", "data", "--quiet")
    assert process.returncode == 0 and process.stderr == ""
