"""The page of results from their numbers."""

from __future__ import annotations

import math
from typing import Any

#: The most milliseconds that a step may take.
STEP_MS = 0.5


def page(results: dict[str, Any]) -> str:
    """Markdown; parts that were not run are left out."""
    lines = ["# Networks", "", f"Written by `bench/neural/run`. Machine: {results['machine']}.", "", *_asked(results), ""]
    for name, part in (("toys", _toys), ("speeds", _speeds), ("information", _information), ("pictures", _pictures), ("coverage", _coverage)):
        if results.get(name):
            lines += [*part(results[name]), ""]
    return "\n".join(lines)


def _table(head: list[str], rows: list[list[Any]]) -> list[str]:
    return ["| " + " | ".join(head) + " |", "|" + "---|" * len(head), *("| " + " | ".join(str(entry) for entry in row) + " |" for row in rows)]


def _asked(results: dict[str, Any]) -> list[str]:
    """What is asked for, what was measured, and whether that is enough."""
    rows: list[list[Any]] = []

    def ask(what: str, bound: str, measured: str, reached: bool) -> None:
        rows.append([what, bound, measured, "yes" if reached else "**no**"])

    for r in results.get("toys", []):
        ask(f"KL, {r['toy']}", f"≤ {r['bound']} in 60 s", f"{r['kl']:.5f} in {r['seconds']:.0f} s", r["ok"] and r["seconds"] <= 60)
    if results.get("speeds"):
        best = min(r["step_ms"] for r in results["speeds"])
        ask("a step at 8,192 + 8,192 points", f"≤ {STEP_MS} ms", f"{best:.2f} ms at best", best <= STEP_MS)
    for r in results.get("information", []):
        ask(f"mutual information, d = {r['d']}", "within 2 %, in the interval", f"{100 * (r['estimate'] / r['truth'] - 1):+.2f} %", r["ok"])
    for r in results.get("pictures", []):
        known = math.isfinite(r["gain_se"])
        ask(f"gain by the tilt, {r['data']}", "> 5 standard errors", f"{r['gain_in_errors']:.1f}" if known else "log Z refused", known and r["gain_in_errors"] > 5)
        both = math.isfinite(r["is_se"]) and math.isfinite(r["bridge_se"])
        apart = f"{r['disagreement']:.1f}" + ("" if both else ", log Z refused")
        ask(f"IS and bridge, {r['data']}", "within 3 standard errors", apart, both and r["disagreement"] < 3)
    if results.get("coverage"):
        found = results["coverage"]
        ask("coverage of log Z", "90 – 98 % of 100 seeds", f"{100 * found['covered']:.0f} %", found["ok"])
    return ["## What is asked for", "", *_table(["what", "bound", "measured", "reached"], rows)] if rows else []


def _toys(rows: list[dict[str, Any]]) -> list[str]:
    head = ["density", "KL(data ‖ model)", "bound", "seconds", "steps", "ms per step"]
    body = [[r["toy"], f"{r['kl']:.5f}", r["bound"], f"{r['seconds']:.1f}", r["steps"], f"{r['step_ms']:.3f}"] for r in rows]
    text = "An MLP of 4 × 256, 8,192 fresh rows and 8,192 noise points at every step; seconds include compilation. KL by a grid of 1,600²."
    return ["## Two-dimensional densities", "", text, "", *_table(head, body)]


def _speeds(rows: list[dict[str, Any]]) -> list[str]:
    head = ["way", "precision", "ms per step", "KL after it"]
    body = [[r["accelerate"], r["precision"], f"{r['step_ms']:.3f}", f"{r['kl']:.4f}"] for r in rows]
    text = "8 Gaussians, 4,000 steps each, but 200 for `none`: its KL is that of a short training."
    return ["## A step at 8,192 + 8,192 points", "", text, "", *_table(head, body)]


def _information(rows: list[dict[str, Any]]) -> list[str]:
    head = ["d", "truth", "estimate", "se", "95 % interval", "off by", "bridges", "seconds"]
    body = [
        [r["d"], f"{r['truth']:g}", f"{r['estimate']:.3f}", f"{r['se']:.3f}", f"{r['lower']:.3f} – {r['upper']:.3f}",
         f"{100 * (r['estimate'] / r['truth'] - 1):+.2f} %", r["bridges"], f"{r['seconds']:.0f}"]
        for r in rows
    ]
    return ["## Mutual information", "", "100,000 rows; pairs of correlation 0.79506; five folds.", "", *_table(head, body)]


def _pictures(rows: list[dict[str, Any]]) -> list[str]:
    chosen = "; ".join(f"{r['data']}: width {r['width']}, ±{r['bound']:g}, rate {r['rate']:g}, {r['epochs']} epochs" for r in rows)
    text = (
        "Dequantised; a fifth of the images held out; nats per image. The flow has each pixel's histogram, then splines. The width of its "
        "networks (32, 64), and the tilt's bound (±2, 4, 8), rate (0.0005, 0.002) and length (1, 2, 4, … 256 epochs, as long as log Z by importance sampling is "
        "not refused) were chosen by the gain on a fifth of the training images; of these settings the best is taken whose tilt, trained on all training images, has "
        f"a log Z by noise draws that is not refused. The images held out have no part in that. Chosen: {chosen}. An error of ∞ would be a refusal."
    )
    out = ["## Images", "", text]
    head = ["data", "flow alone", "gain over noise", "in errors", "log Z by IS", "by the bridge", "apart (errors)", "Pareto k", "bits per dimension"]
    body = [
        [r["data"], f"{r['flow_log_likelihood']:.2f}", _pm(r["gain"], r["gain_se"]), f"{r['gain_in_errors']:.1f}" if math.isfinite(r["gain_se"]) else "–",
         _pm(r["is"], r["is_se"]), _pm(r["bridge"], r["bridge_se"]), f"{r['disagreement']:.2f}", f"{r['pareto_k']:.2f}",
         _pm(r["bits_per_dimension"], r["bits_se"])]
        for r in rows
    ]
    reasons = [f"- {r['data']}: {sentence}" for r in rows for sentence in r["warnings"]]
    other = [[r["data"], kind, f"{area:.3f}"] for r in rows for kind, area in r["other"].items()]
    told = ["", *reasons] if reasons else []
    return [*out, "", *_table(head, body), *told, "", "Other images told from held-out ones (area under the curve):", "", *_table(["data", "other images, by", "area"], other)]


def _pm(value: float, error: float) -> str:
    return f"{value:.4f} ± {'∞' if math.isinf(error) else f'{error:.4f}'}"


def _coverage(found: dict[str, Any]) -> list[str]:
    return [
        "## Coverage of log Z",
        "",
        f"A 10-dimensional Gaussian energy as a module, trained, {found['seeds']} seeds: the 95 % interval that `evaluate` uses has the truth "
        f"in {100 * found['covered']:.0f} %; the bridge's in {100 * found['covered_bridge']:.0f} %, z-scores with standard deviation "
        f"{found['z_sd'][1]:.2f}; importance sampling is refused in {100 * found['refused_is']:.0f} %.",
    ]
