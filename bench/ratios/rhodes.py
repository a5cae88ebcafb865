"""The mutual-information benchmark of Rhodes, Xu and Gutmann (2020): pairs of correlation 0.795060, in 40 to 320 dimensions.

    python bench/ratios/rhodes.py known [REPEATS]    # quadratic features of known structure
    python bench/ratios/rhodes.py auto [REPEATS]     # a basis that is chosen, 40 dimensions
"""

import sys
import time

import numpy as np

import noisewright as nw

RHO, ROWS = 0.795060, 10_000
TRUTH = {40: 10.0, 80: 20.0, 160: 40.0, 320: 80.0}


def draw(dimension, seed):
    """Pairs, half of the variables on either side."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(ROWS, dimension // 2))
    y = RHO * x + np.sqrt(1 - RHO**2) * rng.normal(size=x.shape)
    return x, y


def known_structure(dimension):
    """Σ(x + y)²/2 and Σ(x − y)²/2."""
    pairs = [(f"x{j}", f"y{j}") for j in range(dimension // 2)]
    total = [" + ".join(f"({x} {sign} {y})^2/2" for x, y in pairs) for sign in "+-"]
    return nw.Model.from_features(total, variables=[x for x, _ in pairs] + [y for _, y in pairs])


def row(dimension, bridges, found, seconds):
    truth = TRUTH[dimension]
    values, errors = np.array([e.estimate for e in found]), np.array([e.se for e in found])
    inside = np.mean([e.lower <= truth <= e.upper for e in found])
    z = np.abs(values - truth) / errors
    spread = values.std(ddof=1) if len(values) > 1 else float("nan")
    print(
        f"| {dimension} | {truth:g} | {bridges} | {values.mean():.3f} | {spread:.3f} | {errors.mean():.3f} "
        f"| {z.max():.2f} | {100 * inside:.0f} % | {np.mean(seconds):.1f} |",
        flush=True,
    )


HEAD = "| d | truth | bridges | mean | sd | predicted se | largest z | inside | CPU s |\n|---|---|---|---|---|---|---|---|---|"


def main(kind, repeats):
    print(HEAD)
    for dimension in TRUTH if kind == "known" else [40]:
        model = known_structure(dimension) if kind == "known" else None
        found, counts, seconds = [], [], []
        for seed in range(repeats):
            x, y = draw(dimension, 100 * dimension + seed)
            start = time.process_time()
            result = nw.mutual_information(x, y, model=model, seed=seed, progress=False)
            seconds.append(time.process_time() - start)
            found.append(result.information)
            counts.append(len(result.bridges))
        row(dimension, "/".join(map(str, sorted(set(counts)))), found, seconds)
        if kind == "known":
            try:
                single = nw.mutual_information(x, y, model=model, bridges=1, progress=False).information
                print(f"|  |  | 1 | {single.estimate:.2f} |  | {single.se:.2f} |  |  |  |", flush=True)
            except nw.NoAnswerError as error:
                print(f"|  |  | 1 | refused: {error} |  |  |  |  |  |", flush=True)


main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 20)
