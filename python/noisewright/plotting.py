"""Pictures of results with matplotlib, which is an optional extra."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .errors import InputError, MissingLibraryError

__all__ = ["draw", "heat_map"]


def draw(panels: list[Any], ax: Any = None) -> Any:
    """Draws panels below each other, or into the axes given; gives the axes, an array where there are several."""
    if not panels:
        raise InputError("this result has nothing to draw")
    pyplot = _pyplot()
    if ax is None:
        _, axes = pyplot.subplots(len(panels), 1, figsize=(6.4, 3.2 * len(panels)), squeeze=False, layout="tight")
        flat = list(axes[:, 0])
    else:
        flat = list(ax.flat) if hasattr(ax, "flat") else [ax]
    for panel, place in zip(panels, flat):
        _panel(place, *panel)
    return flat[0] if len(flat) == 1 else flat


def _pyplot() -> Any:
    try:
        from matplotlib import pyplot
    except ImportError:
        raise MissingLibraryError("`plot` needs matplotlib: pip install 'noisewright[plot]'") from None
    return pyplot


def heat_map(
    ax: Any, x: Any, y: Any, values: Any, labels: Sequence[str], scale: str, limits: tuple[float, float] | None = None
) -> Any:
    """Draws cells between the edges `x` and `y`, one row of `values` for every cell along `y`; gives the axes."""
    place = _pyplot().subplots(layout="tight")[1] if ax is None else ax
    low, high = limits or (None, None)
    mesh = place.pcolormesh(x, y, values, vmin=low, vmax=high, cmap="viridis")
    place.figure.colorbar(mesh, ax=place, label=scale)
    place.set_xlabel(labels[0])
    place.set_ylabel(labels[1])
    return place


def _panel(ax: Any, x: tuple[str, str], y: tuple[str, str], series: list[Any]) -> None:
    for (label, kind), axis, scale in ((x, ax.xaxis, ax.set_xscale), (y, ax.yaxis, ax.set_yscale)):
        axis.set_label_text(label)
        if kind == "log":
            scale("log")
        elif kind == "percent":
            from matplotlib.ticker import PercentFormatter

            axis.set_major_formatter(PercentFormatter(1.0))
    for kind, label, columns in series:
        _series(ax, kind, label, columns)
    if any(label for _, label, _ in series):
        ax.legend()


def _series(ax: Any, kind: str, label: str, columns: list[list[float]]) -> None:
    if kind in ("line", "dashed"):
        ax.plot(*columns, linestyle="--" if kind == "dashed" else "-", label=label)
    elif kind == "bars":
        ax.stairs(columns[1], columns[0], fill=True, alpha=0.3, label=label)
    elif kind == "points":
        at, middle, lower, upper = columns
        below = [m - low for m, low in zip(middle, lower)]
        above = [high - m for m, high in zip(middle, upper)]
        ax.errorbar(at, middle, yerr=[below, above], fmt="o", capsize=3, label=label)
    elif kind == "at":
        for place in columns[0]:
            ax.axvline(place, linestyle=":", color="0.4", label=label)
