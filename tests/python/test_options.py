"""Every option × door: the command's and the package's options are those of tests/doors/options.json, and both refuse alike.

An option that one door has and the table does not know fails here, and so does one that the table knows and no door has.
"""

import inspect
import json
import os
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

import noisewright as nw

ROOT = Path(__file__).resolve().parents[2]
BINARY = Path(os.environ.get("NOISEWRIGHT", ROOT / "target" / "debug" / "noisewright"))
TABLE = json.loads((ROOT / "tests" / "doors" / "options.json").read_text())
JOBS = TABLE["jobs"]

#: What every command takes and no result depends on.
EVERYWHERE = {"json", "report", "quiet", "threads", "help"}


def run(*words, cwd=None):
    return subprocess.run([str(BINARY), *words], cwd=cwd, capture_output=True, text=True, timeout=120, check=False)


def function(job):
    return nw.Noise.sample if job == "sample" else getattr(nw, job)


def flags_of(command):
    """The options in the command's help."""
    text = run(command, "--help").stdout
    return set(re.findall(r"^ +(?:-\w, )?--([a-z-]+)", text, re.MULTILINE)) - EVERYWHERE


@pytest.mark.parametrize("command", sorted({job["command"][0] for job in JOBS.values()}))
def test_the_command_has_the_options_of_the_table(command):
    listed = {"seed"}
    for job in JOBS.values():
        if job["command"][0] == command:
            listed |= {flag for flag in job["both"].values() if flag} | set(job["command_only"])
    assert flags_of(command) == listed


@pytest.mark.parametrize("job", JOBS)
def test_the_package_has_the_arguments_of_the_table(job):
    listed = set(JOBS[job]["both"]) | set(JOBS[job]["python_only"])
    assert set(inspect.signature(function(job)).parameters) == listed


@pytest.mark.parametrize("job", JOBS)
def test_every_argument_is_documented(job):
    text = inspect.getdoc(function(job)).replace("\n", " ")
    for name in set(JOBS[job]["both"]) | set(JOBS[job]["python_only"]) - {"self"}:
        assert re.search(rf"\b{name}\b[^:]*:", text), name


def test_every_flag_of_the_book_is_one():
    known = EVERYWHERE | {"version", "fine", "path", "states"}
    for command in {job["command"][0] for job in JOBS.values()}:
        known |= flags_of(command)
    # Other names of the same.
    known |= {"errors", "check-ratio"}
    book = "\n".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs" / "src").glob("*.md"))
    blocks = re.findall(r"noisewright (?:fit|ratio|information|error|design|logz|sample|evidence)[^\n`]*", book)
    used = {flag for block in blocks for flag in re.findall(r"(?<![\w-])--([a-z][a-z-]*)", block)}
    assert used - known == set() and len(used) > 20


MODEL = 'variables = ["x"]\nlog_density = "-a*x^2/2"\n[parameters]\na = { start = 1.0, lower = 0 }\n'
X = np.arange(60) % 13 / 4.0 - 1.5


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("options")
    (folder / "m.toml").write_text(MODEL)
    save = lambda name, header, rows: np.savetxt(folder / name, rows, delimiter=",", header=header, comments="")
    save("d.csv", "x,c", np.stack([X, np.arange(60) // 30], axis=1))
    save("e.csv", "x", X[::-1] + 0.3)
    save("f.csv", "log_f,log_noise,c", np.stack([-(X**2) / 2, -(X**2) / 3, np.arange(60) // 30], axis=1))
    save("g.csv", "log_f,log_noise", np.stack([-(X**2) / 2.1, -(X**2) / 3], axis=1)[::-1])
    save("s.csv", "u_1,u_2,state,c", np.stack([-(X**2) / 2, -(X**2) / 3, np.arange(60) // 30 + 1, np.arange(60) % 30 // 15], axis=1))
    return folder


def by_command(folder, job, options):
    """What the command answers: status and what it says."""
    words = {
        "fit": ["fit", "m.toml", "d.csv"],
        "ratio": ["ratio", "d.csv", "e.csv", "--columns", "x", "--features", "x"],
        "mutual_information": ["information", "s.csv", "--between", "u_1", "--and", "c"],
        "error": ["error", "m.toml"],
        "design": ["design", "m.toml"],
        "log_z": ["logz", "f.csv", "g.csv"],
        "log_z_states": ["logz", "s.csv", "--states", "u_*"],
        "log_z_path": ["logz", "--path", "--model", "m.toml"],
        "evidence": ["evidence", "m.toml", "d.csv"],
        "sample": ["sample", "--noise", "normal(0, 1)", "--json"],
    }[job]
    for name, value in options.items():
        if name == "n":
            words = [*words, str(value)]
            continue
        words = [*words, f"--{JOBS[job]['both'][name]}"]
        if name == "data":
            words = [*words, "d.csv"]
        elif name in ("chains", "chains_data") and value is True:
            words = [*words, "c"]
        elif isinstance(value, dict):
            words = [*words, ",".join(f"{key}={number}" for key, number in value.items())]
        elif value is not True:
            words = [*words, str(value)]
    done = run(*words, "--quiet", cwd=folder)
    return done.returncode, done.stderr


def by_package(job, options):
    """What the package answers: the exception, or none."""
    model = nw.Model.from_formula("-a*x^2/2", variables="x", parameters={"a": (1.0, 0, np.inf)})
    given = dict(options)
    if given.get("data") is True:
        given["data"] = X
    if given.get("chains_data") is True:
        given["chains_data"] = 2
    if given.get("chains") is True:
        given["chains"] = np.arange(60) % 30 // 15 if job == "log_z_states" else 2
    arguments = {
        "fit": (model, X),
        "ratio": (nw.Model.from_features(["x"], variables="x"), X, X[::-1] + 0.3),
        "mutual_information": (X, np.arange(60) % 7),
        "error": (model,),
        "design": (model,),
        "log_z": (-(X**2) / 2, -(X**2) / 3, -(X**2) / 2.1, -(X**2) / 3),
        "log_z_states": (np.stack([-(X**2) / 2, -(X**2) / 3]), [30, 30]),
        "log_z_path": (model,),
        "evidence": (model, X),
        "sample": (nw.Normal(0, 1),),
    }[job]
    try:
        function(job)(*arguments, **given)
    except nw.NoisewrightError as error:
        return error
    return None


CASES = [*TABLE["idle"], *TABLE["impossible"]]


@pytest.mark.parametrize("case", CASES, ids=[f"{case['job']} {json.dumps(case['options'])}" for case in CASES])
def test_what_has_no_effect_or_cannot_be_is_refused_in_both_doors(folder, case):
    job, options, says = case["job"], case["options"], case["says"].replace("_", "-")
    status, said = by_command(folder, job, options)
    assert status in (1, 2) and said.startswith("error: ") and says in said.replace("_", "-"), (status, said)
    assert "panicked" not in said and len(said.strip().splitlines()) == 1
    refused = by_package(job, options)
    assert refused is not None and says in str(refused).replace("_", "-"), refused


@pytest.mark.parametrize(
    "given",
    [{"var_names": ["x"]}, {"vectorized": False}, {"backend": "numpy"}, {"constrained": True}, {"transforms": {"x": "positive"}}],
)
def test_what_is_for_functions_is_refused_beside_a_model(given):
    model = nw.Model.from_formula("-a*x^2/2", variables="x", parameters={"a": 1.0})
    with pytest.raises(nw.InputError, match=f"`{next(iter(given))}` is for functions"):
        nw.evidence(model, X, **given)


def test_parameters_have_no_meaning_beside_a_function():
    with pytest.raises(nw.InputError, match="`at`"):
        nw.evidence(lambda x: -(x[:, 0] ** 2) / 2, X, at={"a": 1.0})


@pytest.mark.parametrize("job", [nw.error, nw.design])
def test_a_constant_has_no_meaning_where_the_model_is_integrated(job):
    model = nw.Model.from_formula("-a*x^2/2", variables="x", parameters={"a": 1.0})
    with pytest.raises(nw.InputError, match="`log_normalizer` has no meaning"):
        job(model, log_normalizer=0.0)
