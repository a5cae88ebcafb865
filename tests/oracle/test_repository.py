"""What CONTRIBUTING.md asks of every file, and that crates ask for nothing that they do not use."""

import re
import subprocess

import pytest
from conftest import ROOT

tomllib = pytest.importorskip("tomllib")

MOST_LINES = 600


def tracked(*endings):
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode != 0:
        pytest.skip("not a clone of the repository")
    return [ROOT / name for name in listed.stdout.splitlines() if name.endswith(endings) and (ROOT / name).exists()]


def test_files_hold_one_concept():
    lengths = {path: path.read_text().count("\n") for path in tracked(".rs", ".py", ".js", ".R")}
    assert {str(path): lines for path, lines in lengths.items() if lines > MOST_LINES} == {}


def test_every_dependency_is_used():
    unused = []
    for manifest in tracked("Cargo.toml"):
        wanted = tomllib.loads(manifest.read_text())
        code = {path: path.read_text() for path in manifest.parent.rglob("*.rs") if "target" not in path.parts}
        # Pages of the book, whose examples are tested with the crate that includes them.
        pages = [path.parent / page for path, text in code.items() for page in re.findall(r'include_str!\("([^"]+\.md)"\)', text)]
        sources = "\n".join([*code.values(), *(page.read_text() for page in pages)])
        for kind in ("dependencies", "dev-dependencies", "build-dependencies"):
            for name in wanted.get(kind, {}):
                if not re.search(rf"\b{name.replace('-', '_')}\b", sources):
                    unused.append(f"{manifest.relative_to(ROOT)}: {kind}: {name}")
    assert unused == []
