"""Two-dimensional toys: data, noise, what the network has learned, and the density of the model, as a picture. A notebook in cells."""

# %% Two densities that are known: eight normal bumps on a circle, and the dark squares of a board.
import math

import matplotlib.pyplot as plt
import torch
from torch import nn

from noisewright.torch import NCE, train

torch.manual_seed(0)
angle = torch.arange(8) * (math.pi / 4)
centres = 4.0 * torch.stack([angle.cos(), angle.sin()], 1)


def bumps(n):
    return centres[torch.randint(0, 8, (n,))] + 0.5 * torch.randn(n, 2)


def board(n):
    column = torch.randint(0, 4, (n,))
    row = 2 * torch.randint(0, 2, (n,)) + column % 2
    return 2.0 * (torch.stack([column, row], 1) + torch.rand(n, 2)) - 4.0


def log_bumps(x):
    distances = (x[:, None] - centres).double().square().sum(2)
    return torch.logsumexp(-distances / 0.5, 1) - math.log(8 * 2 * math.pi * 0.25)


def log_board(x):
    dark = ((x / 2).floor().sum(1) % 2 == 0) & (x.abs() < 4).all(1)
    return torch.where(dark, -math.log(32.0), -math.inf).double()


# %% A wide normal noise, and a network that learns what it lacks: log f = log noise + network. Fresh rows at every step.
def learned(draw):
    layers = [nn.Linear(2, 64), nn.SiLU(), nn.Linear(64, 64), nn.SiLU(), nn.Linear(64, 64), nn.SiLU(), nn.Linear(64, 1)]
    nce = NCE(nn.Sequential(*layers), torch.distributions.MultivariateNormal(torch.zeros(2), 9.0 * torch.eye(2)), nu=1)
    train(nce, draw, epochs=4, steps=100, batch=512, rate=5e-3, ema=0.99, patience=None, log=print)
    return nce


# %% Both trained, judged by KL(data ‖ model) on a grid whose sum is the model's constant, and drawn.
side = (torch.arange(160) + 0.5) / 10 - 8
grid = torch.cartesian_prod(side, side)
figure, panels = plt.subplots(2, 4, figsize=(10, 5), constrained_layout=True)
for row, (name, draw, log_truth) in zip(panels, (("bumps", bumps, log_bumps), ("board", board, log_board))):
    nce = learned(draw)
    with torch.no_grad():
        log_f, truth = nce.log_f(grid) + 2 * math.log(0.1), log_truth(grid) + 2 * math.log(0.1)
        tilt, noise = nce.log_ratio(grid), nce.noise.draw(1000, grid)
    model = log_f - torch.logsumexp(log_f, 0)
    inside = torch.isfinite(truth)
    print(f"{name}: KL {float((truth.exp() * (truth - model))[inside].sum()):.3f} nats")
    for panel, points in zip(row, (draw(1000), noise)):
        panel.scatter(*points.T, s=1)
    for panel, values in zip(row[2:], (tilt, model.exp())):
        panel.imshow(values.reshape(160, 160).T, origin="lower", extent=(-8, 8, -8, 8))
    for panel, title in zip(row, (f"{name}: data", "noise", "network", "density")):
        panel.set(title=title, xlim=(-8, 8), ylim=(-8, 8), aspect="equal")
figure.savefig("toys.png")
