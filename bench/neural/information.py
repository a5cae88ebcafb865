"""Mutual information by networks through bridges: pairs of known correlation in 40, 80 and 160 dimensions, 100,000 rows."""

from __future__ import annotations

import time
from typing import Any

import torch
from systems import pairs

from noisewright.torch import mutual_information


def main(device: torch.device, tiny: bool) -> list[dict[str, Any]]:
    rows = []
    for d in (4,) if tiny else (40, 80, 160):
        x, y = (torch.as_tensor(part, device=device) for part in pairs(2000 if tiny else 100_000, d, seed=d))
        began = time.monotonic()
        options = {"epochs": 3, "batch": 200} if tiny else {"epochs": 120, "batch": 2048, "rate": 2e-3, "patience": 15, "weight_decay": 1e-3}
        found = mutual_information(x, y, bridges=2 if tiny else "auto", folds=2 if tiny else 5, **options)
        e, truth = found.information, d / 4
        rows.append(
            {
                "d": d,
                "truth": truth,
                "estimate": e.estimate,
                "se": e.se,
                "lower": e.lower,
                "upper": e.upper,
                "bridges": len(found.bridges),
                "folds": [fold.estimate for fold in found.folds],
                "slopes": [bridge.slope for bridge in found.bridges],
                "losses": [bridge.loss for bridge in found.bridges],
                "seconds": time.monotonic() - began,
                "ok": abs(e.estimate / truth - 1) < 0.02 and e.lower < truth < e.upper,
            }
        )
    return rows
