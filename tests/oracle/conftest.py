"""What the tests share: the built command, run in a temporary folder."""

import json
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BINARY = Path(os.environ.get("NOISEWRIGHT", ROOT / "target" / "debug" / "noisewright"))
TIMEOUT = 120

# A run that was started in the background ignores Ctrl-C, and so would the programs that it starts.
signal.signal(signal.SIGINT, signal.default_int_handler)


class Command:
    """The command in one folder, to which model files are written."""

    def __init__(self, folder):
        self.folder = folder

    def model(self, text, name="model.toml"):
        """Writes a model file; gives its name."""
        (self.folder / name).write_text(text)
        return name

    def run(self, *arguments, stdin=None):
        """Runs it; gives the finished process with text output."""
        return subprocess.run(
            [str(BINARY), *map(str, arguments)],
            cwd=self.folder,
            input=stdin,
            stdin=None if stdin is not None else subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            check=False,
        )

    def json(self, *arguments):
        """Runs it with --json; gives the object, which must be all of standard output."""
        process = self.run(*arguments, "--json")
        assert process.returncode == 0, process.stderr
        return json.loads(process.stdout)

    def refuses(self, *arguments, stdin=None, says=()):
        """Runs it expecting one plain sentence and status 1 or 2; gives the sentence."""
        process = self.run(*arguments, stdin=stdin)
        assert process.returncode in (1, 2), (process.returncode, process.stdout, process.stderr)
        assert process.stdout == ""
        lines = process.stderr.rstrip("\n").split("\n")
        assert len(lines) == 1, process.stderr
        sentence = lines[0]
        assert sentence.startswith("error: ")
        assert not re.search(r"panick|backtrace|RUST_|unwrap|\.rs:\d", sentence), sentence
        for part in says:
            assert part in sentence, sentence
        return sentence


@pytest.fixture
def command(tmp_path):
    assert BINARY.exists(), f"{BINARY} is missing: build it with cargo build -p noisewright-cli"
    return Command(tmp_path)


def pytest_configure():
    os.environ.pop("RUST_BACKTRACE", None)
