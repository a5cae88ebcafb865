"""CPU time of a fit of a JAX energy with 20 parameters, with independent and with quiet noise, to the same share of the noise.

`python bench/quiet_energy.py [ROWS]` with the package and JAX installed. Each fit is made twice, and the second one, which finds
the functions compiled, is timed.
"""

import sys
import time

import cost

NOISE = f"normal({[0.0] * 5}, {[1.5] * 5})"


def timed(rows, draws):
    """CPU seconds, noise points, and the largest share of the noise."""
    import jax.numpy as jnp
    import noisewright as nw

    data = cost.draws_of_energy(rows)
    for _ in range(2):
        model = nw.Model.from_functions(cost.energy(jnp), start=0.9 * cost.START, variables=cost.names(5))
        begin = time.process_time()
        found = nw.fit(model, data, noise=NOISE, draws=draws, starts=1, progress=False)
        seconds = time.process_time() - begin
    assert found.converged
    share = max(e.se_noise / e.se for e in found.estimates.values())
    return seconds, found.noise_points, share


if __name__ == "__main__":
    ROWS = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    print("| draws | CPU seconds | noise points | largest share of the noise |\n|---|---|---|---|")
    results = {draws: timed(ROWS, draws) for draws in ("random", "auto")}
    for draws, (seconds, count, share) in results.items():
        print(f"| {draws} | {seconds:.2f} | {count:,} | {100 * share:.1f} % |")
    print(f"\n{ROWS:,} rows: {results['random'][0] / results['auto'][0]:.1f} times less CPU")
