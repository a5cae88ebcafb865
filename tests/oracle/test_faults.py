"""When the disk is full, a file vanishes or a run is interrupted: a sentence, and no half-written file."""

import os
import resource
import signal
import subprocess
import sys
import time

import pytest
from conftest import BINARY, ROOT, TIMEOUT

QUARTIC = str(ROOT / "examples" / "quartic" / "model.toml")
FAITHFUL = [str(ROOT / "examples" / "old-faithful" / name) for name in ("model.toml", "faithful.csv")]


def small_disk():
    """No file may grow beyond some kilobytes, as on a full disk."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))


def start(arguments, **more):
    command = [str(BINARY), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False, **more)


WRITING = [
    ("draws.csv", ["sample", "100000", "--noise", "normal(0, 1)", "--out"]),
    ("draws.parquet", ["sample", "100000", "--noise", "normal(0, 1)", "--out"]),
    ("page.html", ["error", QUARTIC, "--noise", "normal(0, 4)", "--report"]),
    ("page.html", ["fit", *FAITHFUL, "--report"]),
]


@pytest.mark.skipif(sys.platform == "win32", reason="limits of POSIX")
@pytest.mark.parametrize("name, arguments", WRITING, ids=[a[0] + "-" + n for n, a in WRITING])
def test_a_full_disk_leaves_nothing(tmp_path, name, arguments):
    process = start([*arguments, str(tmp_path / name)], preexec_fn=small_disk)
    assert process.returncode == 1, process.stderr
    sentence = process.stderr.strip().splitlines()[-1]
    assert name in sentence and "cannot" in sentence, process.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name, arguments", WRITING[:1])
def test_a_file_that_was_there_stays_when_the_disk_is_full(tmp_path, name, arguments):
    (tmp_path / name).write_text("precious")
    assert start([*arguments, str(tmp_path / name)], preexec_fn=small_disk).returncode == 1
    assert (tmp_path / name).read_text() == "precious"


def has_unnamed_files(folder):
    """Whether the file system has files without a name, as those of Linux do."""
    try:
        os.close(os.open(folder, os.O_TMPFILE | os.O_WRONLY))
    except (AttributeError, OSError):
        return False
    return True


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_an_interrupted_run_leaves_no_file(tmp_path, how):
    target = tmp_path / "draws.csv"
    command = [str(BINARY), "sample", "20000000", "--noise", "normal(0, 1)", "--out", str(target)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(0.5)
    process.send_signal(how)
    assert process.wait(timeout=TIMEOUT) == -how
    assert not target.exists()
    # Nor half of one beside it.
    assert not has_unnamed_files(tmp_path) or list(tmp_path.iterdir()) == []


def test_a_full_standard_output_is_a_sentence():
    with open("/dev/full", "w") as full:
        process = subprocess.run(
            [str(BINARY), "sample", "1000", "--noise", "normal(0, 1)"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=TIMEOUT,
            check=False,
        )
    assert process.returncode == 1
    assert "standard output" in process.stderr and len(process.stderr.strip().splitlines()) == 1


def test_a_closed_pipe_ends_quietly():
    command = f"{BINARY} sample 200000 --noise 'normal(0, 1)' | head -n 1"
    process = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=TIMEOUT, check=False)
    assert process.stdout == "x,log_density\n" and "panic" not in process.stderr


def test_a_file_removed_while_streaming_is_named(tmp_path):
    data = tmp_path / "many.csv"
    data.write_text("x\n" + "".join(f"{(i * 37 % 1000) / 250 - 2}\n" for i in range(400_000)))
    command = [str(BINARY), "fit", FAITHFUL[0], str(data), "--stream", "--nu", "1"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(0.15)
    data.unlink()
    _, stderr = process.communicate(timeout=TIMEOUT)
    # It may have been fast enough; if not, the file is named.
    assert process.returncode in (0, 1)
    assert process.returncode == 0 or "many.csv" in stderr


def little_memory(megabytes):
    """As after `ulimit -v`: so much address space in all."""
    return lambda: resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))


SIX = """variables = ["a", "b", "c", "d", "e", "f"]
log_density = "-(a^2 + b^2 + c^2 + d^2 + e^2 + f^2)/2 - m*a^4"
[parameters]
m = { start = 0.1, lower = 0 }
"""

LARGE = {
    "sample json": ["sample", "100000000", "--noise", "normal(0, 1)", "--json"],
    "sample parquet": ["sample", "100000000", "--noise", "normal(0, 1)", "--out", "draws.parquet"],
    "error": ["error", "six.toml", "--noise", "normal(0, 2)", "--draws", "20000000"],
    "design": ["design", "six.toml", "--draws", "20000000"],
    "path": ["logz", "--path", "--model", "six.toml", "--draws", "40000000"],
    "evidence": ["evidence", "six.toml", "draws.csv", "--noise-draws", "200000000"],
    "fit": ["fit", "normal.toml", "rows.npy"],
    "fit exact": ["fit", "normal.toml", "rows.npy", "--noise", "exact"],
    "ratio": ["ratio", "rows.npy", "more.npy"],
    "logz": ["logz", "pair.npy", "pair.npy"],
    "logz model": ["logz", "draws.csv", "--model", "six.toml", "--noise", "normal(0, 1)", "--draws", "60000000"],
    "states": ["logz", "states.npy", "--states", "x0,x1,x2,x3", "--state-column", "x4"],
}


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """Files of 32 MB."""
    import numpy as np

    folder = tmp_path_factory.mktemp("large")
    (folder / "six.toml").write_text(SIX)
    (folder / "normal.toml").write_text('variables = ["x"]\nfeatures = ["x", "x^2"]\n')
    rng = np.random.default_rng(1)
    np.savetxt(folder / "draws.csv", rng.normal(size=(400, 6)), delimiter=",", header="a,b,c,d,e,f", comments="")
    for name, columns in {"rows": 1, "more": 1, "pair": 2, "states": 5}.items():
        values = np.tile(rng.normal(size=(20_000, columns)), (200 // columns, 1))
        values[:, -1] = np.arange(len(values)) % 4 + 1 if name == "states" else values[:, -1]
        np.save(folder / f"{name}.npy", values)
    return folder


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits and files of Linux")
@pytest.mark.parametrize("name", LARGE)
def test_too_little_memory_is_a_sentence(large, name):
    """Files of 32 MB in 60 MB, of which the program itself takes ten and a copy as much as the file, and counts in 600 MB."""
    small = any(word.endswith(".npy") for word in LARGE[name])
    process = start(LARGE[name], cwd=large, preexec_fn=little_memory(60 if small else 600))
    assert process.returncode == 1, (process.returncode, process.stderr[-300:])
    sentence = process.stderr.strip()
    assert sentence.startswith("error: ") and "\n" not in sentence and "memory" in sentence, sentence
    assert "MB" in sentence or "GB" in sentence, sentence
    if name.startswith("fit"):
        assert "--stream" in sentence, sentence


def peak(arguments, folder):
    """The largest memory that a run held, in megabytes."""
    process = subprocess.Popen([str(BINARY), *arguments], cwd=folder, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    assert status == 0
    return usage.ru_maxrss / 1024


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="units of Linux")
def test_draws_are_written_as_they_are_drawn(tmp_path):
    command = ["--noise", "normal(0, 1)", "--out", "/dev/null"]
    few, many = (peak(["sample", count, *command], tmp_path) for count in ("1000", "4000000"))
    # Four million rows of two numbers are 64 MB; some blocks of them are held at a time.
    assert many < few + 40, (few, many)


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.alone
@pytest.mark.parametrize("after", [0.05, 0.4])
@pytest.mark.parametrize(
    "arguments",
    [
        ["sample", "100000000", "--noise", "normal(0, 1)"],
        ["logz", "--path", "--model", "six.toml", "--draws", "400000"],
        ["design", "six.toml", "--draws", "3000000"],
    ],
    ids=lambda a: a[0],
)
def test_ctrl_c_ends_the_command_at_once(tmp_path, arguments, after):
    (tmp_path / "six.toml").write_text(SIX)
    command = [str(BINARY), *arguments]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    time.sleep(after)
    process.send_signal(signal.SIGINT)
    sent = time.monotonic()
    process.communicate(timeout=TIMEOUT)
    # A shell says 130.
    assert process.returncode == -signal.SIGINT and time.monotonic() - sent < 1.0
