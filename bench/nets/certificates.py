"""Certificates: what a design calls certified, verified on a finer rule that is not the library's.

    python bench/nets/certificates.py > bench/nets/CERTIFICATES.md

A design over all noises of a model with a free constant is a convex problem: with `G = δV/δp_n`, every noise p has at least
the error `V + min G − ∫G p_n` (MATH §6). Here V, G and the integrals are computed by NumPy on a trapezoidal rule of 400,001
nodes from the model's log-density, its score, and the designed noise's log-density. What is then left to gain must not exceed
the gap that was certified by more than the rule itself is uncertain: its difference to the rule of half the nodes, and what
it finds missing of the noise's mass, m − 1, which moves the bound by (m − 1) min G, and (h/σ)²: an optimal noise has kinks, where
a trapezoidal rule of step h errs by up to h²/8 times the jump of the slope, which is of the order of 1/σ² beside the integral.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

import noisewright as nw

from systems import System, systems

NODES = 400_001

#: The range that each system's mass lies in, to well beyond the rounding of a sum.
RANGES = {
    "gaussian": (-25.0, 27.0),
    "features": (-25.0, 27.0),
    "formula": (-25.0, 27.0),
    "exponential-polynomial": (-6.0, 6.0),
    "von-mises": (-math.pi, math.pi),
    "beta": (1e-9, 1 - 1e-9),
    "gamma": (1e-9, 40.0),
    # This density does not vanish at zero: the rule misses what is below its first node.
    "truncated-gaussian": (1e-12, 12.0),
}


@dataclass(frozen=True)
class Verified:
    """A certified design, and what another rule says of it."""

    system: str
    target: str
    nu: float
    gap: float
    error: float
    own_error: float
    own_gap: float
    uncertainty: float

    @property
    def holds(self) -> bool:
        agrees = abs(self.own_error / self.error - 1) <= self.uncertainty + 1e-7
        return agrees and self.own_gap <= self.gap + self.uncertainty


def on_rule(system: System, result: nw.DesignResult, target: str, nodes: int) -> tuple[float, float, float]:
    """The error of the design, its relative gap, and what mass and kinks leave uncertain, on a trapezoidal rule."""
    x = np.linspace(*RANGES[system.kind], nodes)
    at = {name: value for name, value in system.truth.items() if name != "log_normalizer"}
    log_f = system.model.log_density(x[:, None], **at)
    step = np.full(nodes, x[1] - x[0])
    step[[0, -1]] /= 2
    density = np.exp(log_f - log_f.max())
    density /= (density * step).sum()
    score = np.atleast_2d(system.model.score(x[:, None], **at))
    score = score if score.shape[0] == nodes else score.T
    # The constant is the last coordinate: ∂(log f − c)/∂c = −1.
    psi = np.concatenate([score, -np.ones((nodes, 1))], axis=1)
    noise = np.exp(result.noise.log_density(x[:, None]))
    nu, size = result.nu, psi.shape[1]
    wanted = np.eye(size)
    if target != "mse":
        wanted = np.zeros((size, size))
        place = list(system.model.coordinates).index(target)
        wanted[place, place] = 1.0
    weight = nu * noise / (density + nu * noise)
    information = (psi * (weight * density * step)[:, None]).T @ psi
    inverse = np.linalg.inv(information)
    price = 1 + nu
    value = price * (np.trace(inverse @ wanted) - (1 + 1 / nu) * wanted[-1, -1])
    sensitivity = np.einsum("ni,ij,nj->n", psi, inverse @ wanted @ inverse, psi)
    gradient = -price * nu * density**2 * sensitivity / (density + nu * noise) ** 2
    missing = abs((noise * step).sum() - 1) * abs(gradient.min()) / value
    mean = (x * density * step).sum()
    kinks = (x[1] - x[0]) ** 2 / ((x - mean) ** 2 * density * step).sum()
    return value, ((gradient * noise * step).sum() - gradient.min()) / value, missing + kinks


def designs(ratios: list[float | str]) -> Iterator[Verified]:
    """Every system on a line with a free constant, at several ratios and targets."""
    for system in systems():
        if system.kind not in RANGES or "log_normalizer" not in system.model.coordinates or "plane" in system.name:
            continue
        at = {name: value for name, value in system.truth.items() if name != "log_normalizer"}
        for target in ("mse", system.model.coordinates[0]):
            for nu in ratios:
                try:
                    result = nw.design(system.model, nu=nu, at=at, target=target, progress=False)
                except nw.NoisewrightError:
                    continue
                if result.gap is None:
                    continue
                error, gap, left = on_rule(system, result, target, NODES)
                coarse, coarse_gap, _ = on_rule(system, result, target, NODES // 2 + 1)
                uncertainty = max(abs(coarse / error - 1), abs(coarse_gap - gap)) + left
                yield Verified(system.name, target, result.nu, result.gap, result.error, error, gap, uncertainty)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--ratios", nargs="+", default=["0.1", "1", "10", "auto"])
    given = parser.parse_args()
    ratios: list[float | str] = [ratio if ratio == "auto" else float(ratio) for ratio in given.ratios]
    found = list(designs(ratios))
    failed = sum(not verified.holds for verified in found)
    print(f"# Certificates\n\nGenerated by `bench/nets/certificates.py` at the ratios {', '.join(given.ratios)}: {len(found)} certificates,", end=" ")
    print(f"{failed} of which do not hold.\n")
    print("| system | target | ν | error | on the other rule, relatively | certified gap | gap on the other rule | its uncertainty | |")
    print("|---|---|---|---|---|---|---|---|---|")
    for one in found:
        print(
            f"| {one.system} | {one.target} | {one.nu:.4g} | {one.error:.8g} | {one.own_error / one.error - 1:+.1e} "
            f"| {one.gap:.1e} | {one.own_gap:.1e} | {one.uncertainty:.1e} | {'' if one.holds else '**fails**'} |"
        )


if __name__ == "__main__":
    main()
