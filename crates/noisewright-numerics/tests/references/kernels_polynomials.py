"""Prints the polynomials of src/kernels/functions.rs: Chebyshev fits, within a few per cent of the minimax error.

Run: python3 kernels_polynomials.py. Needs mpmath.
"""

import mpmath as mp

mp.mp.dps = 40


def show(name, function, interval, terms):
    coefficients, error = mp.chebyfit(function, interval, terms, error=True)
    print(f"{name} (error {mp.nstr(error, 3)}):")
    for c in reversed(coefficients):
        print("   ", repr(float(c)))


half = mp.log(2) / 2 * (1 + mp.mpf(10) ** -9)
taylor = lambda r: mp.nsum(lambda k: r**k / mp.factorial(k + 2), [0, mp.inf]) if abs(r) < 1e-3 else (mp.exp(r) - 1 - r) / r**2
show("(e^r - 1 - r) / r^2", taylor, [-half, half], 11)

artanh = lambda z: 2 * mp.nsum(lambda j: z**j / (2 * j + 3), [0, mp.inf])
show("(ln((1+s)/(1-s)) - 2s) / s^3 over z = s^2 up to 1/9", artanh, [0, mp.mpf(1) / 9], 11)
show("the same up to (3 - sqrt 8)^2", artanh, [0, (3 - mp.sqrt(8)) ** 2 * (1 + mp.mpf(10) ** -9)], 7)
