"""The skin for PyTorch: losses and constants against closed forms, `fit` and the core; noise; evaluation; sentences."""

import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from torch import nn

import noisewright as nw
from noisewright.errors import FunctionError, InputError, NoisewrightWarning
from noisewright.networks.losses import best_constant, loss_value
from noisewright.networks.options import LOSSES, Options
from noisewright.torch import NCE, Mixed, SplineFlow, as_noise, evaluate, learn_noise, model_draws, refit_noise
from noisewright.torch.library import TORCH

torch.set_num_threads(1)
normal = torch.distributions.Normal


@pytest.fixture
def ratios():
    """Log ratios of N(0.5, 1) to N(0, 1), at draws of each."""
    rng = np.random.default_rng(3)
    x, y = rng.normal(0.5, 1.0, 600), rng.normal(0.0, 1.0, 1800)
    return torch.tensor(0.5 * x + 7.0), torch.tensor(0.5 * y + 7.0)


@pytest.mark.parametrize("loss", LOSSES)
def test_the_constant_of_a_batch_minimises_its_loss(loss, ratios):
    options = Options.checked(3, loss, None, "profile")
    c = best_constant(*ratios, options, TORCH)
    step = 1e-4
    low, at, high = (float(loss_value(*ratios, c + s, options, TORCH)) for s in (-step, 0.0, step))
    # A minimum: the central difference vanishes next to the curvature.
    assert abs(high - low) < 1e-6 * (high - 2 * at + low) / step + 1e-12
    assert high > at < low


def test_constants_are_those_of_the_core(ratios):
    data, noise = (r.numpy() for r in ratios)
    found = nw.log_z(data, np.zeros(600), noise, np.zeros(1800), independent=True)
    for loss, name in (("js", "nce"), ("kl", "is"), ("reverse-kl", "revis"), ("hellinger", "is-revis")):
        c = float(best_constant(*ratios, Options.checked(3, loss, None, "profile"), TORCH))
        assert c == pytest.approx(found[name].log_z, abs=1e-9)


@pytest.mark.parametrize("shift", [-300.0, 300.0])
def test_a_far_constant_is_found_at_once(shift, ratios):
    options = Options.checked(3, "js", None, "profile")
    data, noise = ratios
    assert float(best_constant(data + shift, noise + shift, options, TORCH)) == pytest.approx(
        float(best_constant(data, noise, options, TORCH)) + shift, abs=1e-9
    )


class Quartic(nn.Module):
    """a x²/2 − b x⁴: linear in (a, b)."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 1, bias=False, dtype=torch.float64)

    def forward(self, x):
        return self.layer(torch.cat([x**2 / 2, -(x**4)], 1))


@pytest.mark.parametrize("log_z", ["profile", "free"])
def test_a_linear_energy_is_that_of_fit(log_z, quartic):
    """The same rows and noise points: the same estimates, whether the constant is profiled or free."""
    rng = np.random.default_rng(5)
    x, y = rng.normal(0.0, 1.2, 1000), rng.normal(0.0, 2.0, 4000)
    noise = normal(torch.tensor(0.0, dtype=torch.float64), 2.0)
    log_q = lambda at: noise.log_prob(torch.tensor(at)).numpy()
    expected = nw.fit(quartic, x, noise=nw.NoiseDraws(y, log_q(y), log_q(x)), loss_ratio=4.0, tolerance=1e-10)
    nce = NCE(Quartic(), noise, nu=4, residual=False, log_z=log_z)
    optimizer = torch.optim.LBFGS(nce.parameters(), max_iter=60, tolerance_grad=1e-12, tolerance_change=1e-16, line_search_fn="strong_wolfe")
    rows, points = torch.tensor(x), torch.tensor(y)

    def closure():
        optimizer.zero_grad()
        loss = nce(rows, points)
        loss.backward()
        return loss

    for _ in range(2):
        optimizer.step(closure)
    a, b = nce.energy.layer.weight[0].tolist()
    assert a == pytest.approx(expected["a"].estimate, abs=1e-6)
    assert b == pytest.approx(expected["b"].estimate, abs=1e-6)
    with torch.no_grad():
        c = best_constant(nce.log_ratio(rows), nce.log_ratio(points), nce.options, TORCH) if log_z == "profile" else nce.constant.detach()
    assert float(c) == pytest.approx(expected.log_normalizer.estimate, abs=1e-6)
    solved = nce.linear_fit(rows, noise=points, loss_ratio=4.0, tolerance=1e-10)
    assert solved["h0"].estimate == pytest.approx(expected["a"].estimate, abs=1e-6)
    assert solved["h1"].se == pytest.approx(expected["b"].se, rel=1e-5)


def test_the_residual_form_starts_at_the_noise():
    network = nn.Sequential(nn.Linear(2, 8), nn.SiLU(), nn.Linear(8, 1))
    nce = NCE(network, torch.distributions.MultivariateNormal(torch.zeros(2), torch.eye(2)), nu=1)
    x = torch.randn(64, 2)
    # Two classes that cannot be told apart.
    assert float(nce(x)) == pytest.approx(2 * math.log(2), abs=1e-6)
    assert nce.log_ratio(x).dtype == torch.float64 and float(nce.constant) == pytest.approx(0.0, abs=1e-15)


def test_quiet_draws_are_even_and_follow_the_noise():
    noise = as_noise(torch.distributions.MultivariateNormal(torch.tensor([1.0, 0.0]), torch.tensor([[2.0, 0.5], [0.5, 1.0]])))
    like = torch.zeros(1, 2)
    means = torch.stack([noise.draw(1024, like).mean(0) for _ in range(20)])
    # Independent draws would have a standard deviation of √(2/1024) = 0.044.
    assert float((means[:, 0] - 1.0).square().mean().sqrt()) < 0.01
    draws = noise.draw(4096, like)
    assert torch.allclose(torch.cov(draws.T), torch.tensor([[2.0, 0.5], [0.5, 1.0]]), atol=0.02)
    assert not torch.equal(noise.draw(16, like), noise.draw(16, like))


def test_mixed_noise_has_the_density_of_the_mixture():
    noise = as_noise(Mixed([normal(torch.tensor([-2.0]), 1.0), normal(torch.tensor([2.0]), 0.5)], [0.25, 0.75]))
    x = torch.linspace(-4, 4, 9)[:, None]
    parts = normal(-2.0, 1.0).log_prob(x[:, 0]) + math.log(0.25), normal(2.0, 0.5).log_prob(x[:, 0]) + math.log(0.75)
    expected = torch.logaddexp(*parts)
    assert torch.allclose(noise.log_prob(x).float(), expected.float(), atol=1e-5)
    for quiet in (True, False):
        share = float((noise.draw(4096, x, quiet) > 0).float().mean())
        expected_share = 0.25 * 0.02275 + 0.75 * (1 - 3.2e-5)
        # Strata make the shares of the components exact to a point; within them a fortieth of the first one's points are above zero.
        assert share == pytest.approx(expected_share, abs=4 * math.sqrt((0.25 * 0.0225 if quiet else 0.19) / 4096))


def test_noises_of_the_package_serve():
    noise = as_noise(nw.Normal(0.0, 4.0))
    x = torch.zeros(3, 1)
    assert float(noise.log_prob(x)[0]) == pytest.approx(-0.5 * math.log(2 * math.pi * 4.0))
    assert float(noise.draw(4000, x).std()) == pytest.approx(2.0, rel=0.06)


def test_a_flow_has_the_density_of_its_draws():
    """The log-density against the Jacobian of the map from the base, and the inverse against the map."""
    torch.manual_seed(0)
    rows = torch.randn(500, 3, dtype=torch.float64) @ torch.tensor([[1.0, 0, 0], [0.5, 1, 0], [0, 0, 0.1]], dtype=torch.float64) + 1.0
    flow = SplineFlow(rows, layers=3, hidden=16).double()
    with torch.no_grad():
        for network in flow.networks:
            network[-1].weight.normal_(0, 0.5)
    z = torch.randn(5, 3, dtype=torch.float64)
    x = flow.from_normal(z)
    for k in range(5):
        jacobian = torch.autograd.functional.jacobian(lambda at: flow.from_normal(at[None])[0], z[k])
        expected = -0.5 * z[k].square().sum() - 1.5 * math.log(2 * math.pi) - torch.linalg.slogdet(jacobian)[1]
        assert float(flow.log_prob(x)[k]) == pytest.approx(float(expected), abs=1e-8)


def test_learned_noises_approach_the_data():
    """A skewed density of known entropy: the held-out log-likelihood of what is learned comes near it."""
    torch.manual_seed(1)
    draw = lambda n: torch.stack([torch.randn(n), torch.randn(n)], 1)
    banana = lambda z: torch.stack([z[:, 0], 0.5 * z[:, 1] + 0.5 * z[:, 0] ** 2], 1)
    rows, test = banana(draw(3000)), banana(draw(2000))
    entropy = math.log(2 * math.pi * math.e) + math.log(0.5)
    learned = {kind: learn_noise(rows, kind) for kind in ("student", "mixture")}
    learned["flow"] = learn_noise(rows, "flow", epochs=8, layers=3, hidden=32, rate=1e-2, batch=256)
    scores = {kind: float(noise.log_prob(test).mean()) for kind, noise in learned.items()}
    assert -entropy - 0.12 < scores["mixture"] < -entropy + 0.1
    assert -entropy - 0.15 < scores["flow"] < -entropy + 0.1
    assert scores["student"] < scores["mixture"] - 0.1


def gaussian_energy(d, seed):
    """An energy −x'Px/2 with known constant, told from a wider normal noise."""
    rng = np.random.default_rng(seed)
    root = np.eye(d) + 0.3 * rng.normal(size=(d, d)) / math.sqrt(d)
    precision = torch.tensor(root @ root.T)
    truth = 0.5 * (d * math.log(2 * math.pi) - float(torch.logdet(precision)))

    class Energy(nn.Module):
        def forward(self, x):
            return -0.5 * ((x.double() @ precision) * x.double()).sum(1)

    cover = torch.linalg.inv(precision) * 1.5
    return Energy(), torch.distributions.MultivariateNormal(torch.zeros(d, dtype=torch.float64), cover), precision, truth


def test_evaluation_knows_the_constant_of_a_gaussian():
    energy, noise, precision, truth = gaussian_energy(4, 0)
    torch.manual_seed(0)
    nce = NCE(energy, noise, residual=False)
    x = torch.distributions.MultivariateNormal(torch.zeros(4, dtype=torch.float64), precision_matrix=precision).sample((800,))
    found = evaluate(nce, x, noise_draws=8000, chains=64, draws=60, warm_up=40)
    for estimate in (found.importance_sampling, found.bridge):
        assert abs(estimate.log_z - truth) < 4 * estimate.se < 0.2
    expected = float(-0.5 * ((x @ precision) * x).sum(1).mean()) - truth
    assert abs(found.log_likelihood.estimate - expected) < 4 * found.log_z.se
    assert found.bits_per_dimension.estimate == pytest.approx(-found.log_likelihood.estimate / (4 * math.log(2)))
    assert found.log_likelihood.se == pytest.approx(math.hypot(found.log_likelihood.se_data, found.log_z.se))
    assert found.calibration.worst < 4.5 and found.disagreement < 4
    assert "importance sampling" in found.summary() and found.to_dict()["rows"] == 800


def test_what_looks_wrong_is_named():
    """BatchNorm, a saturated classifier, and a constant that has run away."""
    noise = torch.distributions.MultivariateNormal(torch.zeros(1), torch.eye(1))
    network = nn.Sequential(nn.Linear(1, 4), nn.BatchNorm1d(4), nn.Linear(4, 1))
    with pytest.warns(NoisewrightWarning) as said:
        found = evaluate(NCE(network, noise), torch.full((50, 1), 40.0), noise_draws=2000, chains=16, draws=20, warm_up=10)
    assert any("BatchNorm" in sentence for sentence in found.warnings)
    assert {str(w.message) for w in said} >= set(found.warnings)

    class Far(nn.Module):
        def forward(self, x):
            return 2e4 - 50.0 * (x[:, 0].double() - 9.0) ** 2

    with pytest.warns(NoisewrightWarning):
        found = evaluate(NCE(Far(), noise, residual=False), 9.0 + 0.1 * torch.randn(50, 1), noise_draws=2000, chains=16, draws=20, warm_up=10)
    assert any("saturated" in sentence for sentence in found.warnings)
    assert any("run away" in sentence for sentence in found.warnings)
    assert found.importance_sampling.refused is not None


def test_chains_draw_from_the_model():
    energy, noise, precision, _ = gaussian_energy(3, 1)
    draws = model_draws(NCE(energy, noise, residual=False), 60, chains=64, warm_up=40, like=torch.zeros(1, 3, dtype=torch.float64))
    covariance = torch.cov(draws.flat.T)
    assert torch.allclose(covariance, torch.linalg.inv(precision), atol=0.15)
    refitted = refit_noise(noise, draws, "student")
    assert refitted.draw(8, draws.flat).shape == (8, 3)


def test_the_design_of_weights_prefers_noise_where_the_question_is():
    """The slope of N(0, 1) by x: the best noise, p√(x² + 1), is between an equal and a wider one, and a narrow one has no part in it."""
    scale = lambda s: torch.distributions.MultivariateNormal(torch.zeros(1), s**2 * torch.eye(1))
    nce = NCE(nn.Linear(1, 1), scale(1.0), nu=1)
    x = torch.linspace(0.0005, 0.9995, 1000)
    found = nce.design([scale(0.5), scale(1.0), scale(2.0)], torch.special.ndtri(x)[:, None], target="all")
    assert found.weights[0] < 1e-3 < found.weights[1:].min() and found.gap < 1e-4 and found.error < found.alone.min() + 1e-9
    asked = nce.design([scale(0.5), scale(2.0)], torch.special.ndtri(x)[:, None], target=(torch.tensor([2.0]), torch.tensor([0.0])))
    assert asked.weights[1] > 0.5 and "conditional on the features" in asked.summary()


@pytest.mark.parametrize(
    ("make", "kind", "sentence"),
    [
        (lambda: NCE(nn.Linear(1, 1), normal(0.0, 1.0))(torch.tensor([[0.0], [math.nan]])), InputError, "row 2, column 1 of the batch is nan"),
        (lambda: NCE(nn.Linear(1, 1), type("Draws", (), {"sample": lambda self, n: n})()), InputError, "the noise Draws has no method `log_prob`"),
        (lambda: NCE(nn.Linear(1, 3), normal(0.0, 1.0))(torch.zeros(5, 1)), FunctionError, "the energy returned the shape (25, 3) for 25 rows"),
        (lambda: NCE(nn.Linear(2, 1), normal(0.0, 1.0))(torch.zeros(5, 2)), InputError, "the noise draws rows of 1 columns, and the data have 2"),
        (lambda: NCE(nn.Linear(1, 1), normal(0.0, 1.0), loss="jss"), InputError, "`loss` must be one of js, kl"),
        (lambda: NCE(nn.Linear(1, 1), normal(0.0, 1.0), nu=-1), InputError, "`nu` must be positive"),
        (lambda: NCE(nn.Linear(1, 1), normal(0.0, 1.0))(torch.zeros(5, 1, 1)), InputError, "flatten images"),
    ],
)
def test_what_cannot_be_is_one_sentence(make, kind, sentence):
    with pytest.raises(kind) as said:
        make()
    assert sentence in str(said.value) and "\n" not in str(said.value)
