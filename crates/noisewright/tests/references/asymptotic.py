"""Writes asymptotic.csv: errors of MATH §3 and §4 to 17 digits, by mpmath with 40 digits.

Integrals over the line are trapezoidal sums, which converge geometrically for these analytic integrands; each is
computed with two step sizes that must agree to 20 digits. Needs mpmath only: python asymptotic.py
"""

import csv
import pathlib

from mpmath import exp, inverse, log, matrix, mp, mpf, nstr, pi, quad, sqrt

mp.dps = 40


def normal(mean, variance):
    mean, variance = mpf(mean), mpf(variance)
    return lambda x: exp(-((x - mean) ** 2) / (2 * variance)) / sqrt(2 * pi * variance)


def student(dof, location, scale):
    dof, location, scale = mpf(dof), mpf(location), mpf(scale)
    factor = mp.gamma((dof + 1) / 2) / (mp.gamma(dof / 2) * sqrt(dof * pi) * scale)
    return lambda x: factor * (1 + ((x - location) / scale) ** 2 / dof) ** (-(dof + 1) / 2)


def gaussian_mean(free):
    density = normal(0, 1)
    return density, (lambda x: [x, mpf(-1)]) if free else (lambda x: [x])


def gaussian_variance(free):
    density = normal(0, 1)
    return density, (lambda x: [x * x / 2, mpf(-1)]) if free else (lambda x: [(x * x - 1) / 2])


def quartic(free):
    u = lambda x: exp(x * x / 2 - x**4 / 4)
    z = quad(u, [-8, -4, -2, -1, 0, 1, 2, 4, 8])
    return (lambda x: u(x) / z), (lambda x: [x * x / 2, -(x**4) / 4, mpf(-1)])


WEIGHTS = {
    "js": lambda r: 1 / (1 + r),
    "kl": lambda r: mpf(1),
    "reverse-kl": lambda r: 1 / r,
    "hellinger": lambda r: 1 / (2 * sqrt(r)),
    "pearson": lambda r: r,
    "power:0.3": lambda r: r ** mpf("-0.3"),
}


def trapezoid(f, size, reach, step):
    total, n = [mpf(0)] * size, int(reach / step)
    for k in range(-n, n + 1):
        total = [t + v for t, v in zip(total, f(k * step))]
    return [t * step for t in total]


def converged(f, size, reach, step):
    # The second sum is over the odd multiples of half the step; both together are the finer rule.
    coarse = trapezoid(f, size, reach, step)
    fine = trapezoid(f, size, reach, step / 2)
    for a, b in zip(coarse, fine):
        assert abs(a - b) <= abs(b) * mpf("1e-20") or abs(b) < mpf("1e-30") * max(map(abs, fine)), (a, b)
    return fine


def error(density, score, noise, nu, loss, reach=20, step=None):
    k = len(score(mpf(0)))
    weight = WEIGHTS[loss]

    def moments(x):
        p, q, psi = density(x), noise(x), score(x)
        r = p / (nu * q)
        w = weight(r)
        v = w * w * (1 + r)
        outer = [a * b for a in psi for b in psi]
        return [p * w * a for a in psi] + [p * w * t for t in outer] + [p * v * t for t in outer]

    values = converged(moments, k + 2 * k * k, mpf(reach), step or mpf(1) / 16)
    m = matrix(values[:k])
    square = lambda start: matrix(k, k) + matrix([values[start + i * k : start + (i + 1) * k] for i in range(k)])
    bread = inverse(square(k))
    meat = square(k + k * k) - (1 + 1 / nu) * (m * m.T)
    sigma = bread * meat * bread
    return (1 + nu) * sum(sigma[i, i] for i in range(k))


def correlation_error(data, noise, nu):
    """Two standard Gaussians: in (x ± y)/√2 both densities factor; JS loss."""
    data, noise = mpf(data), mpf(noise)
    rest = 1 - data * data

    def score(a, b):
        # u = −(x² − 2ρxy + y²)/(2(1−ρ²)) − log(1−ρ²)/2 with x² + y² = a² + b², 2xy = a² − b².
        return ((a * a - b * b) / 2 * (1 + data * data) - data * (a * a + b * b)) / rest**2 + data / rest

    log_p = lambda rho, a, b: -a * a / (2 * (1 + rho)) - b * b / (2 * (1 - rho)) - log(1 - rho * rho) / 2
    step, n = mpf(1) / 8, 96
    m = i = mpf(0)
    for j in range(-n, n + 1):
        for l in range(-n, n + 1):
            a, b = j * step, l * step
            p, q = log_p(data, a, b), log_p(noise, a, b)
            weighted = exp(p) / (1 + exp(p - q) / nu)
            psi = score(a, b)
            m += weighted * psi
            i += weighted * psi * psi
    m, i = m * step * step / (2 * pi), i * step * step / (2 * pi)
    return (1 + nu) * (i - (1 + 1 / nu) * m * m) / i**2


def nce_of_z(noise, nu):
    share = nu / (1 + nu)
    data = normal(0, 1)
    overlap = lambda x: [data(x) * noise(x) / ((1 - share) * data(x) + share * noise(x))]
    kept = converged(overlap, 1, mpf(20), mpf(1) / 16)[0]
    return (1 + nu) ** 2 / nu * (1 - kept) / kept


def rows():
    one, three = mpf(1), mpf(3)
    for nu in [one, three]:
        yield "nce-of-z", "", "normal(0.7, 1.5)", nu, "js", nce_of_z(normal("0.7", "1.5"), nu)
    noises = {
        "normal(0.7, 1.5)": normal("0.7", "1.5"),
        "normal(-0.4, 0.8)": normal("-0.4", "0.8"),
    }
    for words, noise in noises.items():
        for nu in [one, three, mpf("0.2")]:
            for loss in WEIGHTS:
                for name, system in [("mean", gaussian_mean), ("variance", gaussian_variance)]:
                    for free in [False, True]:
                        # Pearson: ∫ p_d⁴/p_n³ exists for these only with the wider noise.
                        if loss == "pearson" and words != "normal(0.7, 1.5)":
                            continue
                        yield name, "free" if free else "", words, nu, loss, error(*system(free), noise, nu, loss)
    yield "mean", "", "normal(1.42701, 1)", one, "js", error(*gaussian_mean(False), normal("1.42701", 1), one, "js")
    wide = normal(0, "4.24226")
    yield "variance", "", "normal(0, 4.24226)", one, "js", error(*gaussian_variance(False), wide, one, "js")
    for shift in [13, 30]:
        for name, system in [("mean", gaussian_mean), ("variance", gaussian_variance)]:
            for free in [False, True]:
                far = error(*system(free), normal(shift, 1), one, "js", reach=45, step=mpf(1) / 128)
                yield name, "free" if free else "", f"normal({shift}, 1)", one, "js", far
    heavy = error(*quartic(True), normal(0, 2), one, "js")
    yield "quartic", "free", "normal(0, 2)", one, "js", heavy
    for data, noise in [("0.3", "-0.2332"), ("0.3", "0.3"), ("0.3", "0"), ("-0.7", "0.5")]:
        for nu in [one, mpf("0.25")]:
            yield f"correlation {data}", "", f"normal({noise})", nu, "js", correlation_error(data, noise, nu)


if __name__ == "__main__":
    with open(pathlib.Path(__file__).with_name("asymptotic.csv"), "w", newline="") as file:
        writer = csv.writer(file, delimiter=";")
        writer.writerow(["system", "constant", "noise", "nu", "loss", "error"])
        for *row, nu, loss, value in rows():
            writer.writerow([*row, nstr(nu, 17), loss, nstr(value, 17)])
