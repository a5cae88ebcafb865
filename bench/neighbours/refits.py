"""Coverage of the evidence of a NumPyro model over refits by NUTS: a linear regression, whose evidence is known in closed form.

    python bench/neighbours/refits.py [REFITS]     (needs the package, NumPyro and SciPy)
"""

import sys
import warnings

import jax
import numpy as np
import numpyro
import numpyro.distributions as dist
from numpyro.infer import MCMC, NUTS
from scipy import stats

import noisewright as nw

ROWS, SIZE, CHAINS, DRAWS = 100, 5, 4, 1000


def model(x, y):
    b = numpyro.sample("b", dist.Normal(0, 2).expand([SIZE]).to_event(1))
    numpyro.sample("y", dist.Normal(x @ b, 1.0), obs=y)


def main() -> None:
    refits = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    random = np.random.default_rng(20)
    x = np.column_stack([np.ones(ROWS), random.normal(size=(ROWS, SIZE - 1))])
    y = x @ random.normal(size=SIZE) + random.normal(size=ROWS)
    truth = stats.multivariate_normal(np.zeros(ROWS), np.eye(ROWS) + 4 * x @ x.T).logpdf(y)
    mcmc = MCMC(
        NUTS(model), num_warmup=500, num_samples=DRAWS, num_chains=CHAINS, chain_method="vectorized", progress_bar=False, jit_model_args=True
    )
    found = []
    for seed in range(refits):
        mcmc.run(jax.random.PRNGKey(seed), x, y)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found.append(nw.evidence(model, mcmc, x, y, seed=seed, progress=False))
    given = [result for result in found if result.refused is None]
    covered = np.mean([result.lower <= truth <= result.upper for result in given])
    z = np.array([(result.log_evidence - truth) / result.se for result in given])
    print(f"A regression with {SIZE} coefficients on {ROWS} rows in NumPyro, {CHAINS} chains of {DRAWS} draws by NUTS, {refits} refits of the same data:")
    print(f"{len(given)} answers, the truth {truth:.5f} in {100 * covered:.1f} % of the 95 % intervals (the simulation's own error is")
    print(f"{100 * np.sqrt(0.05 * 0.95 / refits):.1f} percentage points); standard error {np.median([r.se for r in given]):.5f}, mean z {z.mean():+.2f}, rms z {np.sqrt((z**2).mean()):.2f}.")


if __name__ == "__main__":
    main()
