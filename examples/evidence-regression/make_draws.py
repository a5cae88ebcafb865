"""A straight line with conjugate priors: data, a model file, four chains in Stan's format, and the exact evidence.

beta | sigma ~ normal(0, 2 sigma), sigma^2 ~ inverse-gamma(3, 2), y ~ normal(beta1 + beta2 x, sigma).
The chains are a Gibbs sampler's, 200 iterations of warm-up saved with 1000 draws each.
"""

import math
import random
from pathlib import Path

FOLDER = Path(__file__).parent
SHAPE, RATE, PRIOR_SCALE = 3.0, 2.0, 2.0
WARMUP, KEPT, CHAINS = 200, 1000, 4

random.seed(7)
x = [round(-1 + 0.1 * i, 1) for i in range(21)]
y = [round(0.5 + 1.5 * v + random.gauss(0, 0.4), 2) for v in x]
n = len(x)
sx, sy = sum(x), sum(y)
sxx, sxy, syy = (sum(a * b for a, b in zip(p, q)) for p, q in [(x, x), (x, y), (y, y)])

# The posterior of beta given sigma is normal with this mean and covariance sigma^2 * inverse(precision).
p11, p12, p22 = n + PRIOR_SCALE**-2, sx, sxx + PRIOR_SCALE**-2
determinant = p11 * p22 - p12 * p12
mean1, mean2 = (p22 * sy - p12 * sxy) / determinant, (p11 * sxy - p12 * sy) / determinant


def squares(b1, b2):
    """The residual sum of squares and the prior's part of it."""
    residual = syy - 2 * b1 * sy - 2 * b2 * sxy + n * b1 * b1 + 2 * b1 * b2 * sx + b2 * b2 * sxx
    return residual, (b1 * b1 + b2 * b2) / PRIOR_SCALE**2


def log_density(b1, b2, sigma):
    """Likelihood times prior, with every constant, as a density of (beta1, beta2, sigma)."""
    residual, prior = squares(b1, b2)
    likelihood = -0.5 * n * math.log(2 * math.pi) - n * math.log(sigma) - residual / (2 * sigma**2)
    coefficients = -math.log(2 * math.pi * PRIOR_SCALE**2) - 2 * math.log(sigma) - prior / (2 * sigma**2)
    # The inverse gamma density of sigma^2, times 2 sigma for the density of sigma.
    spread = SHAPE * math.log(RATE) - math.lgamma(SHAPE) - (SHAPE + 1) * 2 * math.log(sigma) - RATE / sigma**2
    return likelihood + coefficients + spread + math.log(2 * sigma)


def exact():
    """The evidence in closed form."""
    shape = SHAPE + n / 2
    rate = RATE + 0.5 * (syy - mean1 * sy - mean2 * sxy)
    return (
        -0.5 * n * math.log(2 * math.pi)
        - 0.5 * math.log(determinant * PRIOR_SCALE**4)
        + SHAPE * math.log(RATE)
        - math.lgamma(SHAPE)
        + math.lgamma(shape)
        - shape * math.log(rate)
    )


def chain(number):
    """One chain as Stan writes it."""
    lines = [
        "# stan_version_major = 2",
        "# model = line_model",
        "# method = sample (Default)",
        f"#     num_samples = {KEPT} (Default)",
        f"#     num_warmup = {WARMUP}",
        "#     save_warmup = true",
        "#     thin = 1 (Default)",
        f"# id = {number}",
        "lp__,accept_stat__,beta.1,beta.2,sigma",
    ]
    b1, b2 = random.gauss(0, 2), random.gauss(0, 2)
    l11 = math.sqrt(p11)
    l21 = p12 / l11
    l22 = math.sqrt(p22 - l21 * l21)
    for iteration in range(WARMUP + KEPT):
        if iteration == WARMUP:
            lines.append("# Adaptation terminated")
        residual, prior = squares(b1, b2)
        sigma = math.sqrt((RATE + 0.5 * (residual + prior)) / random.gammavariate(SHAPE + 0.5 * n + 1, 1))
        z2 = random.gauss(0, 1) / l22
        z1 = (random.gauss(0, 1) - l21 * z2) / l11
        b1, b2 = mean1 + sigma * z1, mean2 + sigma * z2
        values = [log_density(b1, b2, sigma), 1, b1, b2, sigma]
        lines.append(",".join(f"{v:.12g}" for v in values))
    lines.append("#  Elapsed Time: 0.01 seconds (Total)")
    return "\n".join(lines) + "\n"


def model():
    """The model file: the same log-density in terms of the data's sums."""
    return f'''# A straight line through {n} points, as make_draws.py simulates them: likelihood times prior, with every constant,
# written with the sums of the data. Stan's beta.1 and beta.2 are found as beta_1 and beta_2.
variables   = ["beta_1", "beta_2", "sigma"]
domain      = {{ sigma = "positive" }}
log_density = """
  - {n / 2}*log(2*pi) - {n}*log(sigma)
  - ({syy:.10g} - 2*{sy:.10g}*beta_1 - 2*{sxy:.10g}*beta_2
     + {n}*beta_1^2 + {2 * sx:.10g}*beta_1*beta_2 + {sxx:.10g}*beta_2^2)/(2*sigma^2)
  - log(8*pi) - 2*log(sigma) - (beta_1^2 + beta_2^2)/(8*sigma^2)
  + 3*log(2) - lgamma(3) - 8*log(sigma) - 2/sigma^2 + log(2*sigma)
"""
'''


if __name__ == "__main__":
    (FOLDER / "data.csv").write_text("x,y\n" + "".join(f"{a},{b}\n" for a, b in zip(x, y)))
    (FOLDER / "model.toml").write_text(model())
    for number in range(1, CHAINS + 1):
        (FOLDER / f"chain_{number}.csv").write_text(chain(number))
    print(f"log evidence {exact():.8f}")
