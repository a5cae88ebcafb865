"""An energy of one's own in JAX: gradients come from JAX, batches are large, the interpreter is free."""

import jax.numpy as jnp
import numpy as np

import noisewright as nw


def log_density(x, theta):
    """A soft ring of radius r in the plane, and a pull to one side: no closed form for its constant."""
    radius = jnp.sqrt((x**2).sum(axis=1) + 1e-12)
    return -jnp.exp(theta[1]) * (radius - theta[0]) ** 2 + theta[2] * x[:, 0]


# Draws of the ring at r = 2, sharpness e, pull 0.3, by rejection from a wide normal.
true = np.array([2.0, 1.0, 0.3])
rng = np.random.default_rng(7)
proposals = rng.normal(0, 2.5, size=(400_000, 2))
log_ratio = np.asarray(log_density(proposals, true)) + (proposals**2).sum(axis=1) / (2 * 2.5**2)
data = proposals[np.log(rng.uniform(size=len(proposals))) < log_ratio - log_ratio.max()][:20_000]

model = nw.Model.from_functions(
    log_density,
    parameters={"radius": (1.5, 0.0, np.inf), "log_sharpness": 0.5, "pull": 0.0},
    variables=["x", "y"],
)
fit = nw.fit(model, data, nu=5)
print(fit.summary())
for estimate, truth in zip(fit.parameters.values(), true):
    assert abs(estimate.estimate - truth) < 4 * estimate.se

# The constant that came with the fit, against a sum over a fine grid.
side = np.linspace(-8, 8, 801)
grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
values = model.log_density(grid, **{name: e.estimate for name, e in fit.parameters.items()})
log_z = np.log(np.exp(values).sum() * (side[1] - side[0]) ** 2)
constant = fit["log_normalizer"]
print(f"log Z = {constant.estimate:.4f} ± {constant.se_noise:.4f}; by a grid {log_z:.4f}")
assert abs(constant.estimate - log_z) < 5 * constant.se_noise
