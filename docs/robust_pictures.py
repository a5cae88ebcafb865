"""The picture of the chapter on rows that do not belong: the data, what js and brier fit, and the weights of the rows.

Called by `docs/pictures.py`; the estimates are the command's.
"""

import math
import tempfile
from pathlib import Path
from random import Random

from quiet_pictures import BLUE, GREY, RED, _json, _svg, _text

LEFT, WIDTH = 60, 560
RANGE = -4.0, 9.0
MODEL = 'variables = ["x"]\nlog_density = "m*x - x^2/2"\n[parameters]\nm = 0\n'


def _rows():
    random = Random(5)
    return [random.gauss(8, 0.1) if row % 20 == 0 else random.gauss(0, 1) for row in range(2000)]


def _x(value):
    return LEFT + WIDTH * (value - RANGE[0]) / (RANGE[1] - RANGE[0])


def _curve(f, top, height, most, colour):
    xs = [RANGE[0] + (RANGE[1] - RANGE[0]) * i / 400 for i in range(401)]
    points = " ".join(f"{_x(x):.1f},{top + height * (1 - f(x) / most):.1f}" for x in xs)
    return f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>'


def _frame(top, height, title):
    return [f'<rect x="{LEFT}" y="{top}" width="{WIDTH}" height="{height}" fill="none" stroke="{GREY}"/>', _text(LEFT, top - 8, title, "start")]


def outliers(binary):
    rows = _rows()
    with tempfile.TemporaryDirectory() as folder:
        model, data = Path(folder) / "mean.toml", Path(folder) / "rows.csv"
        model.write_text(MODEL)
        data.write_text("x\n" + "\n".join(map(repr, rows)))
        found = {
            loss: _json(binary, "fit", model, data, "--loss", loss, "--noise", "normal(0, 4)", "--nu", 5, "--seed", 1)
            for loss in ("js", "brier")
        }
    means = {loss: result["parameters"]["m"]["estimate"] for loss, result in found.items()}
    constants = {loss: result["log_normalizer"]["estimate"] for loss, result in found.items()}
    body = _frame(30, 200, "rows, and the fitted densities") + _frame(280, 140, "weight of a row, over the largest")
    bins, width = 65, (RANGE[1] - RANGE[0]) / 65
    counts = [0] * bins
    for value in rows:
        at = int((value - RANGE[0]) / width)
        if 0 <= at < bins:
            counts[at] += 1
    most = 0.5
    for at, count in enumerate(counts):
        height = min(200.0, 200 * count / (len(rows) * width) / most)
        body.append(f'<rect x="{_x(RANGE[0] + at * width):.1f}" y="{230 - height:.1f}" width="{WIDTH / bins - 0.5:.1f}" height="{height:.1f}" fill="#ddd"/>')
    density = lambda m: lambda x: math.exp(-0.5 * (x - m) ** 2) / math.sqrt(2 * math.pi)
    noise = lambda x: math.exp(-x * x / 8) / math.sqrt(8 * math.pi)
    ratio = lambda loss: lambda x: math.exp(means[loss] * x - x * x / 2 - constants[loss]) / (5 * noise(x))
    weights = {"js": lambda x: 1 / (1 + ratio("js")(x)), "brier": lambda x: 2 * ratio("brier")(x) / (1 + ratio("brier")(x)) ** 3}
    places = [RANGE[0] + 0.01 * i for i in range(1300)]
    for loss, colour in (("js", RED), ("brier", BLUE)):
        body.append(_curve(density(means[loss]), 30, 200, most, colour))
        body.append(_curve(weights[loss], 280, 140, 1.05 * max(map(weights[loss], places)), colour))
    for at, (loss, colour) in enumerate((("js", RED), ("brier", BLUE))):
        body.append(_text(_x(3.2), 70 + 22 * at, f"{loss}: mean {means[loss]:.3f}", "start", colour))
    for value in range(-4, 10, 2):
        body.append(_text(_x(value), 440, str(value)))
    return _svg(640, 460, "A normal distribution with 5 % outliers: js follows them, brier does not", body)
