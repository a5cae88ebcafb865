"""Writes src/special/tables.rs: the series coefficients of the special functions, rounded once from exact values.

Run in this folder: python3 tables.py > ../../src/special/tables.rs && rustfmt ../../src/special/tables.rs
Needs mpmath.
"""

from fractions import Fraction

import mpmath as mp

mp.mp.dps = 50
TERMS = 14


def number(value):
    if isinstance(value, Fraction):
        value = mp.mpf(value.numerator) / value.denominator
    return repr(float(value))


def array(name, values, doc):
    print(f"/// {doc}\npub(super) const {name}: [f64; {len(values)}] = [" + ", ".join(number(v) for v in values) + "];\n")


def derivative(p):
    return [k * c for k, c in enumerate(p)][1:]


def integral(p):
    return [Fraction(0)] + [c / (k + 1) for k, c in enumerate(p)]


def times(p, q):
    out = [Fraction(0)] * (len(p) + len(q) - 1)
    for i, a in enumerate(p):
        for j, b in enumerate(q):
            out[i + j] += a * b
    return out


def plus(p, q):
    size = max(len(p), len(q))
    pad = lambda v: list(v) + [Fraction(0)] * (size - len(v))
    return [a + b for a, b in zip(pad(p), pad(q))]


def debye():
    """DLMF 10.41.10-11: u_k and v_k are t^k times a polynomial in t^2."""
    F = Fraction
    u, v = [[F(1)]], [[F(1)]]
    for k in range(TERMS):
        d = derivative(u[k]) or [F(0)]
        first = times([F(0), F(0), F(1, 2), F(0), F(-1, 2)], d)
        second = [c / 8 for c in integral(times([F(1), F(0), F(-5)], u[k]))]
        u.append(plus(first, second))
        third = times([F(0), F(-1, 2), F(0), F(1, 2)], u[k])
        fourth = times([F(0), F(0), F(-1), F(0), F(1)], d)
        v.append(plus(u[k + 1], plus(third, fourth)))
    return u, v


def triangle(name, polynomials, doc):
    print(f"/// {doc}\npub(super) const {name}: [&[f64]; {TERMS}] = [")
    for k, p in enumerate(polynomials[1:], start=1):
        inner = [p[k + 2 * j] if k + 2 * j < len(p) else Fraction(0) for j in range(k + 1)]
        print("&[" + ", ".join(number(c) for c in inner) + "],")
    print("];\n")


print("//! Series coefficients of the special functions, written by `tests/references/tables.py`.\n")
print("#![allow(clippy::excessive_precision, clippy::unreadable_literal)]\n")
u, v = debye()
triangle("DEBYE_U", u, "`u_k(t) / t^k` in powers of `t²`, k = 1, 2, … (DLMF 10.41.10).")
triangle("DEBYE_V", v, "`v_k(t) / t^k` in powers of `t²`, k = 1, 2, … (DLMF 10.41.11).")

root = mp.findroot(mp.digamma, 1.4616321449683623)
hi = mp.mpf(float(root))
array("DIGAMMA_ROOT", [hi, root - hi], "The positive zero of the digamma function as a high and a low part.")
array(
    "DIGAMMA_AT_ROOT",
    [mp.polygamma(k, root) / mp.factorial(k) for k in range(1, 31)],
    "Taylor coefficients of digamma about its positive zero, from the linear one on.",
)
array("ZETA_MINUS_ONE", [mp.zeta(k) - 1 for k in range(2, 34)], "`ζ(k) − 1`, k = 2, 3, …")
array("BERNOULLI", [mp.bernoulli(2 * k) for k in range(1, 13)], "Bernoulli numbers `B_2k`, k = 1, 2, …")
