"""Writes kernels.csv: elementary functions at exact doubles, so that errors can be told in units in the last place.

Run in this folder: python3 kernels_values.py > kernels.csv
Columns: function, x, the double nearest the value, what it misses of the value in units in its last place.
Needs mpmath.
"""

import math
import random

import mpmath as mp

mp.mp.dps = 400  # softplus(-745) is a 1 followed by 323 zeros and then digits
random.seed(2)


def row(name, function, x):
    value = function(mp.mpf(x))
    nearest = float(value)
    if not math.isfinite(nearest):
        return
    rest = (value - mp.mpf(nearest)) / mp.mpf(math.ulp(nearest))
    print(f"{name},{x!r},{nearest!r},{float(rest)!r}")


uniform, points = random.uniform, range(200)
print("function,x,value,rest")
for x in [uniform(-745.1, 709.7) for _ in points] + [uniform(-1, 1) for _ in points] + [uniform(-745.1, -708) for _ in points]:
    row("exp", mp.exp, x)
halves = [(k + 0.5) * math.log(2) for k in range(-20, 20)]  # the ends of the reduced range
for x in halves + [709.782712893384, -745.1332191019411, 1e-17, -1e-300]:
    row("exp", mp.exp, x)
for x in [2 ** uniform(-1074, 1023) for _ in points] + [uniform(0.5, 2) for _ in points] + [1 + uniform(-1e-6, 1e-6) for _ in points]:
    row("ln", mp.log, x)
for x in [5e-324, 2.2250738585072014e-308, 2.225e-308, 1.0, 1.7976931348623157e308, 0.7071067811865475, 0.7071067811865476, 1.4142135623730951]:
    row("ln", mp.log, x)
logistic = [uniform(-745, 745) for _ in points] + [uniform(-40, 40) for _ in points] + [uniform(-2, 2) for _ in points]
for x in logistic + [0.0, 1e-300, -1e-17, -700.0, 36.7, -36.7]:
    row("softplus", lambda g: mp.log1p(mp.exp(g)), x)
    row("ln_sigmoid", lambda g: -mp.log1p(mp.exp(-g)), x)
    row("sigmoid", lambda g: 1 / (1 + mp.exp(-g)), x)
