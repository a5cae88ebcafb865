"""The pictures of the chapter on quiet noise: points, what they are worth, and when their distribution matters.

Called by `docs/pictures.py`; every number is printed by the command.
"""

import json
import math
import subprocess
import tempfile
from pathlib import Path

EXAMPLES = Path("examples")
BLUE, RED, GREEN, GREY = "#1f5fa8", "#b5482f", "#3c8a4e", "#999"


def _json(binary, *arguments):
    run = subprocess.run([binary, *map(str, arguments), "--json"], check=True, capture_output=True, text=True)
    return json.loads(run.stdout)


def _svg(width, height, title, body):
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" font-family="sans-serif" font-size="14">'
    return "\n".join([head, f"<title>{title}</title>", f'<rect width="{width}" height="{height}" fill="white"/>', *body, "</svg>", ""])


def _text(x, y, words, anchor="middle", colour="#333"):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}">{words}</text>'


def points(binary):
    """64 draws of two independent normal variables, at random and quietly."""
    body = []
    words = "normal([0, 0], [[1, 0], [0, 1]])"
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "model.toml"
        model.write_text("variables = ['x', 'y']\nfeatures = ['x', 'y']\n")
        for left, draws, name in [(20, "random", "independent"), (330, "quiet", "quiet")]:
            drawn = _json(binary, "sample", 64, "--noise", words, "--model", model, "--draws", draws)["draws"]
            body += [_text(left + 145, 20, name), f'<rect x="{left}" y="30" width="290" height="290" fill="none" stroke="{GREY}"/>']
            for x, y in zip(drawn["x"], drawn["y"]):
                if max(abs(x), abs(y)) < 3:
                    at = left + 145 + 145 * x / 3, 175 - 145 * y / 3
                    body.append(f'<circle cx="{at[0]:.1f}" cy="{at[1]:.1f}" r="3.5" fill="{BLUE}" fill-opacity="0.8"/>')
    return _svg(640, 330, "64 noise points, independent and quiet", body)


class Axes:
    """A panel with logarithmic axes."""

    def __init__(self, left, top, width, height, x, y):
        self.box = left, top, width, height
        self.x, self.y = x, y

    def at(self, x, y):
        left, top, width, height = self.box
        share = [math.log(v / low) / math.log(high / low) for v, (low, high) in ((x, self.x), (y, self.y))]
        return left + width * share[0], top + height * (1 - min(max(share[1], 0), 1))

    def frame(self, title, xs, ys, xname, yname):
        left, top, width, height = self.box
        body = [f'<rect x="{left}" y="{top}" width="{width}" height="{height}" fill="none" stroke="{GREY}"/>', _text(left + width / 2, top - 10, title)]
        for value, words in xs:
            at = self.at(value, self.y[0])[0]
            body += [f'<path d="M{at:.1f} {top + height}v5" stroke="{GREY}"/>', _text(at, top + height + 20, words)]
        for value, words in ys:
            at = self.at(self.x[0], value)[1]
            body += [f'<path d="M{left - 5} {at:.1f}h5" stroke="{GREY}"/>', _text(left - 8, at + 5, words, "end")]
        body += [_text(left + width / 2, top + height + 40, xname), _text(left, top - 10, yname, "start")]
        return body

    def line(self, pairs, colour, name=None, dash=""):
        places = [self.at(x, y) for x, y in pairs]
        path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
        body = [f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>']
        body += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in places]
        if name:
            body.append(_text(places[-1][0] + 6, places[-1][1] + 5, name, "start", colour))
        return body


def _largest_share(answer):
    estimates = [*answer["parameters"].values(), answer["log_normalizer"]]
    return max(e["se_noise"] / e["se"] for e in estimates if e["se"])


def worth(binary):
    """The largest share of the noise in a standard error over the number of noise points, in one and in four variables."""
    body = []
    sizes = [512 * 2**k for k in range(6)]
    for left, example, data, title in [(60, "old-faithful", "faithful.csv", "one variable"), (370, "iris", "iris.csv", "four variables")]:
        axes = Axes(left, 40, 240, 220, (sizes[0], sizes[-1]), (0.003, 1))
        ticks = [(512, "512"), (2048, "2,048"), (16384, "16,384")]
        shares = [(0.01, "1 %"), (0.1, "10 %"), (1.0, "100 %")]
        body += axes.frame(title, ticks, shares, "noise points", "" if left > 100 else "share")
        for draws, colour in [("random", RED), ("quiet", BLUE)]:
            curve = []
            for size in sizes:
                given = ["--noise-points", size, "--draws", draws]
                answer = _json(binary, "fit", EXAMPLES / example / "model.toml", EXAMPLES / example / data, *given)
                curve.append((size, max(_largest_share(answer), 0.003)))
            body += axes.line(curve, colour)
    body += [_text(80, 250, "quiet", "start", BLUE), _text(80, 232, "independent", "start", RED)]
    return _svg(640, 320, "The share of the noise in a standard error over the number of points", body)


def distribution(binary):
    """The standard error of a parameter over the variance of the noise, independent and quiet."""
    variances = [0.4, 0.6, 0.9, 1.3, 2.0, 3.0, 4.5, 7.0, 10.0, 16.0]
    model, data = EXAMPLES / "old-faithful/model.toml", EXAMPLES / "old-faithful/faithful.csv"
    axes = Axes(60, 40, 520, 260, (variances[0], variances[-1]), (0.2, 1.0))
    ticks = [(v, f"{v:g}") for v in (0.4, 1.0, 2.0, 4.5, 10.0)]
    body = axes.frame("", ticks, [(v, f"{v:g}") for v in (0.2, 0.3, 0.5, 1.0)], "variance of the noise", "standard error of t2")
    for draws, size, colour, name in [("random", 512, RED, "512 independent points"), ("quiet", 512, BLUE, "512 quiet points")]:
        curve = []
        for variance in variances:
            given = ["--noise", f"normal(0.06, {variance})", "--noise-points", size, "--draws", draws]
            curve.append((variance, min(_json(binary, "fit", model, data, *given)["parameters"]["t2"]["se"], 1.0)))
        body += axes.line(curve, colour)
        body.append(_text(200, 60 if colour == RED else 80, name, "start", colour))
    exact = _json(binary, "fit", model, data, "--noise", "exact")["parameters"]["t2"]["se"]
    body += axes.line([(variances[0], exact), (variances[-1], exact)], GREEN, dash=' stroke-dasharray="6 4"')
    body.append(_text(200, 100, "maximum likelihood", "start", GREEN))
    return _svg(620, 350, "The standard error of t2 over the variance of the noise", body)


PICTURES = {"quiet": points, "quiet-worth": worth, "quiet-distribution": distribution}


def draw(binary, folder):
    """Writes all of them."""
    for name, picture in PICTURES.items():
        (folder / f"{name}.svg").write_text(picture(binary))
