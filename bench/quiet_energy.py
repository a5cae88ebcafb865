"""CPU time of a fit of a JAX energy with 20 parameters, with independent and with quiet noise, to the same share of the noise.

`python bench/quiet_energy.py [ROWS]` with the package and JAX installed. Independent noise takes as many points as the budget allows; the
share that it reaches is then asked of quiet noise, and the usual tenth in a third fit. Each fit is made twice, and the second one is
timed.
"""

import sys
import time

import cost

NOISE = f"normal({[0.0] * 5}, {[1.5] * 5})"


def timed(rows, draws, share):
    """CPU seconds, noise points, and the largest share of the noise, where at most `share` is asked for."""
    import jax.numpy as jnp
    import noisewright as nw

    data = cost.draws_of_energy(rows)
    for _ in range(2):
        model = nw.Model.from_functions(cost.energy(jnp), start=0.9 * cost.START, variables=cost.names(5))
        begin = time.process_time()
        found = nw.fit(model, data, noise=NOISE, draws=draws, noise_share=share, starts=1, progress=False)
        seconds = time.process_time() - begin
    assert found.converged
    return seconds, found.noise_points, max(e.se_noise / e.se for e in found.estimates.values())


if __name__ == "__main__":
    ROWS = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    print("| draws | CPU seconds | noise points | largest share of the noise |\n|---|---|---|---|")
    results, asked = [], 0.1
    for kind in ("random", "auto", "auto"):
        results.append(timed(ROWS, kind, asked))
        seconds, count, share = results[-1]
        print(f"| {kind}, asked for {100 * asked:.1f} % | {seconds:.2f} | {count:,} | {100 * share:.1f} % |", flush=True)
        asked = max(share, 0.1) if len(results) == 1 else 0.1
    print(f"\n{ROWS:,} rows, at the same share: {results[0][0] / results[1][0]:.1f} times less CPU")
