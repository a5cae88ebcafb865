"""p-values of likelihood-ratio and Wald tests where the hypothesis holds: they must be uniform.

python bench/nets/likelihood_ratio.py [DATA SETS]

Before them, the share of right hypotheses that a test rejects whose statistic has a Monte-Carlo error, which is what limits
that error (`LARGEST_ERROR` of the crate's `after::compare`).
"""

import sys

import numpy as np
from scipy import stats

import noisewright as nw

CASES = {
    "exponential within gamma": (
        "-r*x",
        "(a - 1)*log(x) - r*x",
        {"a": 1.0, "r": 1.0},
        "a = 1",
        lambda rng: rng.exponential(size=400),
    ),
    "Gaussian, mean": ("-p*x^2/2", "m*x - p*x^2/2", {"m": 0.0, "p": 1.0}, "m = 0", lambda rng: rng.normal(size=400)),
}


def sizes():
    """Sizes of tests whose statistic has a normal error, by Gauss-Hermite quadrature over it."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(101)
    weights /= weights.sum()
    print("| error / sd of χ² | degrees | size at 5 % | size at 1 % |\n|---|---|---|---|")
    for share in (0.1, 0.25, 0.35, 0.5):
        for degrees in (1, 5, 20):
            error = share * np.sqrt(2 * degrees)
            size = [weights @ stats.chi2.sf(stats.chi2.isf(level, degrees) - error * nodes, degrees) for level in (0.05, 0.01)]
            print(f"| {share} | {degrees} | {100 * size[0]:.2f} % | {100 * size[1]:.2f} % |")
    print()


def main(count):
    sizes()
    print(f"| model | {count} data sets: Kolmogorov–Smirnov p, likelihood ratio | Wald |\n|---|---|---|")
    for name, (small, large, start, hypothesis, draw) in CASES.items():
        p_values = []
        for seed in range(count):
            x = draw(np.random.default_rng(seed))
            fits = []
            for formula in (small, large):
                used = {parameter: value for parameter, value in start.items() if parameter in formula.replace("log", "")}
                domain = "positive" if "gamma" in name else "real"
                model = nw.Model.from_formula(formula, variables="x", parameters=used, domain=domain)
                fits.append(nw.fit(model, x, noise="exact"))
            ratio = nw.compare(*fits, nested=True).tests[0]["p_value"]
            p_values.append([np.nan if ratio is None else ratio, fits[1].wald(hypothesis).p_value])
        columns = np.array(p_values).T
        cells = [f"{stats.kstest(column[np.isfinite(column)], 'uniform').pvalue:.3f}" for column in columns]
        print(f"| {name} | {cells[0]} | {cells[1]} |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
