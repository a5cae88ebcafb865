"""`ratio` without features beside densratio (PyPI): squared error of the log ratio, CPU seconds, coverage of the intervals.

    python bench/ratios/against_densratio.py ours     # with noisewright installed
    python bench/ratios/against_densratio.py theirs   # in an environment of its own: pip install densratio
"""

import sys
import time

import numpy as np
from pairs import PAIRS, draw, log_ratio

ROWS, REPEATS = 2000, {"ours": 20, "theirs": 3}
#: Other data sets than those of 0 to 19, on which the share of the penalty was chosen.
FIRST = 100


def ours(x, y, at):
    import noisewright as nw

    start = time.process_time()
    found = nw.ratio(x, y, permutations=0, progress=False)
    seconds = time.process_time() - start
    return found.log_ratio(at), seconds, f"{found.basis['basis']} of {found.basis['functions']}"


def theirs(x, y, at):
    from densratio import densratio

    start = time.process_time()
    found = densratio(x, y, verbose=False)
    seconds = time.process_time() - start
    return (np.log(np.maximum(found.compute_density_ratio(at), 1e-12)),), seconds, ""


def main(which):
    print("| pair | mean squared error | CPU s | coverage | basis |\n|---|---|---|---|---|")
    for name in PAIRS:
        errors, seconds, covered, kinds = [], [], [], []
        for seed in range(FIRST, FIRST + REPEATS[which]):
            x, y = draw(name, ROWS, seed)
            at = draw(name, 1000, 10_000 + seed)[0]
            truth = log_ratio(name, at)
            values, used, kind = {"ours": ours, "theirs": theirs}[which](x, y, at)
            errors.append(np.mean((values[0] - truth) ** 2))
            seconds.append(used)
            kinds.append(kind)
            if which == "ours":
                covered.append(np.mean((values.lower <= truth) & (truth <= values.upper)))
        coverage = f"{100 * np.mean(covered):.1f} %" if covered else ""
        common = max(set(kinds), key=kinds.count)
        print(f"| {name} | {np.mean(errors):.4f} | {np.mean(seconds):.3f} | {coverage} | {common} |", flush=True)


main(sys.argv[1])
