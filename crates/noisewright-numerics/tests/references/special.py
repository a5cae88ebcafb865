"""Writes special.csv: reference values of the special functions at exact doubles, from mpmath with 60 digits.

Run in this folder: python3 special.py > special.csv
Columns: function, up to three arguments, value. Needs mpmath.
"""

import random

import mpmath as mp

mp.mp.dps = 60
random.seed(1)
inf = float("inf")


def row(name, function, *args):
    try:
        value = function(*[mp.mpf(a) for a in args])
    except (ZeroDivisionError, ValueError, mp.libmp.NoConvergence):  # mpmath gives up: no reference there
        return
    value = mp.mpf(value.real if isinstance(value, mp.mpc) else value)
    if value != 0 and not (mp.mpf(2) ** -1022 < abs(value) < mp.mpf(2) ** 1023):
        return
    padded = [repr(a) for a in args] + [""] * (3 - len(args))
    print(",".join([name, *padded, repr(float(value))]))


def log_uniform(lo, hi):
    return 10 ** random.uniform(lo, hi)


def ln_bessel(order, x):
    if x > 1000 and x > order**2:  # the series would take as many terms as x; Hankel's has error e^(-2x)
        total, term, k = mp.mpf(1), mp.mpf(1), 1
        while abs(term) > mp.mpf(10) ** -50:
            term *= -(4 * order**2 - (2 * k - 1) ** 2) / (8 * k * x)
            total += term
            k += 1
        return x - mp.log(2 * mp.pi * x) / 2 + mp.log(total)
    with mp.workdps(500 if x < 1e-7 else 60):  # ln I_0 is as small as x^2
        return mp.log(mp.besseli(order, x))


def bessel_ratio(order, x):
    with mp.workdps(90):
        return mp.exp(ln_bessel(order + 1, x) - ln_bessel(order, x))


def ln_gamma(x):
    return mp.log(abs(mp.gamma(x)))


def ln_beta(a, b):
    with mp.workdps(400 if max(a, b) > 1e30 else 120):
        return mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b)


def ln_choose(n, k):
    with mp.workdps(120):
        return mp.loggamma(n + 1) - mp.loggamma(k + 1) - mp.loggamma(n - k + 1)


def quantile(p):
    with mp.workdps(60):
        p = mp.mpf(p)
        if p == 0.5:
            return mp.mpf(0)
        upper = p > 0.5
        tail = 1 - p if upper else p
        x = -mp.sqrt(-2 * mp.log(tail)) if tail < 0.2 else (tail - mp.mpf(0.5)) * mp.sqrt(2 * mp.pi)
        for _ in range(80):
            step = (mp.ncdf(x) - tail) / mp.npdf(x)
            step /= 1 + x * step / 2  # Halley
            x -= step
            if abs(step) < mp.mpf(10) ** -50 * abs(x):
                break
        return -x if upper else x


def beta_inc(a, b, x):
    return mp.betainc(a, b, 0, x, regularized=True)


def student(dof, x):
    tail = beta_inc(dof / 2, mp.mpf(0.5), dof / (dof + x * x)) / 2
    return tail if x < 0 else 1 - tail


print("function,a,b,c,value")
reals = [0.1, -0.1, 1.0, 1.5, -2.5, 3.0, 1e-8, -1e-8, 1e-300] + [random.uniform(-5, 5) for _ in range(15)]
for x in reals:
    row("erf", mp.erf, x)
    row("erfc", mp.erfc, x)
for x in [8.0, 15.5, 26.0]:
    row("erfc", mp.erfc, x)

positive = [1e-300, 1e-10, 0.01, 0.3, 0.5, 1.0, 1.4616321449683623, 1.46, 1.4616, 1.1, 1.8, 1.87, 2.0, 2.5, 5.0, 9.99, 10.0, 17.3, 1e3, 1e8, 1e15, 1e100]
positive += [random.uniform(0, 12) for _ in range(20)]
negative = [-0.5, -1e-10, -0.25, -1.5, -2.75, -10.1, -100.3, -1.0000001] + [random.uniform(-20, 0) for _ in range(10)]
for x in positive + negative:
    row("ln_gamma", ln_gamma, x) if x < 1e9 else None
    row("digamma", mp.digamma, x)
    row("trigamma", lambda v: mp.polygamma(1, v), x)
for n in [0.0, 1e-12, -1e-12, 0.1, -0.4, 0.49, 0.51, 1.0, 2.0, 3.0, 5.5, 20.0, 170.0, 1e6]:
    row("ln_factorial", lambda v: mp.loggamma(v + 1), n)

sizes = [1e-300, 1e-5, 0.009, 0.011, 0.3, 1.0, 2.5, 9.9, 10.1, 33.0, 1e3, 1e8, 1e15]
for a in sizes:
    for b in sizes:
        if a <= b:
            row("ln_beta", ln_beta, a, b)
for _ in range(40):
    row("ln_beta", ln_beta, log_uniform(-3, 7), log_uniform(-3, 7))
for n, k in [(5.0, 2.0), (52.0, 5.0), (1000.0, 500.0), (1e6, 3.0), (1e9, 5e8), (1e6, 31.0), (1e15, 1e4), (70.5, 30.25), (10.0, 0.0), (10.0, 10.0), (60.0, 30.0), (62.0, 31.0)]:
    row("ln_choose", ln_choose, n, k)

orders = [0.0, 0.5, 1.0, 1.5, 2.0, 3.7, 10.0, 24.0, 29.5, 29.99, 30.0, 31.5, 49.0, 99.5, 250.0, 499.5, 500.0]
arguments = [1e-300, 1e-100, 1e-8, 1e-3, 0.1, 0.7, 1.0, 2.5, 5.0, 11.0, 20.0, 29.9, 30.1, 45.0, 75.0, 120.0, 331.35, 600.0, 901.0, 1100.0, 1e4, 2.4e5, 3e5, 1e6, 1e8]
for order in orders:
    for x in arguments:
        if x > 1000 and x <= order**2 and x > 3e3 and order > 31.5 and x > 3e4:
            continue
        row("ln_bessel_i", ln_bessel, order, x)
        row("bessel_ratio", bessel_ratio, order, x)
for _ in range(60):
    order, x = random.uniform(0, 60), log_uniform(-2, 3.3)
    row("ln_bessel_i", ln_bessel, order, x)
    row("bessel_ratio", bessel_ratio, order, x)

normals = [-1e8, -1e3, -40.0, -38.4, -37.3, -30.123, -20.7, -12.1, -12.0, -11.9, -8.3, -5.0, -2.2, -1.0, -0.3, -1e-9, 0.0, 1e-9, 0.4, 1.0, 2.3, 5.1, 8.2, 9.0, 20.3, 37.0]
for x in normals + [random.uniform(-37, 9) for _ in range(20)]:
    row("normal_cdf", mp.ncdf, x)
    row("ln_normal_cdf", lambda v: mp.log(mp.ncdf(v)) if v < 0 else mp.log1p(-mp.ncdf(-v)), x)
for p in [1e-307, 1e-200, 1e-50, 1e-15, 1.3e-11, 1.4e-11, 1e-8, 1e-4, 0.01, 0.0749, 0.0751, 0.1, 0.3, 0.4999999, 0.5000001, 0.6, 0.9, 0.9249, 0.9251, 0.975, 0.999, 0.9999999, 1 - 2.0**-50]:
    row("normal_quantile", quantile, p)
for lp in [-1e-12, -1e-5, -0.01, -0.0770, -0.0779, -0.078, -0.1, -0.5, -0.69, -0.7, -1.0, -2.4, -2.6, -10.0, -24.9, -25.1, -700.0]:
    row("normal_quantile_log", lambda v: quantile(mp.exp(v)), lp)

mp.mp.dps = 400
for x in [-1e-300, -1e-10, -0.1, -0.6931471805599453, -0.7, -2.0, -36.0, -50.0, -700.0]:
    row("ln_1m_exp", lambda v: mp.log(-mp.expm1(v)), x)
mp.mp.dps = 60
for x in [0.0, 1e-20, -1e-20, 0.3, -0.3, 1.0, -1.0, 5.0, -5.0, 36.5, -36.5, 40.0, 700.0, -700.0, 800.0, -1e4, 1e300] + [random.uniform(-40, 40) for _ in range(10)]:
    if abs(x) < 1e5:
        row("softplus", lambda v: mp.log1p(mp.exp(v)), x)
        row("sigmoid", lambda v: mp.exp(v) / (1 + mp.exp(v)), x)
        row("ln_sigmoid", lambda v: -mp.log1p(mp.exp(-v)), x)
        row("ln_cosh", lambda v: mp.log1p(2 * mp.sinh(v / 2) ** 2), x)
for x in [1e-9, 1e-4, 0.01, 0.9999, 1.0001, 2.0, 18.0]:
    row("ln_cosh", lambda v: mp.log1p(2 * mp.sinh(v / 2) ** 2), x)
for a, b in [(0.0, 0.0), (1.0, 3.0), (-800.0, -801.0), (800.0, 790.0), (5.0, -50.0), (-0.5, -2.0)]:
    row("ln_add_exp", lambda u, v: mp.log(mp.exp(u) + mp.exp(v)), a, b)
for a, b in [(3.0, 1.0), (1.0, 1.0 - 1e-10), (-800.0, -801.0), (800.0, 700.0)]:
    row("ln_sub_exp", lambda u, v: mp.log(mp.exp(u) - mp.exp(v)), a, b)

for a in [1e-10, 1e-3, 0.3, 0.99, 1.0, 2.5, 9.9, 10.1, 40.0, 333.3, 2000.0]:
    for factor in [1e-6, 0.01, 0.3, 0.8, 0.97, 1.0, 1.02, 1.3, 3.0, 20.0]:
        for x in {a * factor, factor}:
            row("gamma_p", lambda u, v: mp.gammainc(u, 0, v, regularized=True), a, x)
            row("gamma_q", lambda u, v: mp.gammainc(u, v, mp.inf, regularized=True), a, x)
for a, x in [(1e5, 1.001e5), (1e6, 9.99e5)]:
    row("gamma_p", lambda u, v: mp.gammainc(u, 0, v, regularized=True), a, x)
for a in [0.01, 0.5, 1.0, 2.5, 9.0, 11.0, 60.0, 1000.0]:
    for b in [0.02, 0.5, 1.0, 3.0, 12.5, 200.0, 3000.0]:
        mode = a / (a + b)
        for x in {1e-5, 0.1, 0.5, 0.9, mode, min(1.1 * mode, 0.999)}:
            row("beta_inc", beta_inc, a, b, x)
for dof in [0.1, 0.5, 1.0, 2.0, 3.3, 5.0, 30.0, 1e3, 1e6]:
    for x in [-1e5, -30.0, -4.0, -1.0, -0.2, -1e-6, 0.0, 1e-6, 0.5, 1.5, 7.0, 100.0]:
        row("student_cdf", student, dof, x)
for dof, x in [(0.01, -1e200), (0.01, 1e200), (0.01, -1e120), (0.01, -1e90), (2.5, -1e110)]:
    row("student_cdf", student, dof, x)
