"""Coverage of default intervals of models that are hard to fit: a kink in five spellings, Ising models of 20 and of 50 spins.

python bench/nets/hard_models.py laplace|ising20|ising50 [DATA SETS [ν]]

What maximum likelihood would have is known exactly for the first two: the information of a Laplace density is 1/s² a row for either
parameter, and 2²⁰ states are few enough to be summed over, which the default fit does; with ν it has noise. The truth of 50 spins is
where the data were drawn, and the efficiency that of the fit's own account (`efficiency`: the covariance of the scores over the rows,
inverted, against the variance that the noise makes of it).
"""

import sys

import numpy as np

import noisewright as nw

SPELLINGS = ["-sqrt((x-m)^2 + 1e-8)/s", "-abs(x-m)/s", "-max(x-m, m-x)/s", "min(x-m, m-x)/s"]
PARAMETERS = {"m": 0.0, "s": {"start": 1.0, "lower": 0.0}}


def log_density(x, theta):
    # A search may look at the bound of the scale, where there is no density.
    with np.errstate(divide="ignore", invalid="ignore"):
        return -np.abs(x[:, 0] - theta[0]) / theta[1]


def score(x, theta):
    away = x[:, 0] - theta[0]
    return np.column_stack([np.sign(away) / theta[1], np.abs(away) / theta[1] ** 2])


def spelled():
    """The Laplace density in every spelling, the last as a function of NumPy with its score."""
    for spelling in SPELLINGS:
        yield spelling, nw.Model.from_formula(spelling, variables="x", parameters=PARAMETERS)
    yield "NumPy, -abs(x - m)/s", nw.Model.from_functions(log_density, score, variables="x", parameters=PARAMETERS)


def laplace(sets):
    truth, rows = {"m": 1.0, "s": 2.0}, 1000
    expected = truth["s"] / rows**0.5
    print("| spelling | data sets | converged | coverage of m, s, % | mean error of m, s over 0.0632 | deviation of m, s over 0.0632 |")
    print("|---|---|---|---|---|---|")
    for spelling, model in spelled():
        found = []
        for seed in range(sets):
            rng = np.random.default_rng(seed)
            fit = nw.fit(model, rng.laplace(truth["m"], truth["s"], rows), seed=seed)
            found.append((fit.converged, [fit.parameters[name] for name in truth]))
        covered = [[p.lower <= t <= p.upper for p, t in zip(own, truth.values())] for _, own in found]
        errors = np.array([[p.se for p in own] for _, own in found]) / expected
        values = np.array([[p.estimate for p in own] for _, own in found])
        print(
            f"| `{spelling}` | {sets} | {sum(c for c, _ in found)} | {two(100 * np.mean(covered, 0), 1)} "
            f"| {two(errors.mean(0), 3)} | {two(values.std(0) / expected, 3)} |",
            flush=True,
        )


def two(values, digits):
    """Numbers side by side."""
    return ", ".join(f"{value:.{digits}f}" for value in values)


def dense(spins, seed=0):
    """Biases and couplings of all pairs, of the size at which spins are correlated but no order sets in."""
    rng = np.random.default_rng(seed)
    couplings = np.triu(rng.normal(0, 0.35 / spins**0.5, (spins, spins)), 1)
    return rng.normal(0, 0.2, spins), couplings + couplings.T


def sparse(spins, seed=0):
    """A ring with some chords."""
    rng = np.random.default_rng(seed)
    couplings = np.zeros((spins, spins))
    for i in range(spins):
        for step in (1, 7):
            couplings[i, (i + step) % spins] = couplings[(i + step) % spins, i] = rng.choice([-1, 1]) * 0.3
    return rng.normal(0, 0.2, spins), couplings


def enumerated(biases, couplings):
    """Every state and its probability."""
    spins = len(biases)
    states = np.array(((np.arange(2**spins)[:, None] >> np.arange(spins)) & 1) * 2 - 1, dtype=np.int8)
    log_p = np.concatenate([part @ biases + 0.5 * np.einsum("ij,ij->i", part @ couplings, part) for part in parts(states)])
    p = np.exp(log_p - log_p.max())
    return states, p / p.sum()


def parts(states):
    """Some states after others, as numbers with a point."""
    return (states[i : i + 65536].astype(float) for i in range(0, len(states), 65536))


def efficient_errors(states, p, pairs):
    """Standard errors of maximum likelihood, times the root of the rows."""
    size = states.shape[1] + len(pairs[0])
    mean, square = np.zeros(size), np.zeros((size, size))
    for part, weights in zip(parts(states), np.array_split(p, len(p) // 65536)):
        features = np.hstack([part, part[:, pairs[0]] * part[:, pairs[1]]])
        mean += weights @ features
        square += features.T @ (features * weights[:, None])
    return np.sqrt(np.diag(np.linalg.inv(square - np.outer(mean, mean))))


def gibbs(biases, couplings, rows, rng, sweeps=300):
    """One chain a row."""
    x = rng.choice([-1.0, 1.0], (rows, len(biases)))
    for _ in range(sweeps):
        for i, bias in enumerate(biases):
            x[:, i] = np.where(rng.random(rows) < 1 / (1 + np.exp(-2 * (bias + x @ couplings[i]))), 1, -1)
    return x


def ising(spins, sets, nu=None, rows=5000):
    biases, couplings = dense(spins) if spins == 20 else sparse(spins)
    pairs = np.triu_indices(spins, 1) if spins == 20 else np.nonzero(np.triu(couplings))
    truth = np.concatenate([biases, couplings[pairs]])
    states, p = enumerated(biases, couplings) if spins == 20 else (None, None)
    names = [f"s{i}" for i in range(spins)]
    features = [*names, *(f"s{i}*s{j}" for i, j in zip(*pairs))]
    model = nw.Model.from_features(features, variables=names, domain={"states": [-1, 1]})
    best = None if p is None else efficient_errors(states, p, pairs) / rows**0.5
    covered, shares, warned, values, efficiencies, accounts = [], [], 0, [], [], []
    for seed in range(sets):
        rng = np.random.default_rng(1000 + seed)
        data = gibbs(biases, couplings, rows, rng) if p is None else states[rng.choice(len(p), rows, p=p)].astype(float)
        fit = nw.fit(model, data, seed=seed, **({} if nu is None else {"nu": nu}))
        own = list(fit.parameters.values())
        covered.append([e.lower <= t <= e.upper for e, t in zip(own, truth)])
        values.append([e.estimate for e in own])
        shares.append(max(e.se_noise / e.se for e in own))
        warned += bool(fit.warnings)
        if best is not None:
            efficiencies.append((best / [e.se for e in own]) ** 2)
        if fit.efficiency is not None:
            accounts.append([np.nan if fit.efficiency[name] is None else fit.efficiency[name] for name in fit.parameters])
    covered = np.array(covered)
    spread = 100 * (0.95 * 0.05 / sets) ** 0.5
    print(f"{spins} spins, {len(truth)} parameters, {rows:,} rows, {sets} data sets: coverage {100 * covered.mean():.2f} % in all, "
          f"of single parameters {100 * covered.mean(0).min():.1f} to {100 * covered.mean(0).max():.1f} % "
          f"(one standard deviation of one: {spread:.1f} %); largest share of the noise {np.mean(shares):.3f}; warned of {warned}")
    if efficiencies:
        print(f"efficiency against maximum likelihood, by its information: {100 * np.mean(efficiencies):.1f} % on the average, "
              f"{100 * np.min(np.mean(efficiencies, 0)):.1f} % of the worst parameter; by the spread of estimates "
              f"{100 * np.mean((best / np.std(values, 0)) ** 2):.1f} %")
    if accounts:
        print(f"efficiency against maximum likelihood, by the fits' own account: {100 * np.nanmean(accounts):.1f} % on the average, "
              f"{100 * np.nanmin(np.nanmean(accounts, 0)):.1f} % of the worst parameter")


if __name__ == "__main__":
    KIND, SETS = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else None
    if KIND == "laplace":
        laplace(SETS or 2000)
    else:
        ising(int(KIND.removeprefix("ising")), SETS or 200, float(sys.argv[3]) if len(sys.argv) > 3 else None)
