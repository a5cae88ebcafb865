"""Draws the book's pictures of results: the first figure of a command's page, as it is on the page.

`python3 docs/pictures.py target/release/noisewright`, from the root of the repository. The other pictures come from
`noisewright reproduce` and from the example `choosing` of `noisewright-paper`.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

import quiet_pictures

EXAMPLES = Path("examples")
COMMANDS = {
    "fit": ["fit", EXAMPLES / "old-faithful/model.toml", EXAMPLES / "old-faithful/faithful.csv"],
    "logz": ["logz", EXAMPLES / "free-energy/data.csv", EXAMPLES / "free-energy/noise.csv"],
    "evidence": [
        "evidence",
        EXAMPLES / "evidence-regression/model.toml",
        *sorted((EXAMPLES / "evidence-regression").glob("chain_*.csv")),
    ],
}


def first_figure(page):
    """The first outermost <svg> of a page; figures hold other ones for what is clipped."""
    start = page.index("<svg xmlns")
    depth = 0
    for tag in re.finditer(r"<svg\b|</svg>", page[start:]):
        depth += 1 if tag[0] == "<svg" else -1
        if depth == 0:
            return page[start : start + tag.end()] + "\n"
    raise ValueError("the page ends inside a figure")


def bridges(binary, folder):
    """The path of bridges between two normal samples that hardly meet, as in the chapter on bridges."""
    for name, mean, seed in [("near", 0, 3), ("far", 8, 4)]:
        words = ["sample", "2000", "--noise", f"normal({mean}, 1)", "--seed", str(seed), "--out", f"{name}.csv"]
        subprocess.run([binary, *words, "--quiet"], check=True, cwd=folder)
    words = ["ratio", "near.csv", "far.csv", "--columns", "x", "--bridges", "auto", "--quiet", "--report", "page.html"]
    subprocess.run([binary, *words], check=True, cwd=folder, stdout=subprocess.DEVNULL)
    return first_figure((Path(folder) / "page.html").read_text())


if __name__ == "__main__":
    for name, command in COMMANDS.items():
        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder) / "page.html"
            subprocess.run([sys.argv[1], *command, "--quiet", "--report", page], check=True, stdout=subprocess.DEVNULL)
            (Path("docs/src/pictures") / f"{name}.svg").write_text(first_figure(page.read_text()))
    with tempfile.TemporaryDirectory() as folder:
        (Path("docs/src/pictures") / "path.svg").write_text(bridges(str(Path(sys.argv[1]).resolve()), folder))
    quiet_pictures.draw(sys.argv[1], Path("docs/src/pictures"))
