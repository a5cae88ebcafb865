"""A queue as the host of `noisewright block`, as the chapter has it: the numbers of one process, though a helper is lost."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cluster_data import rows

COMMAND = os.environ.get("NOISEWRIGHT", str(Path(__file__).parents[2] / "target" / "debug" / "noisewright"))
BLOCKS = str(Path(__file__).parents[2] / "examples" / "queue" / "blocks.py")
MODEL = "variables = ['x', 'y']\nfeatures = ['x', 'y', 'x^2', 'x*y', 'y^2']\n"

pytestmark = pytest.mark.skipif(not os.path.exists(COMMAND), reason="NOISEWRIGHT must name the command")


@contextmanager
def _started(*words: str, environment: dict[str, str], folder: Path) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen([sys.executable, BLOCKS, *words], stdout=subprocess.PIPE, text=True, env=environment, cwd=folder)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def _fit(folder: Path, environment: dict[str, str], *words: str) -> dict[str, object]:
    command = [COMMAND, "fit", "m.toml", "rows.csv", "--nu", "1", "--json", *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, env=environment)
    assert done.returncode == 0, done.stderr
    found: dict[str, object] = json.loads(done.stdout)
    return {**found, "passes": None}


@pytest.mark.long
def test_a_queue_of_blocks(tmp_path: Path) -> None:
    (tmp_path / "m.toml").write_text(MODEL)
    lines = "\n".join(f"{x!r},{y!r}" for x, y in rows(270_000).tolist())
    (tmp_path / "rows.csv").write_text(f"x,y\n{lines}\n")
    environment = {**os.environ, "NOISEWRIGHT": COMMAND, "NOISEWRIGHT_QUEUE_KEY": "secret", "NOISEWRIGHT_QUEUE_PATIENCE": "5"}
    expected = _fit(tmp_path, environment)
    with _started("board", "0", environment=environment, folder=tmp_path) as board:
        assert board.stdout is not None
        where = f"127.0.0.1:{int(board.stdout.readline())}"
        helper = ("helper", where, "m.toml", "rows.csv", "--nu", "1")
        with _started(*helper, environment=environment, folder=tmp_path) as first:
            threading.Timer(2.0, lambda: os.kill(first.pid, signal.SIGKILL)).start()
            with _started(*helper, environment=environment, folder=tmp_path):
                host = f"{sys.executable} {BLOCKS} ask {where}"
                assert _fit(tmp_path, environment, "--workers", "2", "--worker-command", host) == expected
                assert first.wait(timeout=10) == -signal.SIGKILL
