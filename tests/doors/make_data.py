"""Writes the data files of the doors' list of inputs: python tests/doors/make_data.py (NumPy; the files are committed)."""

from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parent / "data"


def write(name, **columns):
    rows = zip(*(np.asarray(column, dtype=float) for column in columns.values()))
    text = "\n".join([",".join(columns), *(",".join(repr(float(v)) for v in row) for row in rows)])
    (FOLDER / f"{name}.csv").write_text(text + "\n")


def autoregressive(rng, count, memory):
    x = np.empty(count)
    x[0] = rng.normal()
    for i in range(1, count):
        x[i] = memory * x[i - 1] + np.sqrt(1 - memory**2) * rng.normal()
    return x


def main():
    rng = np.random.default_rng(20261116)
    FOLDER.mkdir(exist_ok=True)
    write(
        "normal",
        x=rng.normal(1, 2, 300),
        n=rng.integers(0, 4, 300),
        w=rng.gamma(2, 0.5, 300),
        g=np.repeat(np.arange(30), 10),
        c=np.repeat([1, 2, 3], 100),
    )
    x = rng.normal(size=400)
    write("plane", x=x, y=0.6 * x + 0.8 * rng.normal(size=400), n=rng.integers(1, 4, 400))
    write("positive", x=rng.gamma(2, 1.5, 300))
    write("unit", x=rng.beta(2, 3, 300))
    write("counts", k=rng.poisson(3, 300))
    write("even", k=np.clip(np.round(rng.normal(9, 0.9, 300)), 0, None))
    write("wide", k=rng.negative_binomial(0.4, 0.05, 300))
    spins = rng.choice([-1.0, 1.0], size=(400, 4))
    spins[:, 1] = np.where(rng.random(400) < 0.75, spins[:, 0], spins[:, 1])
    write("spins", **{f"s{j}": spins[:, j] for j in range(4)})
    write("separated", s0=np.ones(40), s1=rng.choice([-1.0, 1.0], 40), s2=rng.choice([-1.0, 1.0], 40))
    write("angles", x=rng.vonmises(0.5, 2, 300))
    v = rng.normal([1, 0.5, 0], 0.5, (200, 3))
    v /= np.linalg.norm(v, axis=1)[:, None]
    write("directions", a=v[:, 0], b=v[:, 1], c=v[:, 2])
    write("well", x=np.concatenate([rng.normal(-1.6, 0.55, 150), rng.normal(1.6, 0.55, 150)]))
    write("tails", x=1 + 2 * rng.standard_t(4, 300))
    write("constant", x=np.full(20, 3.5))
    write("few", x=[0.5, 1.5])
    write("first", x=rng.normal(0.7, 1, 300), y=rng.normal(0, 1.2, 300), n=rng.integers(1, 3, 300))
    write("second", x=rng.normal(0, 1, 400), y=rng.normal(0, 1, 400))
    write("apart", x=rng.uniform(3, 4, 60), y=rng.normal(size=60))
    d, n = rng.normal(1, 1, 500), rng.normal(0, 2, 700)
    density = lambda x: -((x - 1) ** 2) / 2
    noise = lambda x: -(x**2) / 8 - np.log(2) - 0.5 * np.log(2 * np.pi)
    write("drawn", log_f=density(d), log_noise=noise(d), chain=np.repeat([1, 2], 250))
    write("noise", log_f=density(n), log_noise=noise(n))
    chain = autoregressive(rng, 600, 0.8)
    write("chain", log_f=-(chain**2) / 2, log_noise=-(chain**2) / 4 - 0.5 * np.log(4 * np.pi))
    y = rng.normal(0, np.sqrt(2), 600)
    write("chain_noise", log_f=-(y**2) / 2, log_noise=-(y**2) / 4 - 0.5 * np.log(4 * np.pi))
    far = rng.normal(30, 1, 200)
    write("far", log_f=-((far - 30) ** 2) / 2, log_noise=-(far**2) / 2 - 0.5 * np.log(2 * np.pi))
    near = rng.normal(0, 1, 200)
    write("near", log_f=-((near - 30) ** 2) / 2, log_noise=-(near**2) / 2 - 0.5 * np.log(2 * np.pi))
    state = np.repeat([1, 2, 3], 200)
    z = rng.normal(0, np.array([1.0, 1.5, 2.0])[state - 1])
    write("states", state=state, **{f"u_{k}": -(z**2) / (2 * s**2) for k, s in ((1, 1.0), (2, 1.5), (3, 2.0))})
    p = rng.multivariate_normal([1, -1], [[1, 0.5], [0.5, 2]], 800)
    write("posterior", x=p[:, 0], y=p[:, 1])
    write("rate", x=rng.gamma(3, 0.5, 800))
    # The second draw cannot have come from its own state.
    write("impossible", state=[1, 1, 2, 2], u_1=[0, -np.inf, 0, -1], u_2=np.zeros(4), u_3=np.zeros(4))
    walk = np.stack([autoregressive(rng, 800, 0.6) for _ in range(2)], axis=1) @ np.linalg.cholesky([[1, 0.5], [0.5, 2]]).T
    write("walks", x=1 + walk[:, 0], y=walk[:, 1] - 1, chain=np.repeat([1, 2], 400))
    strata(np.random.default_rng(20261119))


def strata(rng):
    """Choices among two to five alternatives each, and the same with a stratum of which none was chosen."""
    number = np.repeat(np.arange(1, 81), 2 + np.arange(80) % 4)
    x, y = np.round(rng.normal(size=len(number)), 4), np.round(rng.random(len(number)), 4)
    # The largest of utilities with Gumbel errors is chosen with the probabilities of the logit.
    utility = 0.8 * x - 0.5 * y - 0.2 * x**2 + rng.gumbel(size=len(number))
    chosen = np.array([utility[k] == utility[number == number[k]].max() for k in range(len(number))], dtype=int)
    write("strata", s=number, c=chosen, x=x, y=y, g=(number - 1) // 5)
    write("unchosen", s=number, c=np.where(number == 7, 0, chosen), x=x, y=y, g=(number - 1) // 5)


if __name__ == "__main__":
    main()
