"""The bootstrap against the sandwich on three models: standard errors that must agree to a tenth.

python bench/nets/bootstrap.py [REPLICATES]
"""

import sys

import numpy as np

import noisewright as nw


def cases():
    rng = np.random.default_rng(1)
    normal = nw.Model.from_formula("m*x - p*x^2/2", variables="x", parameters={"m": 0.0, "p": 1.0})
    yield "normal, exact", normal, rng.normal(0.5, 1.5, 500), {"noise": "exact"}
    rate = nw.Model.from_formula("(a - 1)*log(x) - r*x", variables="x", parameters={"a": 1.0, "r": 1.0}, domain="positive")
    yield "gamma against noise", rate, rng.gamma(2.0, 0.5, 800), {"nu": 3}
    spins = rng.choice([-1.0, 1.0], (1000, 3))
    spins[:, 1] = np.where(rng.random(1000) < 0.7, spins[:, 0], -spins[:, 0])
    ising = nw.Model.from_family("ising", variables=["a", "b", "c"], states=[-1, 1])
    yield "Ising, three spins, against noise", ising, spins, {"nu": 5}


def main(replicates):
    print(f"| model | unknown | sandwich | bootstrap ({replicates} samples) | ratio |\n|---|---|---|---|---|")
    for name, model, data, options in cases():
        fit = nw.fit(model, data, bootstrap=replicates, **options)
        for unknown, estimate in fit.estimates.items():
            se = fit.bootstrap["estimates"][unknown]["se"]
            print(f"| {name} | {unknown} | {estimate.se:.4f} | {se:.4f} | {se / estimate.se:.3f} |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2000)
