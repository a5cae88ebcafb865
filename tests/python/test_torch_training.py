"""Training with PyTorch: resuming to the bit, two processes, ratios through bridges, mutual information."""

import math
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from torch import nn

from noisewright.errors import InputError, NoAnswerError
from noisewright.torch import NCE, Ratio, mutual_information, train
from noisewright.torch.ratios import SquareUnits
from noisewright.torch.steps import Weights, adam, fused_adam

torch.set_num_threads(1)
ROOT = Path(__file__).resolve().parents[2]


def network():
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(2, 16), nn.SiLU(), nn.Dropout(0.1), nn.Linear(16, 1))


def loss():
    return NCE(network(), torch.distributions.MultivariateNormal(torch.zeros(2), 2 * torch.eye(2)), nu=2)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    return torch.tensor((rng.choice([-1.0, 1.0], (1500, 1)) * [1.0, 0.5] + 0.7 * rng.normal(size=(1500, 2))).astype(np.float32))


class Killed(Exception):
    """Stands for a process that ends in the middle."""


@pytest.mark.parametrize("log_z", ["profile", "free"])
def test_a_killed_training_resumes_to_the_bit(rows, tmp_path, log_z):
    settings = {"epochs": 6, "batch": 100, "rate": 1e-2, "seed": 4}
    make = lambda: NCE(network(), torch.distributions.MultivariateNormal(torch.zeros(2), 2 * torch.eye(2)), nu=2, log_z=log_z)
    whole = make()
    first = train(whole, rows, **settings)
    lines = []

    def killed(line):
        lines.append(line)
        if len(lines) == 3:
            # After the third epoch, before its checkpoint: the second one's is gone on from.
            raise Killed

    path = tmp_path / "training.pt"
    with pytest.raises(Killed):
        train(make(), rows, checkpoint=path, log=killed, **settings)
    again = make()
    second = train(again, rows, checkpoint=path, **settings)
    assert second.resumed and [e.loss for e in first.epochs] == [e.loss for e in second.epochs]
    for name, value in whole.state_dict().items():
        assert torch.equal(value, again.state_dict()[name]), name
    with pytest.raises(InputError, match="written with epochs = 6, and now it is 7"):
        train(make(), rows, checkpoint=path, **{**settings, "epochs": 7})
    assert first.epochs[-1].held_out < first.epochs[0].held_out
    assert lines[0].startswith("epoch    0  loss")


@pytest.mark.parametrize("move", [adam, fused_adam])
@pytest.mark.parametrize(("weight_decay", "clip"), [(0.0, None), (0.1, 0.3)])
def test_steps_are_those_of_pytorchs_optimizer(rows, move, weight_decay, clip):
    """Clipping and AdamW of PyTorch, at rates that change, and an average written out again."""
    ours, theirs = network(), network()
    rates = [1e-2 * (1 - k / 30) for k in range(30)]
    weights = Weights(ours, weight_decay, clip, 30)
    weights.move = move
    weights.clock.begin(0, rates, 0.9)
    optimizer = torch.optim.AdamW(theirs.parameters(), weight_decay=weight_decay)
    average = [p.detach().clone() for p in theirs.parameters()]
    for k, rate in enumerate(rates):
        for module in (ours, theirs):
            module.eval().zero_grad()
            (module(rows[20 * k : 20 * k + 20])[:, 0] - rows[20 * k : 20 * k + 20, 0]).square().mean().backward()
        if clip is not None:
            torch.nn.utils.clip_grad_norm_(theirs.parameters(), clip)
        optimizer.param_groups[0]["lr"] = rate
        optimizer.step()
        weights.update()
        weights.clock.step += 1
        share = max(9 / (11 + k), 0.1)
        average = [a + share * (p.detach() - a) for a, p in zip(average, theirs.parameters())]
    for one, other in zip([*ours.parameters(), *weights.average], [*theirs.parameters(), *average]):
        assert torch.allclose(one, other, atol=1e-6, rtol=0)


def test_a_compiled_step_has_no_gaps_and_the_same_losses(rows, monkeypatch):
    """PyTorch sees the whole loss as one graph, draws and constant and all; its own compiler of graphs is not at issue here."""
    compiled = torch.compile
    monkeypatch.setattr(torch, "compile", lambda function, **options: compiled(function, backend="eager", fullgraph=True, **options))
    settings = {"epochs": 2, "batch": 150, "rate": 1e-2, "seed": 5}
    first, second = (train(loss(), rows, accelerate=way, **settings) for way in ("none", "compile"))
    assert [e.loss for e in second.epochs] == pytest.approx([e.loss for e in first.epochs], abs=1e-9)
    assert [e.held_out for e in second.epochs] == pytest.approx([e.held_out for e in first.epochs], abs=1e-9)


def test_training_stops_early_and_keeps_the_best(rows):
    """On twenty rows the held-out loss turns up soon."""
    nce = loss()
    done = train(nce, rows[:20], held_out=rows[500:1000], epochs=300, batch=20, rate=5e-2, patience=5, ema=0.0)
    assert done.stop == "patience" and done.best_epoch == len(done.epochs) - 6
    assert done.held_out == min(epoch.held_out for epoch in done.epochs)


def test_a_loss_that_is_no_number_is_one_sentence(rows):
    class Wild(nn.Module):
        def __init__(self):
            super().__init__()
            self.size = nn.Parameter(torch.ones(()))

        def forward(self, x):
            return self.size * math.inf * x[:, 0]

    with pytest.raises(NoAnswerError, match="the loss became"):
        train(NCE(Wild(), torch.distributions.MultivariateNormal(torch.zeros(2), torch.eye(2))), rows, epochs=1)


@pytest.mark.long
def test_two_processes_have_the_loss_of_one(rows, tmp_path):
    """Equal parts of the same batches: the same losses, and weights that agree to rounding."""
    script = tmp_path / "both.py"
    script.write_text(
        textwrap.dedent(
            """
            import os, sys
            import torch
            from torch import nn
            from noisewright.torch import NCE, train

            torch.set_num_threads(1)
            if int(os.environ.get("WORLD_SIZE", 1)) > 1:
                torch.distributed.init_process_group("gloo")
            rows = torch.load(sys.argv[1])
            torch.manual_seed(1)
            network = nn.Sequential(nn.Linear(2, 16), nn.SiLU(), nn.Linear(16, 1))
            nce = NCE(network, torch.distributions.MultivariateNormal(torch.zeros(2), 2 * torch.eye(2)), nu=2)
            done = train(nce, rows, epochs=3, batch=100, rate=1e-2)
            if int(os.environ.get("RANK", 0)) == 0:
                torch.save(([e.loss for e in done.epochs], dict(nce.state_dict())), sys.argv[2])
            # Left to the interpreter's end, gloo's threads outlive what they run on, and now and then abort.
            if torch.distributed.is_initialized():
                torch.distributed.destroy_process_group()
            """
        )
    )
    torch.save(rows, tmp_path / "rows.pt")
    environment = {"PYTHONPATH": str(ROOT / "python"), "PATH": "/usr/bin:/bin", "OMP_NUM_THREADS": "1"}
    arguments = [str(script), str(tmp_path / "rows.pt")]
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    for name, start in (("one", []), ("two", launcher)):
        done = subprocess.run([sys.executable, *start, *arguments, str(tmp_path / name)], env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[-2000:]
    (one, weights), (two, others) = torch.load(tmp_path / "one"), torch.load(tmp_path / "two")
    assert two == pytest.approx(one, abs=1e-6)
    for state in (weights, others):
        # The last bias and the profiled constant are one number, whose parts wander with rounding.
        state["log_z_running"] = state["log_z_running"] - state.pop("energy.2.bias").double()[0]
    assert max(float((weights[name].double() - others[name].double()).abs().max()) for name in weights) < 1e-5


def test_a_ratio_of_two_normals():
    """N(1, 1) to N(0, 1) in two dimensions: x₁ + x₂ − 1."""
    rng = np.random.default_rng(2)
    first, second = (torch.tensor(rng.normal(m, 1.0, (4000, 2)).astype(np.float32)) for m in (1.0, 0.0))
    ratio = Ratio(bridges=1, epochs=40, rate=5e-3, batch=250).fit(first[:3000], second[:3000])
    at = torch.tensor([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]])
    assert torch.allclose(ratio.log_ratio(at).float(), torch.tensor([-1.0, 0.0, 1.0]), atol=0.3)
    found = ratio.judge(first[3000:], second[3000:])
    # KL = |m|²/2 = 1; the standard deviation of the log ratio is √2.
    assert abs(found.estimate - 1.0) < 4 * found.se < 0.4 and len(found.bridges) == 1
    with pytest.raises(InputError, match="`bridges` must be auto or a number up to 64"):
        Ratio(bridges="many")
    with pytest.raises(InputError, match="`first` has 2 columns and `second` 1"):
        ratio.fit(first, second[:, :1])


def test_mutual_information_adds_bridges_until_sides_overlap():
    """Four pairs of correlation 0.9: 3.32 nats."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(4000, 4))
    y = 0.9 * x + math.sqrt(1 - 0.81) * rng.normal(size=x.shape)
    small = lambda columns, outputs: SquareUnits(columns, outputs, hidden=8)
    rows = (torch.tensor(part.astype(np.float32)) for part in (x, y))
    found = mutual_information(*rows, network=small, epochs=20, rate=1e-2, batch=250, folds=2)
    truth = -2 * math.log(1 - 0.81)
    assert len(found.bridges) > 1
    assert abs(found.information.estimate / truth - 1) < 0.12
    assert found.information.lower < truth < found.information.upper


def test_the_posterior_in_the_book_is_the_known_one():
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / "docs" / "src" / "networks.md").read_text(), re.MULTILINE | re.DOTALL)
    exec(compile(blocks[-1], "networks.md", "exec"), {})
