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
import robust_pictures

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


if __name__ == "__main__":
    for name, command in COMMANDS.items():
        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder) / "page.html"
            subprocess.run([sys.argv[1], *command, "--quiet", "--report", page], check=True, stdout=subprocess.DEVNULL)
            (Path("docs/src/pictures") / f"{name}.svg").write_text(first_figure(page.read_text()))
    quiet_pictures.draw(sys.argv[1], Path("docs/src/pictures"))
    (Path("docs/src/pictures") / "robust.svg").write_text(robust_pictures.outliers(sys.argv[1]))
