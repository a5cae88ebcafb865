"""CPU time and memory as rows, parameters and states grow, beside statsmodels, scikit-learn and the same by hand.

    python bench/cost.py [growth | wide | functions | theory | states] ... [--full]

Needs the package; every line is a process of its own, whose CPU time (all threads, without imports and inputs) and peak
memory it prints. `--full` has the sizes that the project sets itself, which take an hour of CPU time; without it they are
ten times smaller. A stream is read from a file by the command, `noisewright` or what NOISEWRIGHT names.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

PATIENCE = 1800  # seconds for one line


def gaussian(rows, dimension, seed=1):
    rng = np.random.default_rng(seed)
    gaps = np.abs(np.subtract.outer(np.arange(dimension), np.arange(dimension)))
    return rng.normal(size=(rows, dimension)) @ np.linalg.cholesky(0.3**gaps).T


def wider(rows, dimension):
    return np.sqrt(1.5) * np.random.default_rng(2).normal(size=(rows, dimension))


def log_wider(x):
    return -(x**2).sum(1) / 3 - x.shape[1] / 2 * np.log(3 * np.pi)


def names(dimension):
    return [f"x{i}" for i in range(dimension)]


def quadratic(dimension):
    """All x_i and x_i x_j: (d + 1)(d + 2)/2 unknowns with the constant."""
    of = names(dimension)
    return of + [f"{a}*{b}" for i, a in enumerate(of) for b in of[i:]]


def columns(x):
    d = x.shape[1]
    return np.column_stack([x] + [x[:, i] * x[:, j] for i in range(d) for j in range(i, d)])


def both(rows, dimension):
    data, noise = gaussian(rows, dimension), wider(rows, dimension)
    return data, noise, np.r_[np.ones(rows), np.zeros(rows)]


# Contestants: each prepares its input and returns what is timed, which gives a number to compare and its error.


def fit(rows, dimension):
    import noisewright as nw

    model = nw.Model.from_features(quadratic(dimension), variables=names(dimension))
    data = gaussian(rows, dimension)
    noise = f"normal({[0.0] * dimension}, {[1.5] * dimension})"

    def run():
        found = nw.fit(model, data, noise=noise, nu=1, progress=False)
        assert found.converged
        return answer(found, dimension)

    return run


def answer(found, at):
    estimate = list(found.parameters.values())[at]
    return estimate.estimate, estimate.se


def ratio(rows, dimension):
    import noisewright as nw

    model = nw.Model.from_features(quadratic(dimension), variables=names(dimension))
    data, noise, _ = both(rows, dimension)

    def run():
        found = nw.ratio(model, data, noise, progress=False)
        return answer(found, dimension)

    return run


def stream(rows, dimension):
    """The command on a file that is read anew in every pass."""
    folder = Path(tempfile.mkdtemp(prefix="noisewright-cost-"))
    of = ", ".join(f'"{name}"' for name in names(dimension))
    features = ", ".join(f'"{feature}"' for feature in quadratic(dimension))
    (folder / "model.toml").write_text(f"variables = [{of}]\nfeatures = [{features}]\n")
    # Not mapped: a child's peak memory begins with that of its parent.
    with open(folder / "data.npy", "wb") as file:
        np.lib.format.write_array_header_1_0(file, {"descr": "<f8", "fortran_order": False, "shape": (rows, dimension)})
        for start in range(0, rows, 10**5):
            file.write(gaussian(min(10**5, rows - start), dimension, seed=start).tobytes())
    noise = f"normal({[0.0] * dimension}, {[1.5] * dimension})"
    command = [os.environ.get("NOISEWRIGHT", "noisewright"), "fit", "model.toml", "data.npy", "--stream", "--json"]

    def run():
        done = subprocess.run([*command, "--noise", noise, "--nu", "1"], capture_output=True, cwd=folder, check=True)
        found = list(json.loads(done.stdout)["parameters"].values())[dimension]
        for file in folder.iterdir():
            file.unlink()
        folder.rmdir()
        return found["estimate"], found["se"]

    return run


def statsmodels_glm(rows, dimension):
    import statsmodels.api as sm

    data, noise, y = both(rows, dimension)

    def run():
        x = np.concatenate([data, noise])
        design = np.column_stack([columns(x), -np.ones(2 * rows)])
        found = sm.GLM(y, design, family=sm.families.Binomial(), offset=-log_wider(x)).fit(cov_type="HC0")
        return found.params[dimension], found.bse[dimension]

    return run


def sklearn_logistic(rows, dimension, solver):
    from sklearn.linear_model import LogisticRegression

    data, noise, y = both(rows, dimension)

    def run():
        model = LogisticRegression(C=np.inf, solver=solver, max_iter=1000, tol=1e-6)
        model.fit(columns(np.concatenate([data, noise])), y)
        return model.coef_[0, dimension], 0.0

    return run


def numpy_newton(rows, dimension):
    """Newton's method and the sandwich, with all features in memory."""
    data, noise, y = both(rows, dimension)

    def run():
        x = np.concatenate([data, noise])
        a, offset = np.column_stack([columns(x), -np.ones(2 * rows)]), -log_wider(x)
        # At the noise itself, where all ratios are one: at zero they are so large that the Hessian vanishes.
        beta = np.linalg.lstsq(a[: 2 * a.shape[1]], -offset[: 2 * a.shape[1]])[0]
        for _ in range(50):
            p = 1 / (1 + np.exp(-offset - a @ beta))
            bend = (a * (p * (1 - p))[:, None]).T @ a
            step = np.linalg.solve(bend, a.T @ (y - p))
            beta += step
            if np.abs(step).max() < 1e-8:
                break
        terms = a * (y - p)[:, None]
        meat = sum(np.cov(terms[y == c].T) * rows for c in (0, 1))
        inverse = np.linalg.inv(bend)
        return beta[dimension], np.sqrt((inverse @ meat @ inverse)[dimension, dimension])

    return run


# A non-linear energy of 20 parameters: ripples under a quadratic wall in each of five variables. All of them are told apart well, so
# that the time is that of a search and not of a valley.

START = np.linspace(0.2, 0.6, 20)


def energy(np):
    def log_density(x, theta):
        a, b, c, d = theta[0:5], theta[5:10], theta[10:15], theta[15:20]
        return (a * x + b * np.sin(2 * x) + c * np.cos(2 * x) - np.exp(d) * x**2 / 2).sum(1)

    return log_density


def draws_of_energy(rows):
    """Draws of the energy's density at its start, variable by variable from a fine table."""
    grid = np.linspace(-8, 8, 20001)
    rng, out = np.random.default_rng(3), np.empty((rows, 5))
    for j in range(5):
        a, b, c, d = START[j], START[5 + j], START[10 + j], START[15 + j]
        u = a * grid + b * np.sin(2 * grid) + c * np.cos(2 * grid) - np.exp(d) * grid**2 / 2
        mass = np.cumsum(np.exp(u - u.max()))
        out[:, j] = np.interp(rng.uniform(size=rows), mass / mass[-1], grid)
    return out


def formula_of_energy():
    """The same energy as a formula."""
    parts = (f"a{j}*x{j} + b{j}*sin(2*x{j}) + c{j}*cos(2*x{j}) - exp(d{j})*x{j}^2/2" for j in range(5))
    start = {f"{letter}{j}": 0.9 * START[5 * i + j] for i, letter in enumerate("abcd") for j in range(5)}
    return " + ".join(parts), start


def function(rows, library):
    """A fit of the energy: written with JAX or with PyTorch, or as a formula."""
    import noisewright as nw

    data = draws_of_energy(rows)
    if library == "formula":
        formula, start = formula_of_energy()
        model = nw.Model.from_formula(formula, variables=names(5), parameters=start)
    else:
        if library == "jax":
            import jax.numpy as module
        else:
            import torch as module
        model = nw.Model.from_functions(energy(module), start=0.9 * START, variables=names(5))
    noise = f"normal({[0.0] * 5}, {[1.5] * 5})"

    def run():
        found = nw.fit(model, data, noise=noise, nu=1, progress=False)
        assert found.converged
        return answer(found, 5)

    return run


def by_hand_inputs(rows):
    return draws_of_energy(rows), wider(rows, 5)


def jax_by_hand(rows, _):
    """L-BFGS on the loss, then the sandwich from scores and the Hessian, by JAX on whole samples."""
    import jax
    import jax.numpy as jnp
    from scipy.optimize import minimize

    jax.config.update("jax_enable_x64", True)
    data, noise = by_hand_inputs(rows)
    log_density = energy(jnp)
    offsets = [jnp.asarray(log_wider(x)) for x in (data, noise)]
    samples = [jnp.asarray(x) for x in (data, noise)]

    def terms(beta, side):
        g = log_density(samples[side], beta[:-1]) - beta[-1] - offsets[side]
        return jnp.logaddexp(0, g if side else -g)

    def loss(beta):
        return sum(terms(beta, side).mean() for side in (0, 1))

    def row(beta, x, offset, side):
        g = log_density(x[None], beta[:-1])[0] - beta[-1] - offset
        return jnp.logaddexp(0, g if side else -g)

    def run():
        found = minimize(jax.jit(jax.value_and_grad(loss)), np.r_[0.9 * START, 0.0], jac=True, method="L-BFGS-B",
                         options={"maxiter": 2000, "ftol": 1e-14, "gtol": 1e-7})
        inverse = np.linalg.inv(jax.jit(jax.hessian(loss))(found.x))
        meat = 0
        for side in (0, 1):
            score = jax.jit(jax.vmap(jax.grad(row), (None, 0, 0, None)), static_argnums=3)
            meat = meat + np.cov(np.asarray(score(found.x, samples[side], offsets[side], side)).T) / rows
        return found.x[5], np.sqrt((inverse @ meat @ inverse)[5, 5])

    return run


def torch_by_hand(rows, _):
    """The same by PyTorch."""
    import torch
    from scipy.optimize import minimize

    data, noise = by_hand_inputs(rows)
    log_density = energy(torch)
    offsets = [torch.tensor(log_wider(x)) for x in (data, noise)]
    samples = [torch.tensor(x) for x in (data, noise)]

    def term(g, side):
        return torch.nn.functional.softplus(g if side else -g)

    def loss(beta):
        return sum(term(log_density(samples[s], beta[:-1]) - beta[-1] - offsets[s], s).mean() for s in (0, 1))

    def value(at):
        beta = torch.tensor(at, requires_grad=True)
        there = loss(beta)
        return there.item(), torch.autograd.grad(there, beta)[0].numpy()

    def run():
        found = minimize(value, np.r_[0.9 * START, 0.0], jac=True, method="L-BFGS-B",
                         options={"maxiter": 2000, "ftol": 1e-14, "gtol": 1e-7})
        at = torch.tensor(found.x)
        inverse = np.linalg.inv(torch.func.hessian(loss)(at).numpy())
        meat = 0
        for side in (0, 1):

            def row(beta, x, offset, side=side):
                return term(log_density(x[None], beta[:-1])[0] - beta[-1] - offset, side)

            scores = torch.func.vmap(torch.func.grad(row), (None, 0, 0))(at, samples[side], offsets[side])
            meat = meat + np.cov(scores.numpy().T) / rows
        return found.x[5], np.sqrt((inverse @ meat @ inverse)[5, 5])

    return run


# The theory of a design, and many states.


def theory(rows, what):
    import noisewright as nw

    model = nw.Model.from_features(quadratic(10), variables=names(10))
    data = gaussian(rows, 10)
    at = {name: e.estimate for name, e in nw.fit(model, data[:20_000], nu=1, progress=False).parameters.items()}
    noise = f"normal({[0.0] * 10}, {[1.5] * 10})"

    def run():
        if what == "error":
            found = nw.error(model, noise=noise, nu=1, at=at, data=data)
        else:
            found = nw.design(model, data, at=at, nu=1)
        return found.error, 0.0

    return run


def kernels(rows, what):
    """The theory of a design in three variables against kernels at all of the rows, each of which every other row evaluates."""
    import noisewright as nw

    model = nw.Model.from_features(quadratic(3), variables=names(3))
    data = gaussian(rows, 3)
    at = {name: e.estimate for name, e in nw.fit(model, data, nu=1, progress=False).parameters.items()}

    def run():
        if what == "error":
            return nw.error(model, noise="kde", nu=1, at=at, data=data).error, 0.0
        # Kernels at the rows among what a design weighs.
        dictionary = f"dictionary(kde, normal({[0.0] * 3}, {(1.5 * np.eye(3)).tolist()}))"
        return nw.design(model, data, noise=dictionary, at=at, nu=1).error, 0.0

    return run


def states(draws, count):
    import noisewright as nw

    rng = np.random.default_rng(2)
    centres, widths = np.linspace(0, 40, count), np.linspace(1, 1.5, count)
    x = np.concatenate([rng.normal(c, w, size=draws) for c, w in zip(centres, widths)])
    reduced = (x[None, :] - centres[:, None]) ** 2 / (2 * widths[:, None] ** 2)

    def run():
        found = nw.log_z_states(-reduced, [draws] * count, independent=True, progress=False)
        return found.log_z[-1] - found.log_z[0], 0.0

    return run


def lines(section, full):
    rows = [10**5, 10**6] if full else [10**4, 10**5]
    if section == "growth":
        for n in rows:
            for name in ("fit", "ratio", "statsmodels_glm", "sklearn_logistic", "numpy_newton"):
                yield (name, n, 10) + (("newton-cholesky",) if name == "sklearn_logistic" else ())
        yield "stream", 10**7 if full else 10**6, 10
    if section == "wide":
        for n, d in ([(50_000, 25), (100_000, 50)] if full else [(20_000, 25)]):
            for name in ("fit", "ratio", "numpy_newton"):
                yield name, n, d
            yield "sklearn_logistic", n, d, "lbfgs"
            yield "sklearn_logistic", n, d, "newton-cholesky"
    if section == "functions":
        n = 10**5 if full else 2 * 10**4
        yield "function", n, "formula"
        for library in ("jax", "torch"):
            yield "function", n, library
            yield f"{library}_by_hand", n, ""
    if section == "theory":
        for n in [20_000, 100_000, 1_000_000] if full else [20_000]:
            yield "theory", n, "error"
        yield "theory", 100_000 if full else 20_000, "design"
        for what in ("error", "design"):
            yield "kernels", 10_000 if full else 2000, what
    if section == "states":
        yield "states", 2000, 200
        yield "states", 10_000, 50


def used():
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def one(name, *arguments):
    run = globals()[name](*(int(a) if a.isdigit() else a for a in arguments))
    start = used(), time.perf_counter()
    value, error = run()
    peak = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    own = resource.getrusage(resource.RUSAGE_CHILDREN if name == "stream" else resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps({"cpu": used() - start[0], "wall": time.perf_counter() - start[1], "peak": own or peak,
                      "value": float(value), "error": float(error)}))


def main():
    wanted = [a for a in sys.argv[1:] if not a.startswith("--")]
    for section in wanted or ["growth", "wide", "functions", "theory", "states"]:
        print(f"### {section}\n\n| what | rows | size | CPU | µs a row | peak memory | answer |\n|---|---|---|---|---|---|---|")
        for name, n, *rest in lines(section, "--full" in sys.argv):
            command = [sys.executable, "-W", "ignore", __file__, "--one", name, str(n), *(str(r) for r in rest)]
            try:
                done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
                found = json.loads(done.stdout.strip().splitlines()[-1])
            except (subprocess.TimeoutExpired, ValueError, IndexError):
                print(f"| {name} | {n} | {rest} | failed | | | |", flush=True)
                continue
            shown = f"{found['value']:.6g}" + (f" ± {found['error']:.2g}" if found["error"] else "")
            size = " ".join(str(r) for r in rest)
            print(f"| {name} | {n:,} | {size} | {found['cpu']:.2f} s | {1e6 * found['cpu'] / n:.1f} | "
                  f"{found['peak'] / 1e3:.0f} MB | {shown} |", flush=True)
        print()


if __name__ == "__main__":
    if "--one" in sys.argv:
        one(*sys.argv[sys.argv.index("--one") + 1 :])
    else:
        main()
