"""The command and the package agree: every input of tests/doors/cases.json through both, equal to the bit.

The same list is run through the Rust library in crates/noisewright-cli/tests/doors.rs.
"""

import json
import math
import os
import subprocess
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import quad

import noisewright as nw

ROOT = Path(__file__).resolve().parents[2]
BINARY = Path(os.environ.get("NOISEWRIGHT", ROOT / "target" / "debug" / "noisewright"))
DOORS = ROOT / "tests" / "doors"
LIST = json.loads((DOORS / "cases.json").read_text())

#: The jobs of tests/doors/options.json by the list's commands, where they have another name.
JOBS = {"logz": "log_z", "states": "log_z_states", "path": "log_z_path", "information": "mutual_information"}

#: The command's options by the package's names, of every job.
FLAGS = {name: job["both"] for name, job in json.loads((DOORS / "options.json").read_text())["jobs"].items()}

#: What one door alone can know or say: names of files, passes over them, how many chains a file says it holds, the points of a
#: ratio that a file was asked for, and the words for a remedy, in which each door has its settings.
OWN = {"model", "data", "dropped", "passes", "features", "chains", "points"}


def path(name):
    return DOORS / "data" / f"{name}.csv"


def columns(name):
    """The columns of a data file by name."""
    names = path(name).read_text().split("\n", 1)[0].split(",")
    values = np.loadtxt(path(name), delimiter=",", skiprows=1, ndmin=2)
    return dict(zip(names, values.T))


def rows(name, model):
    """The columns of the model's variables."""
    return {variable: columns(name)[variable] for variable in model.variables}


def flags(case):
    """The command's words for the package's arguments."""
    words, named = [], FLAGS[JOBS.get(case["command"], case["command"])]
    for name, value in case["options"].items():
        # Of chains the list names the column, of states the command does.
        flag = "--" + (named.get(name) or name.replace("_", "-"))
        if case["command"] == "sample" and name in ("n", "quiet"):
            words += [str(value)] if name == "n" else ["--draws", "quiet"]
        elif value is True:
            words.append(flag)
        elif name == "at":
            words += [flag, ",".join(f"{key}={number}" for key, number in value.items())]
        elif isinstance(value, list):
            words += [word for entry in value for word in (flag, str(entry))]
        else:
            words += [flag, str(value)]
    return words


def by_command(case, folder):
    """The command's answer: its object, or the sentence with which it refuses."""
    command, words = case["command"], flags(case)
    model = []
    if "model" in case or "model_text" in case:
        (folder / "model.toml").write_text(text(case))
        model = ["model.toml"]
    data = [str(path(case["data"]))] if "data" in case else []
    if command == "fit":
        words = ["fit", *model, *data, *words, *(["--stream"] if case.get("stream") else [])]
    elif command == "ratio":
        words = ["ratio", *data, str(path(case["second"])), *features(case, folder), *words]
    elif command == "information":
        between, and_ = (",".join(side) for side in case["between"])
        about = ["--features", ",".join(nw.Model.from_file(folder / "model.toml").parameters)] if model else []
        words = ["information", *data, "--between", between, "--and", and_, *about, *words]
    elif command in ("error", "design"):
        words = [command, *model, *(["--data", *data] if data else []), *words]
    elif command == "logz":
        words = ["logz", *data, str(path(case["noise_draws"])), *words]
    elif command == "states":
        words = ["logz", *data, "--states", "u_*", "--state-column", "state", *words]
    elif command == "path":
        words = ["logz", "--path", "--model", *model, *words]
    elif command == "sample":
        words = ["sample", "--noise", case["noise"], *([] if "quiet" in case["options"] else ["--draws", "random"]), *words]
    else:
        words = [command, *model, *data, *words]
    run = subprocess.run(
        [str(BINARY), *words, "--json", "--quiet"], cwd=folder, capture_output=True, text=True, timeout=300, check=False
    )
    answer = json.loads(run.stdout) if run.stdout else None
    if command == "sample" and answer is not None:
        # The package gives an array, which does not say how it was made.
        answer = {"draws": answer["draws"]}
    return answer, run.stderr.removeprefix("error: ").strip() if run.returncode else None


def features(case, folder):
    """The command's words for what a ratio is made of."""
    if "columns" in case:
        return ["--columns", ",".join(case["columns"])]
    model = nw.Model.from_file(folder / "model.toml")
    return ["--features", ",".join(model.parameters), "--columns", ",".join(model.variables)]


def code_of(case):
    """The package's code of a refusal: the library's, save for what it refuses in its own words before the library is asked."""
    return case.get("package_code", case["code"])


def text(case):
    return case.get("model_text") or LIST["models"][case["model"]]


def by_package(case, folder):
    """The package's answer: its object, its refusal with its code, and its warnings."""
    try:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            result = call(case, folder)
    except nw.NoisewrightError as error:
        return None, (str(error), error.code), []
    answer = result if isinstance(result, dict) else result.to_dict()
    return answer, None, [str(warning.message) for warning in told]


def call(case, folder):
    command, options = case["command"], dict(case["options"])
    model = None
    if "model" in case or "model_text" in case:
        (folder / "own.toml").write_text(text(case))
        model = nw.Model.from_file(folder / "own.toml")
    if command == "fit":
        return fit(case, model, options)
    if command == "ratio":
        first, second = columns(case["data"]), columns(case["second"])
        if "columns" in case:
            first, second = ({name: sample[name] for name in case["columns"]} for sample in (first, second))
        return nw.ratio(model, first, second, **options)
    if command == "information":
        x, y = ({name: columns(case["data"])[name] for name in side} for side in case["between"])
        return nw.mutual_information(x, y, model=model, **options)
    if command == "error":
        return nw.error(model, data=rows(case["data"], model) if "data" in case else None, **options)
    if command == "design":
        return nw.design(model, rows(case["data"], model) if "data" in case else None, **options)
    if command == "logz":
        data, noise = columns(case["data"]), columns(case["noise_draws"])
        if "chain" in options:
            options["chains_data"] = lengths(data[options.pop("chain")])
        return nw.log_z(data["log_f"], data["log_noise"], noise["log_f"], noise["log_noise"], **options)
    if command == "states":
        data = columns(case["data"])
        names = ["u_1", "u_2", "u_3"]
        log_f = np.array([data[name] for name in names])
        if "reference" in options:
            options["reference"] = names.index(options["reference"])
        return nw.log_z_states(log_f, origin=(data["state"] - 1).astype(int).tolist(), names=names, **options)
    if command == "path":
        return nw.log_z_path(model, **options)
    if command == "sample":
        return sample(nw.Noise(case["noise"]), options)
    if "chains" in options:
        options["chains"] = lengths(columns(case["data"])[options["chains"]])
    return nw.evidence(model, rows(case["data"], model), **options)


def sample(noise, options):
    """Draws with their log-densities, as the command has them."""
    draws = noise.sample(**options)
    draws = draws.reshape(len(draws), 1) if draws.ndim == 1 else draws
    names = ["x"] if draws.shape[1] == 1 else [f"x{j}" for j in range(draws.shape[1])]
    log_density = noise.log_density(draws).tolist() if len(draws) else []
    return {"draws": {**dict(zip(names, draws.T.tolist())), "log_density": log_density}}


def lengths(labels):
    """How many rows each chain has, of chains one after the other."""
    return [int(count) for count in np.unique(labels, return_counts=True)[1]]


def fit(case, model, options):
    if case.get("stream"):
        return nw.fit(model, path(case["data"]), **options)
    data = columns(case["data"])
    if "chains" in options:
        options["chains"] = lengths(data[options["chains"]])
    return nw.fit(model, data, **options)


def differences(first, second, place=""):
    """Where two answers differ, the first being the command's, whose fields the second must have."""
    if isinstance(first, dict) and isinstance(second, dict):
        for key in first:
            if (place == "" and key in OWN) or key == "suggestion":
                continue
            if key not in second:
                yield f"{place}/{key} is missing"
            else:
                yield from differences(first[key], second[key], f"{place}/{key}")
    elif isinstance(first, list) and isinstance(second, list):
        if len(first) != len(second):
            yield f"{place}: {len(first)} and {len(second)} entries"
        for index, (one, two) in enumerate(zip(first, second)):
            yield from differences(one, two, f"{place}[{index}]")
    elif not same(first, second):
        yield f"{place}: {first!r} and {second!r}"


def same(first, second):
    """Equal to the bit; a number that is none is null in JSON."""
    if isinstance(first, bool) or isinstance(second, bool):
        return first is second
    if isinstance(second, float) and math.isnan(second):
        return first is None or (isinstance(first, float) and math.isnan(first))
    return first == second


@pytest.mark.parametrize("case", LIST["cases"], ids=[case["name"] for case in LIST["cases"]])
def test_the_doors_agree(case, tmp_path):
    assert BINARY.exists(), f"{BINARY} is missing: build it with cargo build -p noisewright-cli"
    object_, sentence = by_command(case, tmp_path)
    answer, refusal, told = by_package(case, tmp_path)
    if "refused" in case:
        assert sentence is not None and case["refused"] in sentence, (sentence, object_)
        assert refusal is not None and case["refused"] in refusal[0], (refusal, answer)
        assert refusal[1] == code_of(case), refusal
        return
    if "no_answer" in case:
        assert refusal is None, refusal
        # The gravest warning, with its settings in the words of the door.
        gravest = answer["diagnostics"]["warnings"][0]
        assert gravest["code"] == case["code"] and case["no_answer"] in gravest["sentence"], gravest
        assert sentence is not None and sentence.startswith(gravest["sentence"] + "; "), sentence
        assert answer["no_answer"] == f"{gravest['sentence']}; {gravest['suggestion']}" and answer["no_answer"] in told
        return
    assert refusal is None, refusal
    assert object_ is not None, sentence
    found = list(differences(object_, answer))
    assert not found, "\n".join(found[:20])


def test_a_narrow_peak_far_away_is_found_in_both_doors(tmp_path):
    """Its place stands in the formula. The noise has no density there, so that only the other part of the integral counts:
    with ν = 1 the error of log Z is 2 (1/I − 2), I = ∫ p q / (p + q)."""
    constant = math.sqrt(2 * math.pi) + 4000 * math.sqrt(math.pi / 5000)

    def harmonic(x):
        p, q = math.exp(-x * x / 2) / constant, math.exp(-x * x / 8) / math.sqrt(8 * math.pi)
        return p * q / (p + q)

    expected = 2 * (1 / quad(harmonic, -30, 30, epsabs=1e-14, epsrel=1e-13)[0] - 2)
    [case] = [case for case in LIST["cases"] if case["name"] == "a narrow peak far away"]
    (object_, _), (answer, _, _) = by_command(case, tmp_path), by_package(case, tmp_path)
    assert object_["error"] == pytest.approx(expected, rel=1e-9) and round(expected, 2) == 81.01
    assert answer["error"] == object_["error"]


def test_the_list_is_long_and_says_something():
    """At least 150 inputs; each kind of answer among them."""
    cases = LIST["cases"]
    assert len(cases) >= 150 and len({case["name"] for case in cases}) == len(cases)
    assert {case["command"] for case in cases} == {
        *("fit", "ratio", "error", "design", "logz", "states", "path", "evidence", "information", "sample")
    }
    # What says nothing of a refusal would agree with every one.
    for case in cases:
        ends = [case[end] for end in ("refused", "no_answer") if end in case]
        assert len(ends) <= 1 and all(ends) and bool(ends) == bool(case.get("code")), case["name"]
    settings = {name for case in cases for name in case["options"]}
    assert settings >= {"basis", "bridges", "penalty", "refit_selected", "choices", "strata", "interval", "bootstrap", "cross_validate"}
    assert sum("refused" in case for case in cases) >= 10 and sum("no_answer" in case for case in cases) >= 3
