"""`NCE`: the contrastive loss of an energy that is a network of JAX, a pure function of parameters, rows and a key."""

from __future__ import annotations

import copy
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..errors import FunctionError, InputError
from ..fitting import FitResult
from ..networks.dictionary import DictionaryResult, design_weights, target_matrix
from ..networks.evaluation import Evaluation, Sides
from ..networks.linear import linear_fit
from ..networks.losses import best_constant, loss_value
from ..networks.options import Options, bad_energy, bad_row
from .library import JAX, in_double
from .noise import as_noise

__all__ = ["NCE", "check_rows", "rows_of"]

#: Noise draws for the constant of a design.
CONSTANT_DRAWS = 1 << 14


class NCE:
    """Noise-contrastive estimation of log f, known up to its constant.

    Args:
        energy: a pair (apply, parameters) with `apply(parameters, x)` one number for each row of x, or a module of Equinox, which takes one row.
            In the residual form log f = log p_n + energy(x): start with a last layer of zeros, so that training starts at the noise.
        noise: anything with `sample(key, shape)` and `log_prob(x)`: flowjax, NumPyro, what `learn_noise` gives.
        nu, loss, loss_ratio, residual, quiet: as for `noisewright.torch.NCE`.
        log_z: `profile` takes the best constant of every batch; `free` makes it a parameter: `parameters` is then a pair with it.
    """

    def __init__(
        self,
        energy: Any,
        noise: Any,
        nu: float = 4.0,
        *,
        loss: str = "js",
        loss_ratio: float | None = None,
        log_z: str = "profile",
        residual: bool = True,
        quiet: bool | None = None,
    ) -> None:
        self.options = Options.checked(nu, loss, loss_ratio, log_z)
        self.noise = as_noise(noise, quiet)
        self.residual = bool(residual)
        self._apply, parameters = _taken_apart(energy)
        self.parameters: Any = (parameters, np.zeros(())) if log_z == "free" else parameters

    def with_parameters(self, parameters: Any) -> NCE:
        """The same loss at other parameters."""
        other = copy.copy(self)
        other.parameters = parameters
        return other

    def loss(self, parameters: Any, x: Any, key: Any = None, noise: Any = None) -> Any:
        """The loss of a batch, to be differentiated in its first argument; the noise is drawn with the key unless it is given."""
        with _double():
            x = rows_of(x)
            check_rows(x, "the batch")
            points = self.noise.draw(key, self.options.noise_points(len(x)), x) if noise is None else rows_of(noise)
            data, drawn = self.log_ratio(parameters, x), self.log_ratio(parameters, points)
            return loss_value(data, drawn, self.constant(parameters, data, drawn), self.options, JAX)

    def constant(self, parameters: Any, data: Any, noise: Any) -> Any:
        """log Z by the parameter, or the best value for these log ratios."""
        if self.options.log_z == "free":
            return parameters[1]
        return best_constant(jax.lax.stop_gradient(data), jax.lax.stop_gradient(noise), self.options, JAX)

    def log_ratio(self, parameters: Any, x: Any) -> Any:
        """ℓ = log f − log p_n at rows, in double precision; its constant is not in it."""
        with _double():
            x = rows_of(x)
            value = self._apply(parameters[0] if self.options.log_z == "free" else parameters, x)
            ratio = _one_per_row(value, len(x)).astype(jnp.float64)
            return ratio if self.residual else ratio - self.noise.log_prob(x).astype(jnp.float64)

    def log_f(self, parameters: Any, x: Any) -> Any:
        """log f at rows, in double precision."""
        with _double():
            return self.log_ratio(parameters, x) + self.noise.log_prob(rows_of(x)).astype(jnp.float64)

    def evaluate(self, x_test: Any, **options: Any) -> Evaluation:
        """As the function `evaluate`."""
        from .evaluation import evaluate

        found: Evaluation = evaluate(self, x_test, **options)
        return found

    @in_double
    def sides(self, x: Any) -> Sides:
        """log f and log p_n at rows, as arrays of double precision."""
        both = jax.jit(lambda p, rows: (self.log_ratio(p, rows), self.noise.log_prob(rows)))
        ratio, base = (np.asarray(value, dtype=float) for value in both(self.parameters, x))
        return Sides(ratio + base, base)

    @in_double
    def linear_fit(self, x: Any, features: Any, *, noise: Any = None, seed: int = 0, **options: Any) -> FitResult:
        """The last layer as a linear model: its exact solution with standard errors of `fit`, conditional on the features.

        Args:
            x: the rows; better ones that the network was not trained on.
            features: a function from rows to the inputs of the last layer, in which the energy is linear.
            noise: noise points; drawn here by default, ν for every row.
            seed: of that draw.
            options: what `fit` takes further.
        """
        rows = rows_of(x)
        points = self.noise.draw(jax.random.key(seed), self.options.noise_points(len(rows)), rows) if noise is None else rows_of(noise)
        data, drawn = (np.asarray(features(part), dtype=float) for part in (rows, points))
        base = [np.zeros(len(p)) if self.residual else np.asarray(self.noise.log_prob(p), dtype=float) for p in (rows, points)]
        return linear_fit(data, drawn, base[0], base[1], **options)

    @in_double
    def design(self, noises: list[Any], draws: Any, features: Any, target: Any = "kl") -> DictionaryResult:
        """The best weights of a mixture of noises for the coefficients of the last layer (MATH §9.4), conditional on its features.

        Args:
            noises: anything with `sample` and `log_prob`, normalized.
            draws: rows that stand for the data's density: draws of the model (`model_draws`), or data. The model's constant is that of
                importance sampling with fresh noise.
            features: a function from rows to the inputs of the last layer.
            target: the question: `kl`, `all` (every coefficient alike), or a pair of rows whose log-density ratio is asked for.
        """
        x = rows_of(draws)
        found = np.asarray(features(x), dtype=float)
        scores = np.column_stack([found, -np.ones(len(found))])
        fresh = np.asarray(self.log_ratio(self.parameters, self.noise.draw(jax.random.key(0), CONSTANT_DRAWS, x)))
        constant = self.parameters[1] if self.options.log_z == "free" else JAX.log_mean_exp(fresh)
        model = np.asarray(self.log_f(self.parameters, x)) - float(constant)
        ratios = np.stack([np.asarray(as_noise(noise).log_prob(x), dtype=float) - model for noise in noises])
        matrix = target_matrix(scores, target, lambda row: features(rows_of(np.reshape(row, (1, -1)))))
        return design_weights(scores, ratios, matrix, self.options.nu)


def rows_of(x: Any) -> Any:
    """Rows as a matrix; a vector is one column."""
    x = jnp.asarray(x)
    if x.ndim == 1:
        return x[:, None]
    if x.ndim != 2 or x.shape[0] == 0:
        raise InputError(f"rows have the shape {x.shape}, and must be a matrix with one row per point: flatten images")
    return x


def check_rows(x: Any, what: str) -> None:
    """Refuses values that are none; where a function is traced there are no values yet."""
    if isinstance(x, jax.core.Tracer):
        return
    good = np.isfinite(np.asarray(x))
    if not good.all():
        row, column = (int(i) for i in np.argwhere(~good)[0])
        raise bad_row(row, column, float(x[row, column]), what)


def _one_per_row(value: Any, rows: int) -> Any:
    if not hasattr(value, "shape"):
        raise FunctionError(f"the energy returned {type(value).__name__}, and must return an array")
    if value.shape == (rows,):
        return value
    if value.shape == (rows, 1):
        return value[:, 0]
    raise bad_energy(tuple(value.shape), rows)


def _double() -> Any:
    from ..functions import _double_precision

    return _double_precision(jax)(True)


def _taken_apart(energy: Any) -> tuple[Any, Any]:
    """The function of (parameters, rows), and the parameters: the arrays of real numbers of a module."""
    if isinstance(energy, tuple) and len(energy) == 2 and callable(energy[0]):
        return energy
    if not callable(energy):
        raise InputError(f"`energy` must be a pair (apply, parameters) or a module, not {type(energy).__name__}")
    leaves, structure = jax.tree_util.tree_flatten(energy)
    trained = [hasattr(leaf, "dtype") and jnp.issubdtype(leaf.dtype, jnp.inexact) for leaf in leaves]

    def apply(parameters: Any, x: Any) -> Any:
        given = iter(parameters)
        whole = [next(given) if is_trained else leaf for leaf, is_trained in zip(leaves, trained)]
        return jax.vmap(jax.tree_util.tree_unflatten(structure, whole))(x)

    return apply, [leaf for leaf, is_trained in zip(leaves, trained) if is_trained]
