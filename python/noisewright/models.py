"""Models: a log-density up to a constant, from a formula, features, a family, a file, or functions of yours."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Union

import numpy as np

from . import _core, domains
from .arrays import Array, names_of, points, rows_of, vector
from .checks import number, shown, whole
from .domains import DomainLike, toml_text
from .errors import InputError, ModelError
from .functions import Backend, Evaluator

__all__ = ["Model", "Parameter", "ParameterLike", "families"]


@dataclass(frozen=True)
class Parameter:
    """A parameter's start value and bounds.

    >>> Parameter(0.1, lower=0.0)
    Parameter(start=0.1, lower=0.0, upper=inf)
    """

    start: float
    lower: float = -np.inf
    upper: float = np.inf


#: A start value, (start, lower, upper), {"start": …, "lower": …, "upper": …}, or a `Parameter`; for a parameter of a family with
#: covariates also a formula of them.
ParameterLike = Union[float, str, Sequence[float], Mapping[str, float], Parameter]


class Model:
    """A log-density known up to its normalizing constant, `log p(x) = u(x; θ) − c`.

    Made by one of `from_formula`, `from_features`, `from_family`, `from_file` and `from_functions`.

    >>> model = Model.from_formula("-a*x^2/2 - b*x^4", variables=["x"], parameters={"a": 1.0, "b": (0.1, 0.0, 10.0)})
    >>> model.coordinates
    ['a', 'b', 'log_normalizer']
    >>> model.parameters["b"]
    Parameter(start=0.1, lower=0.0, upper=10.0)
    """

    _text: str | None
    _functions: dict[str, Any] | None
    _built: _core.Model | None

    def __init__(self) -> None:
        raise TypeError(
            "a model is made by Model.from_formula, from_features, from_family, from_file or from_functions"
        )

    @classmethod
    def _new(
        cls, built: _core.Model | None, *, text: str | None = None, functions: dict[str, Any] | None = None
    ) -> Model:
        model = object.__new__(cls)
        model._built = built
        model._text = text
        model._functions = functions
        return model

    @classmethod
    def _from_text(cls, text: str) -> Model:
        return cls._new(_core.Model.parse(text), text=text)

    @classmethod
    def from_formula(
        cls,
        log_density: str,
        *,
        variables: str | Sequence[str],
        parameters: Mapping[str, ParameterLike],
        normalized: bool = False,
        domain: DomainLike = None,
        covariates: str | Sequence[str] = (),
    ) -> Model:
        """A log-density written as a formula in the variables and the parameters, up to an additive constant.

        Formulas have numbers, `+ - * / ^`, parentheses, `pi`, and exp, log, log1p, expm1, sqrt, abs, sin, cos, tan,
        tanh, atan, sigmoid, softplus, logcosh, lgamma, min, max, erf.

        Args:
            log_density: the formula.
            variables: the names of the data columns, in order.
            parameters: name → start value, or (start, lower, upper), or a `Parameter`.
            normalized: the formula integrates to one, so that no constant is estimated.
            domain: `"real"` (default), `"positive"`, `"circle"`, `"counts"`, `(lo, hi)` or `{"states": [...]}` for all
                variables, a dictionary of those by variable, or `"sphere"`.
            covariates: names of data columns that the density is given: `p(y | z)`, with one constant for every z.

        >>> import numpy as np
        >>> model = Model.from_formula("-(x - m)^2/2", variables="x", parameters={"m": 0.0})
        >>> model.log_density([0.0, 2.0], m=1.0)
        array([-0.5, -0.5])
        """
        return cls._written(
            f"log_density = {_toml(log_density, 'log_density')}", variables, parameters, normalized, domain, covariates
        )

    @classmethod
    def from_features(
        cls,
        features: Sequence[str],
        *,
        variables: str | Sequence[str],
        domain: DomainLike = None,
        parameters: Mapping[str, ParameterLike] | None = None,
        covariates: str | Sequence[str] = (),
        offset: str | None = None,
    ) -> Model:
        """An exponential family: the log-density is a sum of parameters times features, up to a constant.

        The parameters are named after the features and start at zero, unless `parameters` names them in order. `covariates` as
        for `from_formula`. `offset` is a formula of the variables and covariates that is added to the sum and has no parameter.

        >>> Model.from_features(["x", "x^2"], variables=["x"]).coordinates
        ['x', 'x^2', 'log_normalizer']
        >>> poisson = Model.from_features(["y"], variables="y", domain="counts", offset="-lgamma(y + 1)")
        >>> poisson.log_density([0.0, 1.0, 2.0], y=0.0).round(3)
        array([ 0.   ,  0.   , -0.693])
        """
        if isinstance(features, str) or not isinstance(features, Sequence):
            raise ModelError('`features` must be a list of formulas, such as ["x", "x^2"]')
        listed = ", ".join(_toml(feature, "features") for feature in features)
        kind = f"features = [{listed}]"
        if offset is not None:
            kind += f"\noffset = {_toml(offset, 'offset')}"
        return cls._written(kind, variables, parameters or {}, False, domain, covariates)

    @classmethod
    def from_family(
        cls,
        family: str,
        *,
        variables: str | Sequence[str],
        normalized: bool = False,
        domain: DomainLike = None,
        parameters: Mapping[str, ParameterLike] | None = None,
        parametrization: str | None = None,
        states: Sequence[float] | None = None,
        edges: Sequence[Sequence[int]] | None = None,
        dof: float | str | None = None,
        degree: int | None = None,
        covariates: str | Sequence[str] = (),
    ) -> Model:
        """A built-in family: `families()` lists them with their parameters and options.

        With `covariates` its parameters may be formulas of them, whose other names are parameters too.

        >>> linked = {"log_rate": "b0 + b1*z", "b0": 0.0, "b1": 0.0}
        >>> Model.from_family("com-poisson", variables="y", covariates="z", parameters=linked).coordinates
        ['b0', 'b1', 'dispersion']

        >>> Model.from_family("gaussian", variables="x").coordinates
        ['h0', 'P00', 'log_normalizer']
        >>> Model.from_family("ising", variables=["a", "b"], states=[0, 1]).parameters["J01"].start
        0.0
        """
        lines = [f"family = {_toml(family, 'family')}"]
        if parametrization is not None:
            lines.append(f"parametrization = {_toml(parametrization, 'parametrization')}")
        if states is not None:
            lines.append(f"states = [{', '.join(repr(number(state, 'states')) for state in states)}]")
        if edges is not None:
            pairs = (f"[{whole(a, 'edges')}, {whole(b, 'edges')}]" for a, b in edges)
            lines.append(f"edges = [{', '.join(pairs)}]")
        if dof is not None:
            lines.append(f"dof = {toml_text(dof) if isinstance(dof, str) else repr(number(dof, 'dof'))}")
        if degree is not None:
            lines.append(f"degree = {whole(degree, 'degree')}")
        return cls._written("\n".join(lines), variables, parameters or {}, normalized, domain, covariates)

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> Model:
        """A model file (TOML), the same that the command reads."""
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ModelError(f"`path`: {os.fspath(path)} cannot be read: {error}") from error
        return cls._from_text(text)

    @classmethod
    def from_functions(
        cls,
        log_density: Callable[..., Any],
        score: Callable[..., Any] | None = None,
        *,
        n_params: int | None = None,
        start: Sequence[float] | Array | float | None = None,
        parameters: Sequence[str] | Mapping[str, ParameterLike] | None = None,
        variables: str | Sequence[str] | None = None,
        domain: DomainLike = None,
        normalized: bool = False,
        linear: bool = False,
        backend: Backend = "auto",
        covariates: str | Sequence[str] = (),
    ) -> Model:
        """A log-density of your own: a function `log_density(x, theta)` of NumPy, JAX or PyTorch.

        `x` has one row per point and one column per variable, `theta` is the vector of parameters; the function
        returns one value per row, and is called with many rows at once, from any thread. Without `score` the
        derivatives are asked of JAX or PyTorch; a NumPy function is differenced, with a warning.

        Args:
            log_density: the function, up to an additive constant.
            score: its derivatives with respect to theta, one row per point and one column per parameter.
            n_params: the number of parameters, where neither `start` nor `parameters` tells it.
            start: where fits start (default zeros).
            parameters: the parameters' names (default t0, t1, …), or names with start values and bounds.
            variables: the names of the data columns; taken from the data where they are not given.
            domain: as for `from_formula`.
            normalized: the function integrates to one at every theta.
            linear: it is linear in theta, which makes fits convex.
            backend: `"numpy"`, `"jax"` or `"torch"`, found out by default.
            covariates: names of data columns that the density is given; they are the last columns of `x`, and `variables` must
                be named too.

        >>> import numpy as np
        >>> model = Model.from_functions(
        ...     lambda x, theta: -theta[0] * x[:, 0] ** 2,
        ...     score=lambda x, theta: -x**2,
        ...     start=[1.0],
        ...     variables=["x"],
        ... )
        >>> model.log_density([[1.0], [2.0]], t0=0.5)
        array([-0.5, -2. ])
        """
        declared = _declared(n_params, start, parameters)
        functions: dict[str, Any] = {
            "log_density": log_density,
            "score": score,
            "parameters": declared,
            "variables": None if variables is None else _names(variables),
            "domain": domain,
            "normalized": bool(normalized),
            "linear": bool(linear),
            "backend": backend,
            "covariates": _listed(covariates),
        }
        if functions["covariates"] and functions["variables"] is None:
            raise ModelError("`covariates` need `variables` beside them: name those that the density is of")
        evaluator = Evaluator(log_density, score, len(declared), backend)
        model = cls._new(None, functions=functions)
        model._evaluator = evaluator
        if functions["variables"] is not None:
            model._built = model._build(functions["variables"])
        return model

    _evaluator: Evaluator

    @classmethod
    def _written(
        cls,
        kind: str,
        variables: str | Sequence[str],
        parameters: Mapping[str, ParameterLike],
        normalized: bool,
        domain: DomainLike,
        covariates: str | Sequence[str] = (),
    ) -> Model:
        """A model from the text of the model file that says the same."""
        if not isinstance(parameters, Mapping):
            raise ModelError('`parameters` must be a dictionary of names and start values, such as {"a": 1.0}')
        names, domain = _names(variables), domains.listed(domain)
        lines = [f"variables = [{', '.join(toml_text(name) for name in names)}]", kind]
        if listed := _listed(covariates):
            lines.append(f"covariates = [{', '.join(toml_text(name) for name in listed)}]")
        if normalized:
            lines.append("normalized = true")
        if domain == "sphere":
            lines.append(f"sphere = [{', '.join(toml_text(name) for name in names)}]")
        elif domain is not None:
            words = domains.parse(domain, names)
            each = ", ".join(f"{toml_text(name)} = {domains.as_toml(word)}" for name, word in zip(names, words))
            lines.append(f"domain = {{ {each} }}")
        if parameters:
            lines.append("\n[parameters]")
            lines.extend(_parameter_line(name, value) for name, value in parameters.items())
        return cls._from_text("\n".join(lines) + "\n")

    def _build(self, variables: list[str]) -> _core.Model:
        assert self._functions is not None
        given = self._functions
        listed = [(name, value.start, value.lower, value.upper) for name, value in given["parameters"].items()]
        covariates = given["covariates"]
        words = domains.parse(given["domain"], variables) + domains.parse(None, covariates)
        return _core.Model.from_evaluator(
            self._evaluator, listed, variables + covariates, words, given["normalized"], given["linear"], covariates
        )

    def _for(self, data: Any) -> _core.Model:
        """The library's model, with the data's names for its variables where it has none of its own."""
        if self._built is not None:
            return self._built
        if data is None:
            raise InputError("`variables` of the model are not known: name them in Model.from_functions")
        names = names_of(data)
        if names is None:
            count = rows_of(data) or 1
            names = ["x"] if count == 1 else [f"x{j}" for j in range(count)]
        return self._build(names)

    @property
    def _core(self) -> _core.Model:
        return self._for(None)

    @property
    def text(self) -> str | None:
        """The model file that says the same; `None` for a model from functions."""
        return self._text

    @property
    def variables(self) -> list[str] | None:
        """The names of the variables; `None` for functions whose variables the data will name."""
        return None if self._built is None else self._built.variables

    @property
    def covariates(self) -> list[str]:
        """The names of those variables that the density is given; they come after the others."""
        return list(self._functions["covariates"]) if self._functions is not None else self._core.covariates

    @property
    def parameters(self) -> dict[str, Parameter]:
        """The parameters with their start values and bounds."""
        if self._functions is not None:
            return dict(self._functions["parameters"])
        return {name: Parameter(start, lower, upper) for name, start, lower, upper in self._core.parameters}

    @property
    def normalized(self) -> bool:
        """Whether the constant is known rather than estimated."""
        return bool(self._functions["normalized"]) if self._functions is not None else self._core.normalized

    @property
    def coordinates(self) -> list[str]:
        """What is estimated: the parameters and, where it is free, `log_normalizer`."""
        constant = not self.normalized and not self.covariates
        return list(self.parameters) + (["log_normalizer"] if constant else [])

    def log_density(self, x: Any, /, **at: float) -> Array:
        """The log-density up to its constant at points, with parameters by name over their start values.

        >>> Model.from_features(["x"], variables="x", domain="positive").log_density([1.0, 2.0], x=-3.0)
        array([-3., -6.])
        """
        built = self._for(x)
        return built.evaluate(built.at(list(at.items())), points(x, built.variables, "x"))[0]

    def score(self, x: Any, /, **at: float) -> Array:
        """The derivatives of the log-density with respect to the parameters, one row per point."""
        built = self._for(x)
        return np.asarray(built.evaluate(built.at(list(at.items())), points(x, built.variables, "x"))[1].T)

    def __reduce__(self) -> tuple[Any, ...]:
        if self._text is not None:
            return Model._from_text, (self._text,)
        assert self._functions is not None
        return _rebuilt, (self._functions,)

    def __repr__(self) -> str:
        own = None if self.variables is None else self.variables[: len(self.variables) - len(self.covariates)]
        variables = "?" if own is None else ", ".join(own)
        variables += f" given {', '.join(self.covariates)}" if self.covariates else ""
        kind = "normalized model" if self.normalized else "model"
        return f"<noisewright {kind} of {variables} with parameters {', '.join(self.parameters) or 'none'}>"


def _rebuilt(functions: dict[str, Any]) -> Model:
    return Model.from_functions(**functions)


def families() -> list[dict[str, Any]]:
    """The built-in families of models: name, description, domain, options and parameters.

    >>> [family["name"] for family in families()][:3]
    ['gaussian', 'truncated-gaussian', 'student']
    """
    return _core.families()


def values_at(model: _core.Model, at: Any) -> list[float]:
    """Parameter values from a dictionary, a sequence, a fit, or nothing for the start values."""
    names = [name for name, *_ in model.parameters]
    if at is None:
        return model.at([])
    estimates = getattr(at, "parameters", None)
    if isinstance(estimates, Mapping):
        # A fit also lists the parameters that its model file holds fixed or ties to others.
        own = getattr(at, "model", None)
        held = own is not None and list(own.parameters) == names
        kept = names if held else list(estimates)
        at = {name: getattr(estimates[name], "estimate", estimates[name]) for name in kept}
    if isinstance(at, Mapping):
        return model.at([(str(name), number(value, f"at['{name}']")) for name, value in at.items()])
    values = vector(at, "at")
    if len(values) != len(names):
        raise InputError(f"`at` has {len(values)} values, and must have one for each of {', '.join(names)}")
    return model.at(list(zip(names, values.tolist())))


def _names(variables: str | Sequence[str]) -> list[str]:
    if isinstance(variables, str):
        return [variables]
    names = list(variables) if isinstance(variables, Iterable) else []
    if not names or not all(isinstance(name, str) for name in names):
        raise ModelError("`variables` must be a list of names, at least one")
    return names


def _listed(covariates: str | Sequence[str]) -> list[str]:
    names = [covariates] if isinstance(covariates, str) else list(covariates)
    if not all(isinstance(name, str) for name in names):
        raise ModelError("`covariates` must be a list of names")
    return names


def _toml(text: Any, argument: str) -> str:
    if not isinstance(text, str):
        raise ModelError(f"`{argument}` must be text, not {type(text).__name__}")
    return toml_text(text)


def _parameter(name: str, value: ParameterLike) -> Parameter:
    try:
        if isinstance(value, Parameter):
            return value
        if isinstance(value, Mapping):
            return Parameter(**{key: float(entry) for key, entry in value.items()})
        if isinstance(value, (Sequence, np.ndarray)) and not isinstance(value, str):
            return Parameter(*(float(entry) for entry in value))
        return Parameter(float(value))
    except (TypeError, ValueError, OverflowError) as error:
        raise ModelError(
            f"`parameters`: {name} must be a start value, (start, lower, upper) or a Parameter, not {shown(value)}"
        ) from error


def _parameter_line(name: str, value: ParameterLike | str) -> str:
    if isinstance(value, str):
        return f"{toml_text(name)} = {toml_text(value)}"
    p = _parameter(name, value)
    if p.lower == -np.inf and p.upper == np.inf:
        return f"{toml_text(name)} = {_number(p.start)}"
    return f"{toml_text(name)} = {{ start = {_number(p.start)}, lower = {_number(p.lower)}, upper = {_number(p.upper)} }}"


def _number(value: float) -> str:
    return repr(float(value))


def _declared(
    n_params: int | None, start: Any, parameters: Sequence[str] | Mapping[str, ParameterLike] | None
) -> dict[str, Parameter]:
    """The parameters of functions, from whichever of the three arguments tell them."""
    if isinstance(parameters, Mapping):
        declared = {str(name): _parameter(name, value) for name, value in parameters.items()}
        if start is not None:
            values = _starts(start, len(declared))
            declared = {n: Parameter(v, p.lower, p.upper) for (n, p), v in zip(declared.items(), values)}
    else:
        if parameters is not None and (isinstance(parameters, str) or not isinstance(parameters, Iterable)):
            raise ModelError("`parameters` must be a list of names, or a dictionary of names and start values")
        names = None if parameters is None else [str(name) for name in parameters]
        count = len(names) if names is not None else n_params
        if count is None:
            if start is None:
                raise ModelError("`n_params` is missing: say how many parameters there are, or give `start`")
            count = int(np.size(start))
        names = names if names is not None else [f"t{j}" for j in range(count)]
        values = [0.0] * count if start is None else _starts(start, count)
        declared = {name: Parameter(value) for name, value in zip(names, values)}
    if n_params is not None and n_params != len(declared):
        raise ModelError(f"`n_params` is {n_params}, but there are {len(declared)} parameters")
    return declared


def _starts(start: Any, count: int) -> list[float]:
    values = vector(np.atleast_1d(np.asarray(start, dtype=object)), "start")
    if len(values) == 1 and count > 1:
        values = np.repeat(values, count)
    if len(values) != count:
        raise ModelError(f"`start` has {len(values)} values for {count} parameters")
    return [float(value) for value in values]
