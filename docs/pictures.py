"""Draws the book's pictures of results: a figure of a command's page, as it is on the page.

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
    "windows-overlap": ["logz", EXAMPLES / "windows/draws.csv", "--states", "u_*"],
    "surface": [
        *("logz", EXAMPLES / "windows/draws.csv", "--states", "u_*"),
        *("--surface", "x", "--surface-state", "u_free", "--bins", "24"),
    ],
}
#: Which picture of the page it is, where it is not the first; every figure is there twice, wide and narrow.
PLACES = {"surface": -2}


def figure(page, place):
    """One of the outermost <svg> of a page; figures hold other ones for what is clipped."""
    found, start, depth = [], 0, 0
    for tag in re.finditer(r"<svg xmlns|<svg\b|</svg>", page):
        if depth == 0 and tag[0] != "<svg xmlns":
            continue
        if depth == 0:
            start = tag.start()
        depth += -1 if tag[0] == "</svg>" else 1
        if depth == 0:
            found.append(page[start : tag.end()] + "\n")
    return found[place]


if __name__ == "__main__":
    for name, command in COMMANDS.items():
        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder) / "page.html"
            subprocess.run([sys.argv[1], *command, "--quiet", "--report", page], check=True, stdout=subprocess.DEVNULL)
            (Path("docs/src/pictures") / f"{name}.svg").write_text(figure(page.read_text(), PLACES.get(name, 0)))
    quiet_pictures.draw(sys.argv[1], Path("docs/src/pictures"))
    (Path("docs/src/pictures") / "robust.svg").write_text(robust_pictures.outliers(sys.argv[1]))
