"""Where variables live, as Python writes it and as the library and the model file read it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Union

import numpy as np

from .checks import shown
from .errors import ModelError

__all__ = ["Domain", "DomainLike", "Words", "as_toml", "parse", "toml_text"]

#: `"real"`, `"positive"`, `"circle"`, `"counts"`, `(lo, hi)` or `{"states": [...]}`.
Domain = Union[str, Sequence[float], Mapping[str, Sequence[float]]]
#: One domain for all variables, one each by name, or `"sphere"`.
DomainLike = Union[Domain, Mapping[str, Domain], None]
#: What the library reads: a word and its numbers.
Words = tuple[str, list[float]]

_NAMES = ("real", "positive", "circle", "counts")


def parse(domain: DomainLike, variables: Sequence[str]) -> list[Words]:
    """One domain per variable.

    >>> parse({"y": (0, 1)}, ["x", "y"])
    [('real', []), ('interval', [0.0, 1.0])]
    """
    domain = listed(domain)
    if domain is None:
        return [("real", []) for _ in variables]
    if domain == "sphere":
        return [("sphere", []) for _ in variables]
    if isinstance(domain, Mapping) and not _is_states(domain, variables):
        unknown = [name for name in domain if name not in variables]
        if unknown:
            raise ModelError(f"`domain` names `{unknown[0]}`, which is not among the variables {', '.join(variables)}")
        return [_one(domain[name]) if name in domain else ("real", []) for name in variables]
    return [_one(domain) for _ in variables]


def listed(domain: Any) -> Any:
    """A domain with lists in the place of arrays.

    >>> listed(np.array([0.0, 1.0]))
    [0.0, 1.0]
    """
    if isinstance(domain, Mapping):
        return {name: listed(part) for name, part in domain.items()}
    return domain.tolist() if isinstance(domain, np.ndarray) else domain


def _is_states(domain: Mapping[str, Any], variables: Sequence[str]) -> bool:
    return list(domain) == ["states"] and "states" not in variables


def _one(domain: Any) -> Words:
    if isinstance(domain, str) and domain in _NAMES:
        return domain, []
    try:
        if isinstance(domain, Mapping) and list(domain) == ["states"]:
            return "states", [float(state) for state in domain["states"]]
        if isinstance(domain, Sequence) and not isinstance(domain, str) and len(domain) == 2:
            return "interval", [float(domain[0]), float(domain[1])]
    except (TypeError, ValueError, OverflowError):
        pass
    raise ModelError(f'`domain` cannot be {shown(domain)}; use {", ".join(_NAMES)}, (lo, hi) or {{"states": [...]}}')


def as_toml(words: Words) -> str:
    """A domain in a model file."""
    word, numbers = words
    listed = ", ".join(repr(number) for number in numbers)
    if word == "interval":
        return f"[{listed}]"
    if word == "states":
        return f"{{ states = [{listed}] }}"
    return f'"{word}"'


def toml_text(text: str) -> str:
    """A string of a model file."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
