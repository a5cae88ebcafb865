"""Reference values for tests/states.rs, by pymbar 4 (pip install pymbar): `python states.py`.

The points are a fixed sequence, so that the test makes the same ones without a generator in common.
"""

import math

import numpy as np
from pymbar import MBAR, other_estimators

GOLDEN = 0.6180339887498949


def points(count, mean, scale, shift):
    u = [math.fmod((i + 0.5) * GOLDEN + shift, 1.0) for i in range(count)]
    return np.array([mean + scale * math.log(v / (1.0 - v)) / 1.7 for v in u])


def pooled(states, counts):
    parts = [points(n, m, s, 0.1 * k) for k, ((m, s, _), n) in enumerate(zip(states, counts))]
    x = np.concatenate(parts)
    return np.array([offset - (x - m) ** 2 / (2 * s * s) for m, s, offset in states])


def show(name, states, counts):
    log_f = pooled(states, counts)
    mbar = MBAR(-log_f, np.array(counts), relative_tolerance=1e-14, maximum_iterations=10000)
    result = mbar.compute_free_energy_differences()
    # pymbar's f is minus the log-normalizer.
    print(name)
    print("  log_z ", [float(-v) for v in result["Delta_f"][0]])
    print("  se_0  ", [float(v) for v in result["dDelta_f"][0]])
    print("  se_last", [float(v) for v in result["dDelta_f"][-1]])
    overlap = mbar.compute_overlap()["matrix"]
    print("  overlap row 1", [float(v) for v in overlap[1]])
    print("  ess   ", [float(v) for v in mbar.compute_effective_sample_number()])


ladder = [(0.0, 1.0, 0.0), (0.7, 0.8, 3.0), (1.2, 0.7, -2.0), (1.8, 0.6, 10.0), (2.5, 0.5, 0.5)]
show("ladder", ladder, [100, 200, 150, 150, 50])
show("unsampled", ladder, [100, 200, 0, 150, 50])
pair = [(0.0, 1.0, 0.0), (1.0, 0.5, 4.0)]
show("pair", pair, [300, 100])
log_f = pooled(pair, [300, 100])
work = log_f[0] - log_f[1]
print("bar", other_estimators.bar(work[:300], -work[300:], relative_tolerance=1e-14))
