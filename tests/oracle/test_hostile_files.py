"""Files and names as they come from spreadsheets, broken transfers and killed runs: the same answer as from a plain file, or one sentence."""

import gzip
import os
import subprocess
import sys

import pytest
from conftest import BINARY, TIMEOUT

ROWS = [f"{(37 * i % 101) / 50 - 1:.3f}" for i in range(100)]
CLEAN = "x\n" + "".join(f"{row}\n" for row in ROWS)
NORMAL = 'variables = ["x"]\nfamily = "gaussian"\nparametrization = "moments"\n'
FIT = ["fit", "model.toml"]
EXACT = ["--noise", "exact"]


def beside(column, rows=ROWS, name="y", between=","):
    """The same rows in a second column."""
    return f"{name}{between}x\n" + "".join(f"{column}{between}{row}\n" for row in rows)


@pytest.fixture
def plain(command):
    """The command in a folder with the model and the plain file, and its answer to that."""
    command.model(NORMAL)
    (command.folder / "clean.csv").write_text(CLEAN)
    command.answer = command.json(*FIT, "clean.csv", *EXACT)["parameters"]
    return command


ALIKE = {
    "a byte order mark": b"\xef\xbb\xbf" + CLEAN.encode(),
    "line ends of Windows": CLEAN.replace("\n", "\r\n").encode(),
    "line ends of old spreadsheets": CLEAN.replace("\n", "\r").encode(),
    "quotes around everything": "".join(f'"{line}"\n' for line in CLEAN.splitlines()).encode(),
    "quotes with line ends": beside('"a\nb ""c""\r\n#d"').encode(),
    "a name with a line end": beside("1", name='"a\nb"').encode(),
    "another column twice": ("y,x,y\n" + "".join(f"1,{row},2\n" for row in ROWS)).encode(),
    "no last line end": CLEAN.rstrip("\n").encode(),
    "spaces": CLEAN.replace("x", "  x  ").encode(),
    "semicolons": beside("text", between=";").encode(),
    "Latin-1 in another column": beside("Größe").encode("latin1"),
    "gzip": gzip.compress(CLEAN.encode()),
}


@pytest.mark.parametrize("name", ALIKE)
def test_the_same_answer(plain, name):
    (plain.folder / "data.csv").write_bytes(ALIKE[name])
    assert plain.json(*FIT, "data.csv", *EXACT)["parameters"] == plain.answer


REFUSED = {
    "a spreadsheet error": (CLEAN + "#N/A\n", ["row 101", "#N/A"]),
    "a number beyond all": (CLEAN + "1e400\n", ["row 101", "1e400"]),
    "a decimal comma": (CLEAN + '"1,5"\n', ["row 101", "decimal comma"]),
    "a longer row": (CLEAN + "1,5\n", ["row 101", "2 fields"]),
    "a shorter row": (beside("1") + "3\n", ["row 101", "1 field"]),
    "the column twice": (beside("1", name="x"), ["more than one column `x`"]),
    "nothing": ("", ["is empty"]),
    "an open quote": (CLEAN + '"1\n2\n', ["line 102", "quote"]),
    "codes of a terminal": (CLEAN + "\x1b[31mred\n", ["\\u{1b}[31mred"]),
    "cut gzip": (gzip.compress(CLEAN.encode())[:-20], ["ends too early"]),
    "gzip with more after it": (gzip.compress(CLEAN.encode()) + b"garbage here", ["gzip"]),
    "packed twice": (gzip.compress(gzip.compress(CLEAN.encode())), ["binary"]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_one_sentence(plain, name):
    contents, says = REFUSED[name]
    (plain.folder / "data.csv").write_bytes(contents if isinstance(contents, bytes) else contents.encode())
    plain.refuses(*FIT, "data.csv", *EXACT, says=["data.csv", *says])


STAN = "# stan_version_major = 2\n# method = sample (Default)\nlp__,x\n" + "".join(f"-1.5,{row}\n" for row in ROWS)


def test_draws_of_a_run_that_was_killed_within_a_number(plain):
    """Of -0.260 nothing tells -0.26, which is the same, from -0.2, which is another draw."""
    (plain.folder / "draws.csv").write_text(STAN)
    assert plain.json(*FIT, "draws.csv", *EXACT)["parameters"]["m0"]["estimate"] == plain.answer["m0"]["estimate"]
    for cut in (1, 3):
        (plain.folder / "draws.csv").write_text(STAN[:-cut])
        plain.refuses(*FIT, "draws.csv", *EXACT, says=["draws.csv", "breaks off", "line 103"])


NAMES = ["two words.csv", "two\nlines.csv", "quote'\".csv", "a[1].csv", "*.csv", "\x1b[31mred.csv", "ünïcode.csv"]


@pytest.mark.parametrize("name", NAMES)
def test_odd_names(plain, name):
    (plain.folder / name).write_text(CLEAN)
    assert plain.json(*FIT, name, *EXACT)["parameters"] == plain.answer
    (plain.folder / name).write_text(CLEAN + "abc\n")
    sentence = plain.refuses(*FIT, name, *EXACT, says=["row 101", "`abc`"])
    assert "\x1b" not in sentence


@pytest.mark.parametrize("arguments", [["fit", "no\nsuch.toml", "clean.csv"], [*FIT, "no\nsuch.csv"], [*FIT, "clean.csv", "--out", "no\nsuch/fit.json"]])
def test_names_that_are_not_there(plain, arguments):
    plain.refuses(*arguments, *EXACT, says=["no\\nsuch"])


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="names that are no text")
@pytest.mark.parametrize(
    "words",
    [
        ["fit", "model.toml", "DATA", "--noise", "exact"],
        ["error", "model.toml", "--noise", "auto", "--data", "DATA"],
        ["evidence", "model.toml", "DATA", "--at", "m0=0,C00=0.3"],
        ["ratio", "DATA", "clean.csv", "--features", "linear"],
        ["sample", "5", "--noise", "normal", "--data", "DATA"],
    ],
    ids=lambda words: words[0],
)
def test_names_that_are_no_text(plain, words):
    name = b"no\xff\xfetext.csv"
    with open(os.path.join(os.fsencode(plain.folder), name), "wb") as file:
        file.write(CLEAN.encode())
    words = [name if word == "DATA" else word for word in words]
    process = subprocess.run(
        [str(BINARY), *words, "--json", "--quiet"], cwd=plain.folder, capture_output=True, timeout=TIMEOUT, check=False
    )
    assert process.returncode == 0, process.stderr


ENDLESS = ["sample 1000000 --noise 'normal(0, 1)'", "simulate fit.json 1000000", "density fit.json clean.csv", "families", "man", "--help"]


@pytest.mark.skipif(sys.platform == "win32", reason="a shell")
@pytest.mark.parametrize("words", ENDLESS)
def test_readers_that_have_had_enough(plain, words):
    plain.run(*FIT, "clean.csv", *EXACT, "--out", "fit.json")
    process = subprocess.run(
        ["bash", "-c", f"set -o pipefail; '{BINARY}' {words} | head -n 1"],
        cwd=plain.folder, capture_output=True, text=True, timeout=TIMEOUT, check=False,
    )
    assert (process.returncode, process.stderr) == (0, ""), process.stderr


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/dev/full")
@pytest.mark.parametrize("words", [["--help"], ["man"], ["families"], ["fit", "model.toml", "clean.csv", *EXACT, "--json"]], ids=lambda w: w[0])
def test_a_full_output_is_a_failure(plain, words):
    with open("/dev/full", "w") as full:
        process = subprocess.run(
            [str(BINARY), *words], cwd=plain.folder, stdout=full, stderr=subprocess.PIPE, text=True, timeout=TIMEOUT, check=False
        )
    assert process.returncode == 1
    assert process.stderr.startswith("error: writing failed") and len(process.stderr.splitlines()) == 1


@pytest.mark.skipif(sys.platform == "win32", reason="links and pipes of POSIX")
def test_places_where_nothing_can_be_written(plain):
    for out in ("clean.csv/fit.json", "none/fit.json"):
        sentence = plain.refuses(*FIT, "clean.csv", *EXACT, "--out", out, says=["there is no such folder"])
        assert ".noisewright" not in sentence
