"""Noises: densities that integrate to one and can be drawn from, as objects or in the words of the command."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any, Union

import numpy as np

from . import _core, domains
from .arrays import Array, names_of, points, rows_of
from .domains import DomainLike
from .checks import number, shown, whole
from .errors import InputError

__all__ = [
    "FREE",
    "Bernoulli",
    "Beta",
    "Categorical",
    "Dictionary",
    "Gamma",
    "KernelDensity",
    "Laplace",
    "LogNormal",
    "Logistic",
    "Mixture",
    "NegativeBinomial",
    "Noise",
    "NoiseLike",
    "Normal",
    "Poisson",
    "Product",
    "Student",
    "Truncated",
    "Uniform",
    "VonMises",
    "VonMisesFisher",
    "noise_request",
]

#: Stands for a number that `design` is to find: `Normal(FREE, 1.0)`.
FREE = "?"

#: A noise, or its words.
NoiseLike = Union[str, "Noise"]

#: A number, several, or `FREE`.
Argument = Union[float, str, Sequence[Any], np.ndarray]


class Noise:
    """A noise in words, `Noise("0.7*normal(0, 1) + 0.3*student(5, 0, 2)")`; the classes below write them for you.

    Weighted noises add up to mixtures:

    >>> 0.7 * Normal(0, 1) + 0.3 * Student(5, 0, 2)
    Noise('0.7*normal(0.0, 1.0) + 0.3*student(5.0, 0.0, 2.0)')
    >>> Noise("normal(0, 1)").log_density([0.0]).round(6)
    array([-0.918939])
    """

    #: The domain on which the noise stands where no model tells it.
    _domain: DomainLike = None
    #: The number of variables that the arguments tell.
    _dimension: int = 1

    def __init__(self, words: str) -> None:
        if not isinstance(words, str):
            raise InputError(f"`noise` must be text or a noise, not {type(words).__name__}")
        self._words = words

    @property
    def words(self) -> str:
        """The noise in the words of the command."""
        return _joined(self._terms(None))

    def _terms(self, built: list[_core.Noise] | None) -> list[tuple[float | str | None, str]]:
        """The parts of a mixture, weight (`None` for a single part) and words; built noises go to the list, or are described."""
        return [(None, self._words)]

    def log_density(self, x: Any, *, domain: DomainLike = None) -> Array:
        """The normalized log-density at points, one row each; −∞ outside the support."""
        variables = names_of(x) or _variables(rows_of(x) or 1)
        return self._build(variables, domain).log_density(points(x, variables, "x"))

    def sample(
        self,
        n: int,
        *,
        seed: int = 0,
        dimension: int | None = None,
        domain: DomainLike = None,
        quiet: bool = False,
    ) -> Array:
        """`n` draws, one row each (a vector where there is one variable); the same seed gives the same draws.

        Args:
            n: the number of draws.
            seed: their seed.
            dimension: the number of variables; by default what the arguments of the noise tell, else one.
            domain: where the variables lie; by default the domain of the noise.
            quiet: draw by scrambled Sobol points, as evenly as can be (powers of two are best), instead of
                independently.

        >>> Normal(0.0, 1.0).sample(3, seed=1).shape
        (3,)
        >>> Normal([0, 0], [[1, 0.5], [0.5, 1]]).sample(3, seed=1).shape
        (3, 2)
        """
        count = self._dimension if dimension is None else whole(dimension, "dimension")
        # Words alone tell how many variables they speak of.
        variables = [] if dimension is None and domain is None and type(self) is Noise else _variables(count)
        draws = self._build(variables, domain).sample(whole(n, "n"), whole(seed, "seed"), bool(quiet))
        return np.ascontiguousarray(draws[0] if len(draws) == 1 else draws.T)

    def _build(self, variables: list[str], domain: DomainLike) -> _core.Noise:
        built: list[_core.Noise] = []
        words = _joined(self._terms(built))
        told = self._domain if domain is None else domain
        where = [] if told is None and type(self) is Noise else domains.parse(told, variables)
        return _core.build_noise((words, built), variables, where, None)

    def __rmul__(self, weight: float | str) -> Mixture:
        return Mixture([(weight, self)])

    def __mul__(self, weight: float | str) -> Mixture:
        return Mixture([(weight, self)])

    def __add__(self, other: Noise) -> Mixture:
        if not isinstance(other, Noise):
            return NotImplemented
        return Mixture([(None, self), (None, other)])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Noise) and type(self) is type(other) and self.words == other.words

    def __hash__(self) -> int:
        return hash(self.words)

    def __str__(self) -> str:
        return self.words

    def __repr__(self) -> str:
        return f"Noise({self.words!r})"


class _Called(Noise):
    """A noise that is one call, `name(argument, …)`; without arguments it is fitted to the data."""

    _name = ""

    def __init__(self, *arguments: Any) -> None:
        given = [argument for argument in arguments if argument is not None]
        if len(given) < len(arguments) and any(a is not None for a in arguments[len(given) :]):
            raise InputError(f"`{self._name}` needs all of its arguments, or none to be fitted to the data")
        listed = ", ".join(_spoken(argument) for argument in given)
        super().__init__(f"{self._name}({listed})" if given else self._name)
        self._dimension = max([np.shape(argument)[0] for argument in given if np.ndim(argument) > 0], default=1)


class Normal(_Called):
    """Normal: `Normal(mean, variance)`, or a mean vector and a covariance matrix; fitted to the data without.

    >>> Normal([0, 0], [[1, 0.5], [0.5, 1]]).words
    'normal([0.0, 0.0], [[1.0, 0.5], [0.5, 1.0]])'
    """

    _name = "normal"

    def __init__(self, mean: Argument | None = None, variance: Argument | None = None) -> None:
        super().__init__(mean, variance)


class Student(_Called):
    """Student's t: `Student(dof, location, scale)`, or a location vector and a scale matrix; `Student(dof)` is fitted."""

    _name = "student"

    def __init__(
        self, dof: Argument | None = None, location: Argument | None = None, scale: Argument | None = None
    ) -> None:
        super().__init__(dof, location, scale)


class Uniform(_Called):
    """Uniform on [lo, hi]; without them on the whole of a bounded domain."""

    _name = "uniform"

    def __init__(self, lo: Argument | None = None, hi: Argument | None = None) -> None:
        super().__init__(lo, hi)


class Laplace(_Called):
    """Laplace with location and scale."""

    _name = "laplace"

    def __init__(self, location: Argument | None = None, scale: Argument | None = None) -> None:
        super().__init__(location, scale)


class Logistic(_Called):
    """Logistic with location and scale."""

    _name = "logistic"

    def __init__(self, location: Argument | None = None, scale: Argument | None = None) -> None:
        super().__init__(location, scale)


class Gamma(_Called):
    """Gamma with shape and rate."""

    _name = "gamma"
    _domain = "positive"

    def __init__(self, shape: Argument | None = None, rate: Argument | None = None) -> None:
        super().__init__(shape, rate)


class LogNormal(_Called):
    """Log-normal: the mean and the standard deviation of the logarithm."""

    _name = "lognormal"
    _domain = "positive"

    def __init__(self, mu: Argument | None = None, sigma: Argument | None = None) -> None:
        super().__init__(mu, sigma)


class Beta(_Called):
    """Beta on [0, 1], or on [lo, hi]."""

    _name = "beta"

    def __init__(
        self,
        a: Argument | None = None,
        b: Argument | None = None,
        lo: Argument | None = None,
        hi: Argument | None = None,
    ) -> None:
        super().__init__(a, b, lo, hi)


class VonMises(_Called):
    """Von Mises on the circle: mean direction and concentration."""

    _name = "von-mises"
    _domain = "circle"

    def __init__(self, mean: Argument | None = None, concentration: Argument | None = None) -> None:
        super().__init__(mean, concentration)


class VonMisesFisher(_Called):
    """Von Mises–Fisher on the sphere: a direction and a concentration."""

    _name = "von-mises-fisher"
    _domain = "sphere"

    def __init__(self, direction: Argument | None = None, concentration: Argument | None = None) -> None:
        super().__init__(direction, concentration)


class Poisson(_Called):
    """Poisson counts with their mean."""

    _name = "poisson"
    _domain = "counts"

    def __init__(self, mean: Argument | None = None) -> None:
        super().__init__(mean)


class NegativeBinomial(_Called):
    """Negative binomial counts: mean and size; the variance is mean + mean²/size."""

    _name = "negative-binomial"
    _domain = "counts"

    def __init__(self, mean: Argument | None = None, size: Argument | None = None) -> None:
        super().__init__(mean, size)


class Bernoulli(_Called):
    """One of two states; the larger has this probability."""

    _name = "bernoulli"
    _domain = {"states": [0.0, 1.0]}

    def __init__(self, probability: Argument | None = None) -> None:
        super().__init__(probability)


class Categorical(_Called):
    """One of finitely many states, with their probabilities."""

    _name = "categorical"

    def __init__(self, states: Sequence[float] | None = None, probabilities: Argument | None = None) -> None:
        super().__init__(states, probabilities)
        self._dimension = 1
        if states is not None:
            self._domain = {"states": [number(state, "states") for state in states]}


class KernelDensity(_Called):
    """A kernel density of the data."""

    _name = "kde"

    def __init__(self) -> None:
        super().__init__()


class Product(Noise):
    """Independent variables, one noise each; without noises, marginals fitted to the data.

    >>> Product(Normal(0, 1), Gamma(2, 1)).words
    'product(normal(0.0, 1.0), gamma(2.0, 1.0))'
    """

    def __init__(self, *noises: NoiseLike) -> None:
        self._noises = [as_noise(noise) for noise in noises]
        self._dimension = max(len(self._noises), 1)

    def _terms(self, built: list[_core.Noise] | None) -> list[tuple[float | str | None, str]]:
        listed = ", ".join(_joined(noise._terms(built)) for noise in self._noises)
        return [(None, f"product({listed})" if self._noises else "product")]

    def _build(self, variables: list[str], domain: DomainLike) -> _core.Noise:
        if domain is None and len(variables) == len(self._noises):
            own = [noise._domain for noise in self._noises]
            domain = {name: "real" if where is None else where for name, where in zip(variables, own)}  # type: ignore[misc]
        return super()._build(variables, domain)


class Truncated(Noise):
    """A noise restricted to [lo, hi] and normalized again.

    >>> Truncated(Normal(0, 1), 0, 2).words
    'truncate(normal(0.0, 1.0), 0.0, 2.0)'
    """

    def __init__(self, noise: NoiseLike, lo: Argument, hi: Argument) -> None:
        self._noise = as_noise(noise)
        self._ends = f"{_spoken(lo)}, {_spoken(hi)}"
        self._dimension = self._noise._dimension

    def _terms(self, built: list[_core.Noise] | None) -> list[tuple[float | str | None, str]]:
        return [(None, f"truncate({_joined(self._noise._terms(built))}, {self._ends})")]


class Mixture(Noise):
    """A mixture of noises with weights that add up to one.

    >>> Mixture([(0.7, Normal(0, 1)), (0.3, "laplace(0, 2)")]).words
    '0.7*normal(0.0, 1.0) + 0.3*laplace(0, 2)'
    """

    def __init__(self, parts: Sequence[tuple[float | str | None, NoiseLike]]) -> None:
        self._parts = [(weight, as_noise(noise)) for weight, noise in parts]
        if not self._parts:
            raise InputError("`parts` of a mixture must have at least one noise")
        self._domain = self._parts[0][1]._domain
        self._dimension = self._parts[0][1]._dimension

    def _terms(self, built: list[_core.Noise] | None) -> list[tuple[float | str | None, str]]:
        terms: list[tuple[float | str | None, str]] = []
        for weight, noise in self._parts:
            inner = noise._terms(built)
            terms.extend((_times(weight, share), words) for share, words in inner)
        return terms


class Dictionary(Noise):
    """Noises of which `design` finds the best mixture; `Dictionary("auto")` makes them from the model or the data.

    >>> Dictionary([Normal(-1, 1), "normal(1, 1)"]).words
    'dictionary(normal(-1.0, 1.0), normal(1, 1))'
    """

    def __init__(self, members: Sequence[NoiseLike] | str) -> None:
        self._members = [as_noise(members)] if isinstance(members, str) else [as_noise(member) for member in members]
        if not self._members:
            raise InputError("`members` of a dictionary must have at least one noise")
        self._domain = self._members[0]._domain
        self._dimension = self._members[0]._dimension

    def _terms(self, built: list[_core.Noise] | None) -> list[tuple[float | str | None, str]]:
        return [(None, f"dictionary({', '.join(_joined(member._terms(built)) for member in self._members)})")]


def as_noise(noise: NoiseLike) -> Noise:
    """A noise from a noise or its words."""
    return noise if isinstance(noise, Noise) else Noise(noise)


def noise_request(noise: NoiseLike) -> tuple[str, list[_core.Noise]]:
    """The words of a noise for the library, and the noises that the words refer to."""
    built: list[_core.Noise] = []
    words = _joined(as_noise(noise)._terms(built))
    return words, built


def _joined(terms: list[tuple[float | str | None, str]]) -> str:
    if len(terms) == 1 and terms[0][0] is None:
        return terms[0][1]
    if any(weight is None for weight, _ in terms):
        raise InputError("`noise`: every part of a mixture needs a weight, as in 0.7*Normal(0, 1) + 0.3*Student(5, 0, 2)")
    return " + ".join(f"{_spoken(weight)}*{words}" for weight, words in terms)


def _parts(words: str) -> list[tuple[float | str | None, str]]:
    """The parts of a mixture in words, weight and words; words that are no mixture are one part.

    >>> _parts("0.75*normal(0, 1) + 0.25*product(normal(0, 1), gamma(2, 1))")
    [(0.75, 'normal(0, 1)'), (0.25, 'product(normal(0, 1), gamma(2, 1))')]
    """
    depth, start, terms = 0, 0, []
    for place, letter in enumerate(words):
        depth += (letter in "([") - (letter in ")]")
        if depth == 0 and words.startswith(" + ", place):
            terms.append(words[start:place])
            start = place + 3
    terms.append(words[start:])
    found = [re.fullmatch(r"([0-9.]+(?:e[-+]?[0-9]+)?)\*(.*)", term, re.DOTALL) for term in terms]
    if len(terms) == 1 or not all(found):
        return [(None, words)]
    return [(float(match[1]), match[2]) for match in found if match is not None]


def _times(weight: float | str | None, share: float | str | None) -> float | str | None:
    if weight is None or share is None:
        return share if weight is None else weight
    if weight == FREE or share == FREE:
        raise InputError("`noise`: a free weight cannot stand inside or around another mixture")
    return float(weight) * float(share)


def _spoken(argument: Any) -> str:
    """An argument in words: a number, `?`, or a list of them."""
    if isinstance(argument, str):
        if argument != FREE:
            raise InputError(f"`noise`: an argument must be a number, a list or FREE, not {argument!r}")
        return FREE
    if np.ndim(argument) == 0:
        try:
            value = float(argument)
        except (TypeError, ValueError, OverflowError):
            raise InputError(
                f"`noise`: an argument must be a number, a list or FREE, not {shown(argument)}"
            ) from None
        if math.isnan(value):
            raise InputError("`noise`: an argument must be a number, a list or FREE, not nan")
        return repr(value)
    return f"[{', '.join(_spoken(part) for part in argument)}]"


def _variables(count: int) -> list[str]:
    return ["x"] if count == 1 else [f"x{j}" for j in range(count)]
