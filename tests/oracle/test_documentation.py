"""Every command in the documentation runs, and prints what the page says it prints."""

import os
import re
import shutil
import subprocess

import pytest
from conftest import BINARY, ROOT, TIMEOUT

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs" / "src").glob("*.md")), *sorted((ROOT / "examples").glob("*/README.md"))]
FENCE = re.compile(r"^```(?P<info>[^\n]*)\n(?P<body>.*?)^```\s*?$", re.MULTILINE | re.DOTALL)


def blocks(page):
    """(line, commands, expected output or None) of every ```sh block that is not marked `ignore`."""
    text = page.read_text()
    found = list(FENCE.finditer(text))
    for here, after in zip(found, [*found[1:], None]):
        if here["info"].split() != ["sh"]:
            continue
        expected = None
        if after and after["info"].strip() == "text" and not text[here.end() : after.start()].strip():
            expected = after["body"]
        yield text[: here.start()].count("\n") + 1, here["body"], expected


def cases():
    for page in PAGES:
        for line, body, expected in blocks(page):
            yield pytest.param(body, expected, id=f"{page.relative_to(ROOT)}:{line}")


def run(body, folder):
    """Runs a block in a copy of the examples."""
    shutil.copytree(ROOT / "examples", folder / "examples")
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", body],
        cwd=folder,
        env={**os.environ, "PATH": f"{BINARY.parent}:{os.environ['PATH']}", "COLUMNS": "100"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )


@pytest.mark.parametrize("body, expected", list(cases()))
def test_commands(tmp_path, body, expected):
    process = run(body, tmp_path)
    assert process.returncode == 0, process.stderr
    if expected is not None:
        assert process.stdout.split() == expected.split(), process.stdout


def test_there_is_something_to_run():
    assert len(list(cases())) >= 10


def links(page):
    return re.findall(r"\]\((?!https?:|#)([^)#]+)(?:#[^)]*)?\)", page.read_text())


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for link in links(page):
        assert (page.parent / link).exists(), link
