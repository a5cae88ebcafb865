"""Checks of plain arguments, each with a sentence that names the argument."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .errors import InputError

__all__ = ["chain_lengths", "counted", "number", "positive", "shown", "whole"]

#: Most characters of a value that a message quotes.
_QUOTED = 40


def shown(value: Any) -> str:
    """A value for a message, without hundreds of digits.

    >>> shown(10**400)
    '1000000000000000000000000000000000000000…'
    """
    try:
        text = repr(value)
    except ValueError:
        # Python writes no whole number of more than some thousand digits.
        text = "a number of thousands of digits"
    return text if len(text) <= _QUOTED else f"{text[:_QUOTED]}…"


def number(value: Any, argument: str) -> float:
    """A number that is one.

    >>> number(3, "nu")
    3.0
    """
    try:
        found = float(value)
    except OverflowError:
        raise InputError(f"`{argument}` is too large for a number: {shown(value)}") from None
    except (TypeError, ValueError):
        raise InputError(f"`{argument}` must be a number, not {shown(value)}") from None
    if np.isnan(found):
        raise InputError(f"`{argument}` must be a number, not NaN")
    return found


def positive(value: Any, argument: str) -> float:
    """A finite number above zero."""
    found = number(value, argument)
    if not 0.0 < found < np.inf:
        raise InputError(f"`{argument}` must be positive and finite, not {shown(value)}")
    return found


def loss_ratio_of(value: Any) -> float | None:
    """The ratio inside a loss, or nothing where it is `auto`."""
    return None if isinstance(value, str) and value == "auto" else number(value, "loss_ratio")


def whole(value: Any, argument: str) -> int:
    """A whole number from zero on."""
    try:
        found = int(value)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"`{argument}` must be a whole number, not {shown(value)}") from None
    if found != value or found < 0 or found >= 1 << 64:
        raise InputError(f"`{argument}` must be a whole number from 0, not {shown(value)}")
    return found


def counted(value: Any, argument: str) -> int:
    """A whole number from one on."""
    found = whole(value, argument)
    if found == 0:
        raise InputError(f"`{argument}` must be at least 1, not 0")
    return found


def chain_lengths(chains: Sequence[int] | int | None, rows: int, argument: str) -> list[int] | None:
    """The lengths of chains that make up so many rows: given, or so many equal ones.

    >>> chain_lengths(2, 10, "chains")
    [5, 5]
    """
    if chains is None:
        return None
    if np.ndim(chains) == 0:
        count = whole(chains, argument)
        if count == 0 or rows % count:
            raise InputError(f"`{argument}`: {rows} rows cannot be divided into {count} chains of one length")
        return [rows // count] * count
    lengths = [whole(length, argument) for length in chains]  # type: ignore[union-attr]
    if sum(lengths) != rows:
        raise InputError(f"`{argument}` hold {sum(lengths)} rows together, but there are {rows}")
    return lengths
