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
        env={**os.environ, "PATH": f"{BINARY.parent}:{os.environ['PATH']}", "COLUMNS": "80"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )


def same(found, expected):
    """Whether two words are the same, as numbers if they are: processors round differently."""
    number = r"[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?"
    if re.sub(number, "#", found) != re.sub(number, "#", expected):
        return False
    pairs = zip(re.findall(number, found), re.findall(number, expected))
    # Certificates are rounding errors themselves: both must be tiny, no more.
    return all(float(a) == pytest.approx(float(b), rel=2e-5, abs=1e-9) for a, b in pairs)


@pytest.mark.parametrize("body, expected", list(cases()))
def test_commands(tmp_path, body, expected):
    process = run(body, tmp_path)
    assert process.returncode == 0, process.stderr
    if expected is not None:
        found, wanted = process.stdout.split(), expected.split()
        assert len(found) == len(wanted) and all(map(same, found, wanted)), process.stdout


def test_words_are_compared_as_numbers():
    assert same("(50%", "(50%") and same("1e-14", "3.5e-13") and same("normal(0,", "normal(0,")
    assert not same("(50%", "(51%") and not same("1e-14", "3.5e-6") and not same("js,", "kl,")


def test_there_is_something_to_run():
    assert len(list(cases())) >= 10


TABLE = re.compile(r"^(?P<rule>─+)\n.*\n─+\n(?P<rows>(?:.*\n)*?)─+\n", re.MULTILINE)


def pieces(text):
    """Tables that continue the one right above them: their rows have the same names."""
    found = list(TABLE.finditer(text))
    names = [[line.split()[0] for line in table["rows"].splitlines() if line.strip()] for table in found]
    return [
        after["rows"]
        for here, after, one, other in zip(found, found[1:], names, names[1:])
        if text[here.end() : after.start()] == "\n" and one == other
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_tables_fit_80_columns(page):
    for block in (found["body"] for found in FENCE.finditer(page.read_text())):
        assert not pieces(block), block
        for rule in (table["rule"] for table in TABLE.finditer(block)):
            assert len(rule) <= 80, block


def test_tables_in_pieces_are_seen():
    rule = "─" * 30 + "\n"
    one, other = (f"{rule}row   {name}\n{rule}a     1\nb     2\n{rule}" for name in ("mean", "error"))
    assert len(pieces(f"{one}\n{other}")) == 1 and not pieces(one)
    assert not pieces(f"{one}\nanother table\n{other}")


def links(page):
    return re.findall(r"\]\((?!https?:|#)([^)#]+)(?:#[^)]*)?\)", page.read_text())


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for link in links(page):
        assert (page.parent / link).exists(), link
