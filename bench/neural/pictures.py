"""Densities of images: a flow alone, then tilted by noise contrast; held-out likelihood, log Z in two ways, other images told apart."""

from __future__ import annotations

import time
import warnings
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from levels import LevelFlow
from systems import dequantised, images
from torch import nn

import noisewright as nw
from noisewright.networks.noises import split
from noisewright.normalizers import NormalizerEstimate
from noisewright.torch import NCE, evaluate, learn_noise, model_draws, train

#: Settings that are tried on a validation split of the training rows: the width of the flow's networks, the bound of
#: the tilt, its rate, and the length of its training in epochs. The held-out rows have no part in the choice.
WIDTHS = (32, 64)
BOUNDS = (2.0, 4.0, 8.0)
RATES = (5e-4, 2e-3)
EPOCHS = (1, 2, 4, 8, 16, 32, 64, 128, 256)
#: Noise draws that log Z is judged by. Where it is refused, as their weights may have an infinite variance, the tilt
#: has gone too far from its noise.
DRAWS = 100_000


@dataclass(frozen=True)
class Settings:
    """How a tilt is trained."""

    bound: float
    rate: float
    epochs: int


@dataclass(frozen=True)
class Images:
    """One data set: its rows and what they look like."""

    name: str
    train: torch.Tensor
    test: torch.Tensor
    levels: int
    side: int

    @property
    def validation(self) -> tuple[torch.Tensor, torch.Tensor]:
        """A split of the training rows: those to learn from, and a fifth to choose settings by."""
        first, second = split(len(self.train), 0.2, 3)
        return self.train[first], self.train[second]


class Bounded(nn.Module):
    """A network whose output stays within ±bound, so that importance weights do: their variance is finite."""

    def __init__(self, network: nn.Module, bound: float, scale: float) -> None:
        super().__init__()
        self.network, self.bound, self.scale = network, bound, scale

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.bound * torch.tanh(self.network(x / self.scale - 0.5) / self.bound)


def dense(columns: int) -> nn.Module:
    return nn.Sequential(
        nn.Linear(columns, 256), nn.SiLU(), nn.Dropout(0.3), nn.Linear(256, 256), nn.SiLU(), nn.Dropout(0.3), nn.Linear(256, 1)
    )


def convolutional(side: int) -> nn.Module:
    return nn.Sequential(
        nn.Unflatten(1, (1, side, side)),
        nn.Conv2d(1, 32, 3, padding=1),
        nn.SiLU(),
        nn.Conv2d(32, 64, 4, stride=2, padding=1),
        nn.SiLU(),
        nn.Conv2d(64, 64, 4, stride=2, padding=1),
        nn.SiLU(),
        nn.Flatten(),
        nn.Dropout(0.3),
        nn.Linear(64 * (side // 4) ** 2, 128),
        nn.SiLU(),
        nn.Linear(128, 1),
    )


def learned_flow(rows: torch.Tensor, levels: int, hidden: int, tiny: bool) -> Any:
    """The flow alone. The tilt is bounded, and so are the weights: no wide noise is mixed in."""
    torch.manual_seed(0)
    # White is a bin of its own; 255 grey levels are cut into 17 bins, each with pixels enough.
    edges = list(range(levels + 1)) if levels < 256 else [0, *range(1, levels + 1, 15)]
    flow = LevelFlow(rows, edges, hidden=hidden, layers=2 if tiny else 4)
    return learn_noise(rows, flow, wide=0.0, rate=3e-4, epochs=1 if tiny else 200, batch=128)


def tilted(rows: torch.Tensor, noise: Any, found: Images, settings: Settings) -> NCE:
    """A flow's tilt by a network, trained on rows."""
    torch.manual_seed(1)
    network = dense(found.side**2) if found.side == 8 else convolutional(found.side)
    nce = NCE(Bounded(network, settings.bound, found.levels).to(rows.device), noise, nu=4)
    train(nce, rows, epochs=settings.epochs, batch=128, rate=settings.rate, weight_decay=1e-2, patience=None)
    return nce


def chosen_flow(found: Images, tiny: bool) -> tuple[int, Any]:
    """The width with the largest log-likelihood of the validation rows, and the flow learned with it."""
    rows, validation = found.validation
    best: tuple[float, int, Any] | None = None
    for hidden in (16,) if tiny else WIDTHS:
        noise = learned_flow(rows, found.levels, hidden, tiny)
        with torch.no_grad():
            score = float(noise.log_prob(validation).double().mean())
        print(f"{found.name}, flow of width {hidden}: validation log-likelihood {score:.3f}", flush=True)
        if best is None or score > best[0]:
            best = score, hidden, noise
    assert best is not None
    return best[1:]


def ranked_tilts(found: Images, noise: Any, tiny: bool) -> list[Settings]:
    """The settings by their gain over the noise on the validation rows, the largest first, of those whose log Z is known; a training is
    made longer as long as it is."""
    rows, validation = found.validation
    tried: list[tuple[float, Settings]] = []
    for bound in BOUNDS[:1] if tiny else BOUNDS:
        for rate in RATES[:1] if tiny else RATES:
            for epochs in EPOCHS[:1] if tiny else EPOCHS:
                settings = Settings(bound, rate, epochs)
                nce = tilted(rows, noise, found, settings)
                z = importance(nce, rows, tiny)
                gain = float(nce.sides(validation).log_ratio.mean()) - z.log_z
                print(f"{found.name}, {settings}: validation gain {gain:.3f}, Pareto k {z.pareto_k}, refused: {z.refused is not None}", flush=True)
                if z.refused is not None:
                    break
                tried.append((gain, settings))
    return [settings for _, settings in sorted(tried, key=lambda pair: -pair[0])]


def final_tilt(found: Images, noise: Any, ranked: list[Settings], tiny: bool) -> tuple[NCE, Settings]:
    """The best settings by the validation rows with which the tilt that is trained on all training rows still has a log Z that is known, by
    noise draws alone."""
    for settings in ranked:
        nce = tilted(found.train, noise, found, settings)
        z = importance(nce, found.train, tiny)
        print(f"{found.name}, {settings}: on all training rows Pareto k {z.pareto_k}, refused: {z.refused is not None}", flush=True)
        if z.refused is None:
            return nce, settings
    raise SystemExit(f"{found.name}: log Z is refused with all settings")


def importance(nce: NCE, like: torch.Tensor, tiny: bool) -> NormalizerEstimate:
    """log Z by noise draws, with the Pareto k of their weights; draws resampled by them stand for the model."""
    draws = 2000 if tiny else DRAWS
    sides = nce.sides(nce.noise.draw(draws, like, quiet=False))
    weights = np.exp(sides.log_ratio - sides.log_ratio.max())
    picked = np.random.default_rng(0).choice(draws, draws // 10, p=weights / weights.sum())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return nw.log_z(sides.log_f[picked], sides.log_noise[picked], sides.log_f, sides.log_noise)["is"]


def load(name: str, device: torch.device, tiny: bool) -> Images:
    """The rows of a data set, a fifth of them held out."""
    grey, _ = images(name)
    order = np.random.default_rng(1).permutation(len(grey))
    held = len(grey) // 5
    rows, test = (torch.as_tensor(dequantised(grey[at], 2), device=device) for at in (order[held:], order[:held]))
    levels, side = (17, 8) if name == "digits" else (256, 28)
    return Images(name, rows[:200] if tiny else rows, test[:100] if tiny else test, levels, side)


def density(name: str, device: torch.device, tiny: bool) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """One data set: settings chosen by validation rows, what is learned with them from all training rows, and arrays for pictures."""
    data = load(name, device, tiny)
    test = data.test
    began = time.monotonic()
    width, noise = chosen_flow(data, tiny)
    ranked = ranked_tilts(data, noise, tiny)
    chosen = time.monotonic() - began
    began = time.monotonic()
    noise = learned_flow(data.train, data.levels, width, tiny)
    nce, settings = final_tilt(data, noise, ranked, tiny)
    learned = time.monotonic() - began
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sizes = {"noise_draws": 500, "chains": 8, "draws": 10, "warm_up": 5} if tiny else {"noise_draws": DRAWS, "chains": 256, "draws": 60, "warm_up": 60}
        began = time.monotonic()
        drawn = model_draws(nce, sizes["draws"], chains=sizes["chains"], warm_up=sizes["warm_up"], like=test)
        found = evaluate(nce, test, noise_draws=sizes["noise_draws"], model=drawn)
    with torch.no_grad():
        alone = noise.log_prob(test).double()
    gain = found.gain
    record = {
        "data": name,
        "rows": len(test),
        "flow_log_likelihood": float(alone.mean()),
        "log_likelihood": found.log_likelihood.estimate,
        "log_likelihood_se": found.log_likelihood.se,
        "bits_per_dimension": found.bits_per_dimension.estimate,
        "bits_se": found.bits_per_dimension.se,
        "gain": gain.estimate,
        "gain_se": gain.se,
        "gain_in_errors": gain.estimate / gain.se if np.isfinite(gain.se) else 0.0,
        "is": found.importance_sampling.log_z,
        "is_se": found.importance_sampling.se,
        "bridge": found.bridge.log_z,
        "bridge_se": found.bridge.se,
        "disagreement": found.disagreement,
        "pareto_k": found.pareto_k,
        "accuracy": found.calibration.accuracy,
        "worst_bin": found.calibration.worst,
        "r_hat": found.chains["r_hat"],
        "acceptance": found.chains["acceptance"],
        "width": width,
        **asdict(settings),
        "warnings": found.warnings,
        "summary": found.summary(),
        "seconds": [chosen, learned, time.monotonic() - began],
        "other": others(nce, name, test, device),
        "ok": bool(gain.estimate > 5 * gain.se and found.disagreement < 3),
    }
    with torch.no_grad():
        shown = noise.draw(25, test, quiet=False)
    arrays = {f"{name}_data": test[:25].cpu().numpy(), f"{name}_noise": shown.cpu().numpy(), f"{name}_model": drawn.points[:25, -1].cpu().numpy()}
    return record, arrays


def others(nce: NCE, name: str, test: torch.Tensor, device: torch.device) -> dict[str, float]:
    """How well log f tells the held-out images from others: the area under the curve (1 is perfect, 0.5 is chance)."""
    side = 8 if name == "digits" else 28
    square = test.reshape(-1, side, side)
    kinds = {
        "upside down": square.flip(1).reshape(test.shape),
        "columns shuffled": square[:, :, torch.randperm(side, generator=torch.Generator().manual_seed(0)).to(device)].reshape(test.shape),
        "inverted": ((16 if name == "digits" else 255) + 1 - test),
    }
    inside = nce.sides(test)
    out = {}
    for kind, rows in kinds.items():
        there = nce.sides(rows)
        for label, a, b in (("model", inside.log_f, there.log_f), ("noise", inside.log_noise, there.log_noise)):
            out[f"{kind}, {label}"] = float((a[:, None] > b[None]).mean())
    return out


def main(device: torch.device, tiny: bool, names: list[str]) -> tuple[list[dict[str, Any]], dict[str, np.ndarray]]:
    records, arrays = [], {}
    for name in names:
        record, found = density(name, device, tiny)
        records.append(record)
        arrays.update(found)
    return records, arrays
