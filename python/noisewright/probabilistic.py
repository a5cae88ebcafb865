"""Models of PyMC, NumPyro and Stan: the log-density on the real line, and draws on it, taken from the objects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .arrays import Array
from .errors import InputError
from .stan_models import stan_target
from .targets import Target, is_of

__all__ = ["target_of"]


def target_of(model: Any, draws: Any, args: Sequence[Any], kwargs: Mapping[str, Any] | None) -> Target | None:
    """The posterior of a model of PyMC, NumPyro or Stan with its draws; `None` for anything else."""
    if is_of(model, "pymc") and hasattr(model, "free_RVs"):
        if args or kwargs:
            raise InputError("a PyMC model holds its data: leave the arguments after the draws out")
        return _pymc(model, draws)
    if is_of(draws, "numpyro") and hasattr(draws, "get_samples"):
        return _numpyro(model, draws, args, kwargs)
    return stan_target(model, draws, args)


def _pymc(model: Any, idata: Any) -> Target:
    posterior = getattr(idata, "posterior", None)
    if posterior is None:
        raise InputError("draws of a PyMC model must be what `pm.sample` gives, with a posterior")
    import pytensor

    discrete = [rv.name for rv in model.free_RVs if not rv.dtype.startswith("float")]
    if discrete:
        raise InputError(f"`{discrete[0]}` is discrete: sum it out of the model, whose evidence needs densities")
    missing = [rv.name for rv in model.free_RVs if rv.name not in posterior]
    if missing:
        raise InputError(f"the draws have no variable `{missing[0]}` of the model")
    transforms = [model.rvs_to_transforms[rv] for rv in model.free_RVs]
    free = [
        rv if transform is None else transform.forward(rv, *rv.owner.inputs)
        for rv, transform in zip(model.free_RVs, transforms)
    ]
    # Bounds may depend on other variables, so that all are mapped together.
    to_real_line = pytensor.function(model.free_RVs, free, on_unused_input="ignore")
    arrays = [np.asarray(posterior[rv.name].values, dtype=np.float64) for rv in model.free_RVs]
    chains, count = arrays[0].shape[:2]
    flat = [array.reshape(chains * count, *array.shape[2:]) for array in arrays]
    casts = [[value.astype(rv.dtype) for value in values] for rv, values in zip(model.free_RVs, flat)]
    mapped = [to_real_line(*point) for point in zip(*casts)]
    shapes = [np.shape(value) for value in mapped[0]]
    table = np.stack([np.concatenate([np.ravel(value) for value in point]) for point in mapped])
    compiled = model.compile_logp()
    values = [model.rvs_to_values[rv] for rv in model.free_RVs]

    def log_density(points: Array) -> Array:
        return np.array([float(compiled(point)) for point in _named(points, values, shapes)])

    names = _flat_names([value.name for value in values], shapes)
    return Target(log_density, names, table.astype(np.float64), [count] * chains)


def _named(points: Array, values: list[Any], shapes: list[tuple[int, ...]]) -> Any:
    """Rows of numbers as the points of a PyMC model."""
    ends = np.cumsum([int(np.prod(shape)) for shape in shapes])
    for row in points:
        parts = np.split(row, ends[:-1])
        yield {v.name: part.reshape(shape).astype(v.dtype) for v, part, shape in zip(values, parts, shapes)}


def _numpyro(model: Any, mcmc: Any, args: Sequence[Any], kwargs: Mapping[str, Any] | None) -> Target:
    import jax
    from jax.flatten_util import ravel_pytree
    from numpyro.infer.util import potential_energy, unconstrain_fn

    if not callable(model):
        raise InputError(f"a NumPyro model must be a function, not {type(model).__name__}")
    # Without arguments the model is that of the run, whose sampler keeps them.
    args = tuple(args) if args else tuple(getattr(mcmc, "_args", ()))
    kwargs = dict(kwargs) if kwargs is not None else dict(getattr(mcmc, "_kwargs", {}))
    samples = mcmc.get_samples(group_by_chain=True)
    sites = _free_sites(model, args, kwargs)
    missing = [name for name in sites if name not in samples]
    if missing:
        raise InputError(f"the draws have no variable `{missing[0]}` of the model")
    draws = {name: np.asarray(samples[name]) for name in sites}
    chains, count = next(iter(draws.values())).shape[:2]
    rows = {name: values.reshape(chains * count, *values.shape[2:]) for name, values in draws.items()}
    free = jax.vmap(lambda point: unconstrain_fn(model, args, kwargs, point))(rows)
    shapes = {name: values.shape[1:] for name, values in free.items()}
    _, unravel = ravel_pytree({name: values[0] for name, values in free.items()})
    table = jax.vmap(lambda point: ravel_pytree(point)[0])(free)
    energy = jax.jit(jax.vmap(lambda row: -potential_energy(model, args, kwargs, unravel(row))))

    def log_density(points: Array) -> Array:
        values = np.asarray(energy(points.astype(table.dtype)), dtype=np.float64)
        # Where a scale rounds to zero and the like: NumPyro's samplers take such a point for one without density too.
        return np.where(np.isnan(values), -np.inf, values)

    # Trees are flattened in the order of their keys.
    names = _flat_names(sorted(shapes), [shapes[name] for name in sorted(shapes)])
    return Target(log_density, names, np.asarray(table, dtype=np.float64), [count] * chains)


def _free_sites(model: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[str]:
    """The variables of a NumPyro model that are not observed."""
    from numpyro import handlers

    trace = handlers.trace(handlers.seed(model, 0)).get_trace(*args, **kwargs)
    sites = [site for site in trace.values() if site["type"] == "sample" and not site["is_observed"]]
    discrete = [site["name"] for site in sites if site["fn"].support.is_discrete]
    if discrete:
        raise InputError(f"`{discrete[0]}` is discrete: sum it out of the model, whose evidence needs densities")
    return [site["name"] for site in sites]


def _flat_names(names: Sequence[str], shapes: Sequence[tuple[int, ...]]) -> list[str]:
    flat = []
    for name, shape in zip(names, shapes):
        count = int(np.prod(shape))
        flat += [name] if shape == () else [f"{name}[{k}]" for k in range(count)]
    return flat
