"""The page of results from their numbers."""

from __future__ import annotations

from typing import Any


def page(results: dict[str, Any]) -> str:
    """Markdown; parts that were not run are left out."""
    lines = ["# Networks", "", f"Written by `bench/neural/run`. Machine: {results['machine']}.", ""]
    for name, part in (("toys", _toys), ("speeds", _speeds), ("information", _information), ("pictures", _pictures), ("coverage", _coverage)):
        if results.get(name):
            lines += [*part(results[name]), ""]
    return "\n".join(lines)


def _table(head: list[str], rows: list[list[Any]]) -> list[str]:
    return ["| " + " | ".join(head) + " |", "|" + "---|" * len(head), *("| " + " | ".join(str(entry) for entry in row) + " |" for row in rows)]


def _toys(rows: list[dict[str, Any]]) -> list[str]:
    head = ["density", "KL(data ‖ model)", "bound", "seconds", "steps", "ms per step"]
    body = [[r["toy"], f"{r['kl']:.5f}", r["bound"], f"{r['seconds']:.1f}", r["steps"], f"{r['step_ms']:.3f}"] for r in rows]
    text = "An MLP of 4 × 256, 8,192 fresh rows and 8,192 noise points at every step; seconds include compilation. KL by a grid of 1,600²."
    return ["## Two-dimensional densities", "", text, "", *_table(head, body)]


def _speeds(rows: list[dict[str, Any]]) -> list[str]:
    head = ["way", "precision", "ms per step", "KL after it"]
    body = [[r["accelerate"], r["precision"], f"{r['step_ms']:.3f}", f"{r['kl']:.4f}"] for r in rows]
    return ["## A step at 8,192 + 8,192 points", "", *_table(head, body)]


def _information(rows: list[dict[str, Any]]) -> list[str]:
    head = ["d", "truth", "estimate", "se", "95 % interval", "off by", "bridges", "seconds"]
    body = [
        [r["d"], f"{r['truth']:g}", f"{r['estimate']:.3f}", f"{r['se']:.3f}", f"{r['lower']:.3f} – {r['upper']:.3f}",
         f"{100 * (r['estimate'] / r['truth'] - 1):+.2f} %", r["bridges"], f"{r['seconds']:.0f}"]
        for r in rows
    ]
    return ["## Mutual information", "", "100,000 rows; pairs of correlation 0.79506; five folds.", "", *_table(head, body)]


def _pictures(rows: list[dict[str, Any]]) -> list[str]:
    out = ["## Images", "", "Dequantised; a fifth of the images held out; nats per image."]
    head = ["data", "flow alone", "gain over noise", "in errors", "log Z by IS", "by the bridge", "apart (errors)", "Pareto k", "bits per dimension"]
    body = [
        [r["data"], f"{r['flow_log_likelihood']:.2f}", f"{r['gain']:.3f} ± {r['gain_se']:.3f}", f"{r['gain_in_errors']:.1f}",
         f"{r['is']:.4f} ± {r['is_se']:.4f}", f"{r['bridge']:.4f} ± {r['bridge_se']:.4f}", f"{r['disagreement']:.2f}", f"{r['pareto_k']:.2f}",
         f"{r['bits_per_dimension']:.4f} ± {r['bits_se']:.4f}"]
        for r in rows
    ]
    other = [[r["data"], kind, f"{area:.3f}"] for r in rows for kind, area in r["other"].items()]
    return [*out, "", *_table(head, body), "", "Other images told from held-out ones (area under the curve):", "", *_table(["data", "other images, by", "area"], other)]


def _coverage(found: dict[str, Any]) -> list[str]:
    return [
        "## Coverage of log Z",
        "",
        f"A 10-dimensional Gaussian energy as a module, trained, {found['seeds']} seeds: the 95 % interval that `evaluate` uses has the truth "
        f"in {100 * found['covered']:.0f} %; the bridge's in {100 * found['covered_bridge']:.0f} %, z-scores with standard deviation "
        f"{found['z_sd'][1]:.2f}; importance sampling is refused in {100 * found['refused_is']:.0f} %.",
    ]
