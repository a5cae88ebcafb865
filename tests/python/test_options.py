"""Every option × door: the options of the command, the package and R are those of tests/doors/options.json, with the same
defaults, and both refuse alike.

An option that one door has and the table does not know fails here, and so does one that the table knows and no door has.
R's arguments are read from its manual pages, which roxygen makes of its functions.
"""

import ast
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
    if job == "sample":
        return nw.Noise.sample
    owner, _, name = job.rpartition(".")
    return getattr(getattr(nw, owner) if owner else nw, name)


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


def test_every_command_is_in_the_table():
    listed = set(re.findall(r"^  ([a-z]+) ", run("--help").stdout.partition("Commands:")[2], re.MULTILINE))
    # Workers of a fit take its options; the others show what there is.
    known = {job["command"][0] for job in JOBS.values()} | {"block", "reproduce", "families", "completions", "man", "help"}
    assert {"fit", "lab", "compare"} <= listed and listed <= known


def test_every_function_of_the_package_is_in_the_table():
    others = {
        "families": "a list", "example_names": "a list", "load": "a file that was saved",
        "bayes_factor": "two results", "compare_evidence": "results", "mbar": "another name of `log_z_states`",
        "simulate_design": "data sets that a function of Python draws",
    }
    public = {name for name in nw.__all__ if inspect.isfunction(getattr(nw, name))}
    assert public - set(JOBS) == set(others)


@pytest.mark.parametrize("job", JOBS)
def test_the_package_has_the_arguments_of_the_table(job):
    listed = set(JOBS[job]["both"]) | set(JOBS[job]["python_only"])
    assert set(inspect.signature(function(job)).parameters) == listed


@pytest.mark.parametrize("job", JOBS)
def test_every_argument_is_documented(job):
    text = inspect.getdoc(function(job)).replace("\n", " ")
    for name in set(JOBS[job]["both"]) | set(JOBS[job]["python_only"]) - {"self"}:
        # Methods of results are described in sentences.
        wanted = rf"`{name}`|\b{name}\b[^:]*:" if "." in job else rf"\b{name}\b[^:]*:"
        assert re.search(wanted, text) or name in ("x", "seed") and "." in job, name


def defaults_of_the_package(job):
    """The defaults of the package's arguments; those that must be given have none."""
    parameters = inspect.signature(function(job)).parameters.values()
    return {p.name: p.default for p in parameters if p.default is not inspect.Parameter.empty}


def flag_defaults(command):
    """The defaults in the command's help, by flag."""
    found = {}
    for text in re.split(r"^ +(?:-\w, )?--", run(command, "--help").stdout, flags=re.MULTILINE)[1:]:
        default = re.search(r"\[default: ([^\]]*)\]", text)
        found[re.match(r"[a-z-]+", text).group()] = None if default is None else default.group(1)
    return found


#: Flags whose default has another word than the package's.
SAID_OTHERWISE = {("ratio", "bridges"), ("mutual_information", "bridges")}


@pytest.mark.parametrize("job", JOBS)
def test_the_defaults_of_the_command_are_those_of_the_package(job):
    flags, ours = flag_defaults(JOBS[job]["command"][0]), defaults_of_the_package(job)
    for name, flag in JOBS[job]["both"].items():
        theirs = flags.get(flag)
        if theirs is None or name not in ours or ours[name] is None or (job, name) in SAID_OTHERWISE:
            continue
        assert str(ours[name]) == theirs or float(ours[name]) == float(theirs), (name, ours[name], theirs)


def fields_of(job):
    """The settings of the library's type, or the arguments of its function."""
    entry = TABLE["rust"][job]
    text = (ROOT / "crates" / "noisewright" / "src" / entry["file"]).read_text(encoding="utf-8")
    # A job without a type of settings has a builder, or is a function.
    wanted = rf"^pub struct {entry['type']}(?:<[^>]*>)? \{{(.*?)^\}}|^pub fn {entry['type']}\((.*?)\)"
    body = next(part for part in re.search(wanted, text, re.MULTILINE | re.DOTALL).groups() if part)
    named = set(re.findall(r"(?:^|, )\s*(?:pub )?(\w+): ", body, re.MULTILINE))
    return named - {"cancel", "progress", "threads", "more", "replicates"}


@pytest.mark.parametrize("job", TABLE["rust"])
def test_every_field_of_the_settings_type_is_an_option(job):
    """The library's type has a field for each option: one that the doors do not have fails here."""
    entry, fields = TABLE["rust"][job], fields_of(job)
    arguments = set(inspect.signature(function(job)).parameters)
    stands_for = {name for names in entry["stands_for"].values() for name in names}
    assert len(fields) > 2 and stands_for <= arguments
    assert fields - set(entry["stands_for"]) - set(entry["rust_only"]) <= arguments


def r_arguments(page, name):
    """R's arguments with their defaults, from the usage of a manual page."""
    text = (ROOT / "r" / "man" / f"{page}.Rd").read_text(encoding="utf-8").partition("\\usage{")[2]
    rest = text.partition(f"{name}(")[2]
    found, depth, start = {}, 0, 0
    for place, letter in enumerate(rest):
        depth += (letter in "([{") - (letter in ")]}")
        if depth < 0 or (depth == 0 and letter == ","):
            argument, _, default = rest[start:place].partition("=")
            found[argument.strip()] = default.strip()
            start = place + 1
        if depth < 0:
            return found
    raise AssertionError(f"{name} is not in {page}")


def as_python(default):
    """A default of R's in Python: the first of several words is the one that holds."""
    first = re.sub(r"^c\(([^,]*),.*\)$", r"\1", default)
    return ast.literal_eval({"NULL": "None", "TRUE": "True", "FALSE": "False", "NA": "None"}.get(first, first))


#: What R says otherwise: states are counted from 1, and `NULL` or `NA` leave the choice to the library.
R_SAYS = {("log_z_states", "reference"), ("log_z", "weight_by_ess"), ("log_z", "powers"), ("evidence", "vectorized")}


@pytest.mark.parametrize("job", TABLE["r"])
def test_r_has_the_arguments_of_the_table_with_the_same_defaults(job):
    entry = TABLE["r"][job]
    theirs, ours = r_arguments(entry["page"], entry["function"]), defaults_of_the_package(job)
    assert set(theirs) == set(entry["same"]) | set(entry["own"])
    assert set(inspect.signature(function(job)).parameters) == set(entry["same"]) | set(entry["without"])
    for name in entry["same"]:
        if theirs[name] and name in ours and (job, name) not in R_SAYS:
            assert as_python(theirs[name]) == ours[name], name


def test_every_job_of_r_is_in_the_table():
    text = (ROOT / "r" / "NAMESPACE").read_text(encoding="utf-8")
    exported = set(re.findall(r"^export\((\w+)\)", text, re.MULTILINE))
    # Generics of other packages, what is asked of results, and the model itself.
    others = {"augment", "glance", "tidy", "bf", "logml", "post_prob", "error_measures", "compare_evidence", "derived", "wald", "nce_model"}
    jobs = {re.sub(r"\\method\{(\w+)\}.*", r"\1", entry["function"]) for entry in TABLE["r"].values()}
    assert exported - others == jobs - {"simulate"}


def test_every_flag_of_the_book_is_one():
    known = EVERYWHERE | {"version", "fine", "path", "states"}
    for command in {job["command"][0] for job in JOBS.values()}:
        known |= flags_of(command)
    # Other names of the same.
    known |= {"errors", "check-ratio"}
    book = "\n".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs" / "src").glob("*.md"))
    blocks = re.findall(r"noisewright (?:fit|ratio|information|error|design|logz|sample|evidence|compare|density|simulate|lab|examples)[^\n`]*", book)
    used = {flag for block in blocks for flag in re.findall(r"(?<![\w-])--([a-z][a-z-]*)", block)}
    assert used - known == set() and len(used) > 20


MODEL = 'variables = ["x"]\nlog_density = "-a*x^2/2"\n[parameters]\na = { start = 1.0, lower = 0 }\n'
X = np.arange(60) % 13 / 4.0 - 1.5


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_files(tmp_path_factory.mktemp("options"))


def write_files(folder):
    """A model and data for every job."""
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
        words = [*words, "--features" if name == "model" else f"--{JOBS[job]['both'][name]}"]
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
    if given.get("model") == "quadratic":
        given["model"] = nw.Model.from_features(["x0*y0"], variables=["x0", "y0"])
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
    status, said, refused = refusals(folder, case)
    assert refused_alike(case, status, said, refused), (status, said, refused)


def refusals(folder, case):
    """The status and the sentence of the command, and the package's exception."""
    return *by_command(folder, case["job"], case["options"]), by_package(case["job"], case["options"])


def refused_alike(case, status, said, refused):
    """One sentence in both doors, about the same thing; options have dashes in one and underscores in the other."""
    says = case["says"].replace("_", "-")
    one = status in (1, 2) and said.startswith("error: ") and "panicked" not in said and len(said.strip().splitlines()) == 1
    return one and says in said.replace("_", "-") and refused is not None and says in str(refused).replace("_", "-")


@pytest.mark.parametrize("case", TABLE["idle_flags"], ids=[case["words"] for case in TABLE["idle_flags"]])
def test_flags_without_effect_are_refused(folder, case):
    done = run(*case["words"].split(), cwd=folder)
    assert done.returncode == 2 and done.stderr.startswith("error: ") and case["says"] in done.stderr, done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


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
