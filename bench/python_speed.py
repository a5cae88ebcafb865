"""What Python adds: log Z of 10⁷ + 10⁷ values, and a JAX energy with 10⁵ points. Run with the package and JAX installed."""

import time

import numpy as np

import noisewright as nw
from noisewright import _core


def clocks():
    return np.array([time.perf_counter(), time.process_time()])


def timed(owner, name, spent):
    """Replaces a function by one that adds the time inside it."""
    inner = getattr(owner, name)

    def outer(*arguments):
        start = clocks()
        try:
            return inner(*arguments)
        finally:
            spent[:] += clocks() - start

    setattr(owner, name, outer)
    return inner


def normalizer(rows=10**7):
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=rows), rng.normal(0.5, 1.3, size=rows)
    arrays = [-(x**2) / 2, -((x - 0.5) ** 2) / 3.38, -(y**2) / 2, -((y - 0.5) ** 2) / 3.38]
    nw.log_z(*(array[:1000] for array in arrays))
    for _ in range(3):
        inside = np.zeros(2)
        original = timed(_core, "log_z", inside)
        start = clocks()
        nw.log_z(*arrays)
        whole = clocks() - start
        _core.log_z = original
        print(
            f"log_z of {rows:.0e} + {rows:.0e}: {whole[0]:.3f} s, {whole[1]:.3f} CPU s; "
            f"outside the library {1e3 * (whole - inside)[0]:.2f} ms, {100 * (whole - inside)[0] / inside[0]:.2f} %"
        )


def energy(rows=10**5):
    from jax import numpy as jnp

    def log_density(x, theta):
        return -jnp.exp(theta[1]) * jnp.sqrt(1 + (x[:, 0] - theta[0]) ** 2) + theta[2] * jnp.tanh(x[:, 0])

    x = np.random.default_rng(1).normal(size=rows)
    model = nw.Model.from_functions(log_density, start=[0.2, 0.5, 0.1])
    # The first fit compiles; JAX's own time is that inside its compiled functions.
    nw.fit(model, x, nu=2)
    for _ in range(3):
        spent = np.zeros(2)
        calls = model._evaluator._calls
        originals = {name: timed(calls, name, spent) for name in ("value", "slope", "both", "curvature")}
        start = clocks()
        fit = nw.fit(model, x, nu=2)
        whole = clocks() - start
        for name, original in originals.items():
            setattr(calls, name, original)
        print(
            f"JAX energy, {rows} points, {fit.noise_points} noise points, {fit.iterations} steps: {whole[0]:.2f} s, "
            f"{whole[1]:.2f} CPU s; JAX alone {spent[0]:.2f} s: {whole[0] / spent[0]:.2f} times"
        )


if __name__ == "__main__":
    normalizer()
    energy()
