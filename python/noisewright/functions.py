"""Log-densities that are Python functions: NumPy, JAX or PyTorch, in large batches, with their derivatives."""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any, Literal

import numpy as np

from .arrays import Array
from .errors import FiniteDifferenceWarning, FunctionError, InputError, NoisewrightWarning

__all__ = ["Backend", "Evaluator"]

Backend = Literal["auto", "numpy", "jax", "torch"]

#: Up to so many parameters derivatives are pushed forward, one direction each; beyond, pulled back row by row.
FORWARD_PARAMETERS = 16
#: Up to so many parameters second derivatives are taken by second differences of the values.
CURVATURE_PARAMETERS = 64
#: Points of a call: JAX compiles once for each, so that fewer are filled up to the next and more are cut.
BATCHES = (512, 4096)
#: Relative step of central differences: the cube root of the rounding error balances it against the curvature.
STEP = float(np.finfo(np.float64).eps) ** (1 / 3)
#: The same for second differences.
WIDE_STEP = float(np.finfo(np.float64).eps) ** (1 / 4)


#: Points at which a score that is given is compared with differences of the log-density.
CHECKED_POINTS = 16


class Evaluator:
    """Calls a log-density `f(x, theta)` and its score for the library, and checks what they return.

    `x` is an array of one row per point and one column per variable, `theta` the parameters; the values are one per
    row, the score has one row per point and one column per parameter.
    """

    def __init__(
        self,
        log_density: Callable[..., Any],
        score: Callable[..., Any] | None,
        n_params: int,
        backend: Backend = "auto",
    ) -> None:
        if not callable(log_density):
            raise InputError(f"`log_density` must be a function of (x, theta), not {type(log_density).__name__}")
        if score is not None and not callable(score):
            raise InputError(f"`score` must be a function of (x, theta) or None, not {type(score).__name__}")
        if backend not in ("auto", "numpy", "jax", "torch"):
            raise InputError(f"`backend` must be auto, numpy, jax or torch, not {backend!r}")
        self.log_density = log_density
        self.score = score
        self.n_params = n_params
        self.backend: Backend = backend
        self._lock = threading.Lock()
        self._calls: _Calls | None = None

    def evaluate(self, theta: Array, columns: Array, wanted: bool) -> tuple[Array, Array | None]:
        """The values at points (one row per variable) and, where wanted, the score, one row per parameter."""
        x = columns.T
        calls = self._ready(x, theta)
        if not wanted or self.n_params == 0:
            return self._values(calls.value(x, theta), x), np.empty((0, len(x))) if wanted else None
        if self.score is not None:
            values = self._values(calls.value(x, theta), x)
            return values, _sound(self._scores(calls.given(x, theta), x), values)
        values, scores = calls.both(x, theta)
        values = self._values(values, x)
        return values, _sound(np.ascontiguousarray(_numbers(scores, "score")), values)

    def slope(self, theta: Array, columns: Array, weights: Array) -> Array | None:
        """`Σ weights_i ∇f(x_i, theta)`, or `None` where the scores of all points cost no more."""
        calls = self._ready(columns.T, theta)
        if not calls.sums_scores:
            return None
        if not weights.any():
            return np.zeros(self.n_params)
        return _numbers(calls.slope(_counting(columns.T, weights), theta, weights), "log_density")

    def curvature(self, theta: Array, columns: Array, weights: Array) -> Array | None:
        """`Σ weights_i ∇²f(x_i, theta)`, or `None` where second derivatives are not to be had."""
        calls = self._ready(columns.T, theta)
        if not calls.has_curvature:
            return None
        if not weights.any():
            return np.zeros((self.n_params, self.n_params))
        return calls.curvature(_counting(columns.T, weights), theta, weights)

    def _ready(self, x: Array, theta: Array) -> _Calls:
        """The calls of the function's own library, found out with the first points."""
        with self._lock:
            if self._calls is None:
                kind = self.backend if self.backend != "auto" else self._found(x[:2], theta)
                self._calls = {"numpy": _Numpy, "jax": _Jax, "torch": _Torch}[kind](self)
                if self.score is not None and self.n_params > 0:
                    self._check_score(self._calls, np.ascontiguousarray(x[:CHECKED_POINTS]), theta)
            return self._calls

    def _check_score(self, calls: _Calls, x: Array, theta: Array) -> None:
        """Warns of a score that is not the slope of the log-density, once, at some points and near two parameters."""
        for at in (theta, 1.01 * theta + 0.01):
            try:
                with np.errstate(all="ignore"):
                    wrong = self._wrong_slope(calls, x, at)
            except FunctionError:
                # Near the ends of the parameters' range functions may refuse; what matters is complained of elsewhere.
                continue
            if wrong is not None:
                j, given, slope = wrong
                warnings.warn(
                    f"`score` is not the derivative of `log_density`: for parameter {j + 1} it is {given:.4g} where finite "
                    f"differences give {slope:.4g}; estimates and errors will be wrong",
                    NoisewrightWarning,
                    stacklevel=2,
                )
                return

    def _wrong_slope(self, calls: _Calls, x: Array, theta: Array) -> tuple[int, float, float] | None:
        """A parameter whose score is off at most of the points, with both slopes where they differ most."""
        raw = calls.value(x, theta)
        if "64" not in str(getattr(raw, "dtype", "float64")):
            return None  # Single precision has too few digits to be differenced.
        values, given = self._values(raw, x), self._scores(calls.given(x, theta), x)
        for j, (up, down, width) in enumerate(_steps(theta)):
            slope = (self._values(calls.value(x, up), x) - self._values(calls.value(x, down), x)) / width
            room = 0.01 * np.maximum(np.abs(slope), np.abs(given[j])) + 1e-5 * np.maximum(1.0, np.abs(values))
            apart = np.abs(given[j] - slope)
            known = np.isfinite(apart) & np.isfinite(room)
            # A kink, or rounding, may spoil some of the points.
            if known.any() and 2 * np.count_nonzero(apart[known] > room[known]) > np.count_nonzero(known):
                worst = int(np.argmax(np.where(known, apart, -1.0)))
                return j, float(given[j, worst]), float(slope[worst])
        return None

    def _found(self, x: Array, theta: Array) -> Literal["numpy", "jax", "torch"]:
        """Which library the function is written with: what comes out of NumPy arrays says it."""
        try:
            with np.errstate(all="ignore"):
                answer = self.log_density(np.array(x), np.array(theta))
        except Exception as error:
            if "torch" in sys.modules and _torch_answers(self.log_density, x, theta):
                return "torch"
            if "jax" in sys.modules and _jax_answers(self.log_density, x, theta):
                return "jax"
            raise _raised("log_density", error) from error
        module = type(answer).__module__.partition(".")[0]
        return "jax" if module in ("jax", "jaxlib") else "torch" if module == "torch" else "numpy"

    def _values(self, values: Any, x: Array) -> Array:
        rows = x.shape[0]
        array = _numbers(values, "log_density")
        if array.shape == (rows, 1):
            array = array.reshape(rows)
        if array.shape != (rows,):
            raise FunctionError(
                f"`log_density` returned the shape {array.shape} for {rows} points, and must return one value per row"
            )
        if np.isposinf(array).any():
            raise FunctionError(f"`log_density` is infinite at x = {x[int(np.argmax(array))].tolist()}")
        return array

    def _scores(self, scores: Any, x: Array) -> Array:
        rows = x.shape[0]
        array = _numbers(scores, "score")
        if array.ndim == 1 and self.n_params == 1:
            array = array[:, np.newaxis]
        if array.shape != (rows, self.n_params):
            raise FunctionError(
                f"`score` returned the shape {array.shape} for {rows} points, and must return one row per point and one "
                f"column for each of the {self.n_params} parameters"
            )
        return np.ascontiguousarray(array.T)


class _Calls:
    """The function's values, score and curvature in one library."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.function = evaluator.log_density
        self.own_score = evaluator.score
        self.size = evaluator.n_params
        #: Whether `slope` costs less than the score of every point.
        self.sums_scores = False
        #: Whether second derivatives are to be had.
        self.has_curvature = True

    def value(self, x: Array, theta: Array) -> Any:
        raise NotImplementedError

    def slope(self, x: Array, theta: Array, weights: Array) -> Any:
        """The weighted sum of the score."""
        raise NotImplementedError

    def both(self, x: Array, theta: Array) -> tuple[Any, Any]:
        """The values and the score, one row per parameter."""
        raise NotImplementedError

    def given(self, x: Array, theta: Array) -> Any:
        """The score that the user gave, one row per point."""
        raise NotImplementedError

    def curvature(self, x: Array, theta: Array, weights: Array) -> Array:
        """Differences of the given score."""

        def slope(at: Array) -> Array:
            return weights @ _numbers(self.given(x, at), "score").reshape(len(x), self.size)

        out = np.empty((self.size, self.size))
        for j, (up, down, width) in enumerate(_steps(theta)):
            out[j] = (slope(up) - slope(down)) / width
        return 0.5 * (out + out.T)


class _Numpy(_Calls):
    """NumPy: finite differences where no score is given."""

    def __init__(self, evaluator: Evaluator) -> None:
        super().__init__(evaluator)
        self.has_curvature = self.own_score is not None or self.size <= CURVATURE_PARAMETERS
        if self.own_score is None and self.size > 0:
            warnings.warn(
                "derivatives of a NumPy function are taken by finite differences; give `score`, or write the function "
                "with JAX or PyTorch, for exact and faster ones",
                FiniteDifferenceWarning,
                stacklevel=2,
            )

    def value(self, x: Array, theta: Array) -> Any:
        return _called("log_density", self.function, _read_only(x), _read_only(theta))

    def given(self, x: Array, theta: Array) -> Any:
        assert self.own_score is not None
        return _called("score", self.own_score, _read_only(x), _read_only(theta))

    def both(self, x: Array, theta: Array) -> tuple[Any, Any]:
        values = self.value(x, theta)
        scores = np.empty((self.size, len(x)))
        for j, (up, down, width) in enumerate(_steps(theta)):
            high, low = (_numbers(self.value(x, at), "log_density").reshape(-1) for at in (up, down))
            if high.shape != (len(x),):
                break  # The values have the same wrong shape, of which the caller complains.
            # A point without density has no slope either.
            with np.errstate(invalid="ignore"):
                scores[j] = np.nan_to_num((high - low) / width, nan=0.0, posinf=0.0, neginf=0.0)
        return values, scores

    def curvature(self, x: Array, theta: Array, weights: Array) -> Array:
        """Second differences of the weighted values, which cost far fewer calls than differences of differences."""
        if self.own_score is not None:
            return super().curvature(x, theta, weights)

        def total(*shifts: tuple[int, float]) -> float:
            at = theta.copy()
            for j, shift in shifts:
                at[j] += shift
            values = _numbers(self.value(x, at), "log_density").reshape(-1)
            return float(weights @ np.where(weights == 0.0, 0.0, values))

        steps = WIDE_STEP * np.maximum(1.0, np.abs(theta))
        here = total()
        ends = [(total((j, h)), total((j, -h))) for j, h in enumerate(steps)]
        out = np.empty((self.size, self.size))
        for i, (up, down) in enumerate(ends):
            out[i, i] = (up - 2 * here + down) / steps[i] ** 2
            for j in range(i):
                both = total((i, steps[i]), (j, steps[j])) + total((i, -steps[i]), (j, -steps[j]))
                mixed = both + 2 * here - up - down - sum(ends[j])
                out[i, j] = out[j, i] = mixed / (2 * steps[i] * steps[j])
        return out


class _Jax(_Calls):
    """JAX: compiled for two numbers of points, in double precision, derivatives by its own differentiation."""

    def __init__(self, evaluator: Evaluator) -> None:
        super().__init__(evaluator)
        import jax
        import jax.numpy as jnp

        def rows(x: Any, theta: Any) -> Any:
            values = self.function(x, theta)
            return values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values

        def forward(x: Any, theta: Any) -> Any:
            values, push = jax.linearize(lambda at: rows(x, at), theta)
            return values, jax.vmap(push)(jnp.eye(self.size, dtype=theta.dtype))

        def backward(x: Any, theta: Any) -> Any:
            one = jax.value_and_grad(lambda at, row: rows(row[None, :], at)[0])
            values, scores = jax.vmap(one, in_axes=(None, 0))(theta, x)
            return values, scores.T

        def total(theta: Any, x: Any, weights: Any) -> Any:
            return weights @ rows(x, theta)

        self._double = _double_precision(jax)
        self.sums_scores = self.own_score is None
        self._value = jax.jit(rows)
        self._both = jax.jit(forward if self.size <= FORWARD_PARAMETERS else backward)
        self._slope = jax.jit(jax.grad(total))
        self._bent = jax.jit(jax.hessian(total))

    def _run(self, name: str, call: Callable[..., Any], *arguments: Array) -> Any:
        with self._double(True):
            return _called(name, call, *arguments)

    def value(self, x: Array, theta: Array) -> Any:
        parts = [
            np.asarray(self._run("log_density", self._value, points, theta))[..., :count] for points, count in _batches(x)
        ]
        return np.concatenate(parts, axis=-1)

    def both(self, x: Array, theta: Array) -> tuple[Any, Any]:
        parts = [(self._run("log_density", self._both, points, theta), count) for points, count in _batches(x)]
        values = np.concatenate([np.asarray(values)[:count] for (values, _), count in parts])
        return values, np.concatenate([np.asarray(scores)[:, :count] for (_, scores), count in parts], axis=1)

    def given(self, x: Array, theta: Array) -> Any:
        assert self.own_score is not None
        return np.asarray(self._run("score", self.own_score, x, theta))

    def _sum(self, call: Callable[..., Any], x: Array, theta: Array, weights: Array) -> Array:
        """A sum over all points, batch by batch; those that fill a batch up weigh nothing."""
        total: Any = 0.0
        start = 0
        for points, count in _batches(x):
            padded = np.zeros(len(points))
            padded[:count] = weights[start : start + count]
            total = total + _numbers(self._run("log_density", call, theta, points, padded), "log_density")
            start += count
        return np.asarray(total)

    def slope(self, x: Array, theta: Array, weights: Array) -> Any:
        return self._sum(self._slope, x, theta, weights)

    def curvature(self, x: Array, theta: Array, weights: Array) -> Array:
        return self._sum(self._bent, x, theta, weights)


class _Torch(_Calls):
    """PyTorch: scores by `torch.func`, sums by going back."""

    def __init__(self, evaluator: Evaluator) -> None:
        super().__init__(evaluator)
        import torch

        self._torch = torch
        # The levels of forward differentiation belong to the process: two threads at once would end each other's.
        self._alone = threading.RLock()
        self.sums_scores = self.own_score is None

    def _tensors(self, *arrays: Array) -> list[Any]:
        return [self._torch.from_numpy(np.ascontiguousarray(array)) for array in arrays]

    def _rows(self, x: Any, theta: Any) -> Any:
        values = self.function(x, theta)
        return values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values

    def value(self, x: Array, theta: Array) -> Any:
        with self._alone, self._torch.no_grad():
            return _called("log_density", self._rows, *self._tensors(x, theta))

    def both(self, x: Array, theta: Array) -> tuple[Any, Any]:
        parts = [self._both(x[start : start + BATCHES[1]], theta) for start in range(0, len(x), BATCHES[1])]
        return np.concatenate([values for values, _ in parts]), np.concatenate([scores for _, scores in parts], axis=1)

    def _both(self, x: Array, theta: Array) -> tuple[Array, Array]:
        func = self._torch.func
        points, at = self._tensors(x, theta)
        with self._alone:
            if self.size <= FORWARD_PARAMETERS:
                slopes = func.jacfwd(lambda t: self._rows(points, t))
                values, scores = self.value(x, theta), _called("log_density", slopes, at)
            else:
                one = func.grad_and_value(lambda t, row: self._rows(row[None, :], t)[0])
                scores, values = _called("log_density", func.vmap(one, in_dims=(None, 0)), at, points)
        return _numbers(values, "log_density"), _numbers(scores.T, "score")

    def given(self, x: Array, theta: Array) -> Any:
        assert self.own_score is not None
        with self._alone, self._torch.no_grad():
            return _called("score", self.own_score, *self._tensors(x, theta))

    def _slopes(self, x: Array, theta: Array, weights: Array, keep: bool) -> tuple[Any, Any]:
        """The parameters and the weighted sum of the score at them, which remembers how it came about if it is kept."""
        torch = self._torch
        points, at, shares = self._tensors(x, theta, weights)
        at.requires_grad_(True)

        def slope() -> Any:
            with torch.enable_grad():
                total = (shares * self._rows(points, at)).sum()
                if not total.requires_grad:
                    return torch.zeros_like(at)
                return torch.autograd.grad(total, at, create_graph=keep, materialize_grads=True)[0]

        return at, _called("log_density", slope)

    def slope(self, x: Array, theta: Array, weights: Array) -> Any:
        with self._alone:
            return self._slopes(x, theta, weights, keep=False)[1]

    def curvature(self, x: Array, theta: Array, weights: Array) -> Array:
        """One more pass back for every parameter, which goes no further back than parameters act together: forward
        differentiation carries every parameter through every point, and took ten times as long for an energy of 20."""
        with self._alone:
            at, slope = self._slopes(x, theta, weights, keep=True)
            if not slope.requires_grad:
                return np.zeros((self.size, self.size))
            grad = self._torch.autograd.grad

            def row(j: int) -> Any:
                return grad(slope[j], at, retain_graph=True, materialize_grads=True)[0]

            bent = _called("log_density", lambda: self._torch.stack([row(j) for j in range(self.size)]))
            return _numbers(bent, "log_density")


def _called(name: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """A call of the user's, whose exception becomes ours."""
    try:
        return function(*arguments)
    except Exception as error:
        raise _raised(name, error) from error


def _read_only(array: Array) -> Array:
    """The array as a user's function may see it: one that writes to it would change the data of the next call."""
    view = array.view()
    view.flags.writeable = False
    return view


def _raised(name: str, error: Exception) -> FunctionError:
    if isinstance(error, FunctionError):
        return error
    words = str(error).strip().partition("\n")[0]
    return FunctionError(f"`{name}` raised {type(error).__name__}{': ' if words else ''}{words}")


def _numbers(values: Any, name: str) -> Array:
    """What a function returned, as an array of double precision."""
    if hasattr(values, "detach"):
        values = values.detach().cpu()
    try:
        array = np.asarray(values)
        if array.dtype.kind not in "fiub":
            raise TypeError(f"it holds {array.dtype}")
        return np.asarray(array, dtype=np.float64, order="C")
    except (TypeError, ValueError) as error:
        raise FunctionError(f"`{name}` must return an array of real numbers: {error}") from error


def _sound(scores: Array, values: Array) -> Array:
    """The score, zero where a point has no density and so no slope."""
    outside = np.isneginf(values)
    if outside.any():
        scores = np.where(outside, 0.0, scores)
    return scores


def _steps(theta: Array) -> Any:
    """For each parameter the two sides of a central difference, and their true distance."""
    for j, value in enumerate(theta):
        step = STEP * max(1.0, abs(value))
        up, down = theta.copy(), theta.copy()
        up[j] += step
        down[j] -= step
        yield up, down, up[j] - down[j]


def _double_precision(jax: Any) -> Any:
    """JAX's switch to double precision, which older versions have under another name."""
    if hasattr(jax, "enable_x64"):
        return jax.enable_x64
    import importlib

    return importlib.import_module("jax.experimental").enable_x64


def _counting(x: Array, weights: Array) -> Array:
    """The points, those without weight replaced by another: they count for nothing, but their slopes may be no numbers."""
    idle = weights == 0.0
    return np.where(idle[:, np.newaxis], x[int(np.argmin(idle))], x) if idle.any() else x


def _batches(x: Array) -> Iterator[tuple[Array, int]]:
    """The points in batches of few sizes, the last point repeated until one is full, and how many are its own."""
    for start in range(0, max(len(x), 1), BATCHES[1]):
        points = np.ascontiguousarray(x[start : start + BATCHES[1]])
        count = len(points)
        size = next(size for size in BATCHES if size >= count)
        yield np.concatenate([points, np.repeat(points[-1:], size - count, axis=0)]) if 0 < count < size else points, count


def _torch_answers(function: Callable[..., Any], x: Array, theta: Array) -> bool:
    import torch

    try:
        return bool(torch.is_tensor(function(torch.tensor(np.array(x)), torch.tensor(np.array(theta)))))
    except Exception:
        return False


def _jax_answers(function: Callable[..., Any], x: Array, theta: Array) -> bool:
    import jax
    import jax.numpy as jnp

    try:
        return isinstance(function(jnp.asarray(x), jnp.asarray(theta)), jax.Array)
    except Exception:
        return False
