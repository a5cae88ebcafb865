"""The skin for JAX: the same losses and constants, `fit`, training that resumes to the bit, evaluation, ratios, sentences."""

import math

import numpy as np
import pytest

jax = pytest.importorskip("jax")
import jax.numpy as jnp

import noisewright as nw
from noisewright.errors import FunctionError, InputError
from noisewright.jax import NCE, Ratio, SplineFlow, as_noise, evaluate, learn_noise, model_draws, refit_noise, train
from noisewright.jax.ratios import square_units


@pytest.fixture(scope="module", autouse=True)
def quick_compilation():
    """Nearly all of the time here is XLA's: without its optimisations, which are for long runs, that is a fraction."""
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", False)


class Normal:
    """A normal noise with the methods of flowjax."""

    def __init__(self, scale, columns=1):
        self.scale, self.columns = scale, columns

    def sample(self, key, shape):
        return self.scale * jax.random.normal(key, (*shape, self.columns))

    def log_prob(self, x):
        return -0.5 * (x / self.scale) ** 2 - math.log(self.scale) - 0.5 * math.log(2 * math.pi)


def test_a_linear_energy_is_that_of_fit(quartic):
    rng = np.random.default_rng(5)
    x, y = rng.normal(0.0, 1.2, 1000), rng.normal(0.0, 2.0, 4000)
    noise = Normal(2.0)
    features = lambda x: jnp.concatenate([x**2 / 2, -(x**4)], 1)
    draws = nw.NoiseDraws(y, np.array(noise.log_prob(y)), np.array(noise.log_prob(x)))
    expected = nw.fit(quartic, x, noise=draws, loss_ratio=4.0, tolerance=1e-10)
    nce = NCE((lambda theta, x: features(x) @ theta, np.zeros(2)), noise, nu=4, residual=False, log_z="free")
    with jax.enable_x64(True):
        flat = lambda theta: nce.loss((theta[:2], theta[2]), x, noise=y)
        # One compiled function: forward over reverse has the gradient and the Hessian.
        slope = jax.grad(flat)
        newton = jax.jit(lambda theta: (slope(theta), jax.jacfwd(slope)(theta)))
        theta = np.array([expected["a"].estimate + 0.1, expected["b"].estimate, 0.0])
        for _ in range(20):
            gradient, hessian = newton(theta)
            theta = theta - np.linalg.solve(hessian, gradient)
    assert theta[:2] == pytest.approx([expected["a"].estimate, expected["b"].estimate], abs=1e-6)
    assert theta[2] == pytest.approx(expected.log_normalizer.estimate, abs=1e-6)
    solved = nce.linear_fit(x, features, noise=y, loss_ratio=4.0, tolerance=1e-10)
    assert solved["h0"].estimate == pytest.approx(expected["a"].estimate, abs=1e-6)
    profiled = NCE((lambda theta, x: features(x) @ theta, theta[:2]), noise, nu=4, residual=False)
    assert float(profiled.loss(theta[:2], x, noise=y)) == pytest.approx(float(nce.loss((theta[:2], theta[2]), x, noise=y)), abs=1e-12)


def perceptron(columns, hidden=16, seed=0):
    keys = jax.random.split(jax.random.key(seed), 2)
    start = {
        "a": jax.random.normal(keys[0], (columns, hidden), jnp.float32),
        "b": jnp.zeros(hidden, jnp.float32),
        "c": jnp.zeros((hidden, 1), jnp.float32),
    }
    return lambda p, x: jnp.tanh(x @ p["a"] + p["b"]) @ p["c"], start


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    sign = rng.choice([-1.0, 1.0], 3000)
    return (sign[:, None] * [1.5, 0.0] + rng.normal(0.0, [0.6, 1.0], (3000, 2))).astype(np.float32)


@pytest.mark.long
def test_training_resumes_to_the_bit_and_the_evaluation_knows_the_density(rows, tmp_path):
    nce = NCE(perceptron(2), Normal(2.0, 2), nu=2)
    settings = {"epochs": 30, "batch": 250, "rate": 3e-2, "seed": 3, "ema": 0.98, "patience": None}
    whole, history = train(nce, rows[:2500], **settings)
    path = tmp_path / "half.npz"
    lines = []

    def killed(line):
        lines.append(line)
        if len(lines) == 11:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(nce, rows[:2500], checkpoint=path, log=killed, **settings)
    again, rest = train(nce, rows[:2500], checkpoint=path, **settings)
    assert rest.resumed and len(rest.epochs) == 30
    for one, other in zip(jax.tree_util.tree_leaves(whole.parameters), jax.tree_util.tree_leaves(again.parameters)):
        assert np.array_equal(np.asarray(one), np.asarray(other))
    assert history.held_out < history.epochs[0].held_out
    found = evaluate(whole, rows[2500:], noise_draws=4000, chains=32, draws=40, warm_up=40)
    x = rows[2500:].astype(float)
    across = np.logaddexp(*(-0.5 * ((x[:, 0] - m) / 0.6) ** 2 for m in (-1.5, 1.5))) - math.log(2 * 0.6 * math.sqrt(2 * math.pi))
    truth = float((across - 0.5 * x[:, 1] ** 2 - 0.5 * math.log(2 * math.pi)).mean())
    # The best possible but for what a short training leaves: below, by less than 0.1 nats, and above the noise.
    assert truth - 0.1 < found.log_likelihood.estimate < truth + 0.05
    assert found.gain.estimate > 5 * found.gain.se and found.disagreement < 4


def test_a_module_of_equinox_serves(rows):
    equinox = pytest.importorskip("equinox")
    network = equinox.nn.MLP(2, "scalar", 8, 1, key=jax.random.key(0))
    trained, history = train(NCE(network, Normal(2.0, 2)), rows, epochs=2)
    assert history.epochs[1].loss < history.epochs[0].loss


@pytest.mark.long
def test_learned_noises_have_the_density_of_their_draws(rows):
    """Importance sampling of the learned density by a wide normal one, and of the normal one by its draws."""
    settings = {"epochs": 3, "layers": 2, "hidden": 8, "rate": 1e-2, "batch": 256}
    for kind in ("student", "mixture", "flow"):
        noise = learn_noise(rows, kind, **(settings if kind == "flow" else {}))
        x = np.asarray(noise.sample(jax.random.key(1), (4000,)))
        ratio = np.asarray(Normal(2.0, 2).log_prob(x)).sum(1) - np.asarray(noise.log_prob(x))
        weights = np.exp(ratio)
        assert abs(weights.mean() - 1.0) < 4 * weights.std() / math.sqrt(4000) < 0.3
    with pytest.raises(InputError, match="`kind` must be flow, mixture, student"):
        learn_noise(rows, "kde")


def test_a_ratio_through_two_bridges():
    """N(1.5, 1) to N(0, 1) in one dimension: KL = 1.125."""
    rng = np.random.default_rng(1)
    first, second = (rng.normal(m, 1.0, (3000, 1)).astype(np.float32) for m in (1.5, 0.0))
    ratio = Ratio(bridges=2, epochs=30, rate=1e-2, batch=250, network=lambda a, b: square_units(a, b, hidden=8)).fit(first[:2000], second[:2000])
    found = ratio.judge(first[2000:], second[2000:])
    assert abs(found.estimate - 1.125) < max(4 * found.se, 0.15) and len(found.bridges) == 2
    assert np.asarray(ratio.log_ratio(np.array([[0.75], [1.75]], dtype=np.float32))) == pytest.approx([0.0, 1.5], abs=0.4)


def bent_flow(rows, layers=2):
    """A flow whose splines are far from the identity."""
    flow = SplineFlow(rows, layers=layers, hidden=8, seed=1)
    rng = np.random.default_rng(2)
    bent = lambda leaf: (leaf + 0.3 * rng.normal(size=leaf.shape)).astype(leaf.dtype)
    return flow.with_parameters(jax.tree_util.tree_map(bent, flow.parameters))


def test_the_density_of_a_flow_is_that_of_its_map(rows):
    """By the change of variables, with the derivative of the map by JAX."""
    flow = bent_flow(rows.astype(float))
    with jax.enable_x64(True):
        z = np.random.default_rng(3).normal(size=(6, 2))
        one = lambda at: flow.from_normal(at[None])[0]
        slopes, density = jax.jit(lambda z: (jax.vmap(jax.jacfwd(one))(z), flow.log_prob(flow.from_normal(z))))(z)
    expected = -0.5 * np.square(z).sum(1) - math.log(2 * math.pi) - np.linalg.slogdet(np.asarray(slopes))[1]
    assert np.asarray(density) == pytest.approx(expected, abs=1e-9)


def test_flows_of_both_skins_are_the_same(rows):
    torch = pytest.importorskip("torch")
    from noisewright.torch import SplineFlow as Other

    flow = bent_flow(rows)
    other = Other(torch.tensor(rows), layers=2, hidden=8, seed=1)
    with torch.no_grad():
        for network, layers in zip(other.networks, flow.parameters):
            for module, (weights, bias) in zip([m for m in network if hasattr(m, "weight")], layers):
                module.weight.copy_(torch.tensor(np.asarray(weights).T))
                module.bias.copy_(torch.tensor(np.asarray(bias)))
        theirs = other.log_prob(torch.tensor(rows[:50])).numpy()
    assert np.asarray(jax.jit(flow.log_prob)(rows[:50])) == pytest.approx(theirs, abs=1e-4)


def test_a_learned_flow_approaches_the_data(rows):
    """Two normal bumps, in whose likelihood the flow gains more than half of what a normal density lacks."""
    noise = learn_noise(rows[:2500], "flow", epochs=12, layers=2, hidden=16, rate=1e-2, batch=250, wide=0.0)
    x = rows[2500:].astype(float)
    across = np.logaddexp(*(-0.5 * ((x[:, 0] - m) / 0.6) ** 2 for m in (-1.5, 1.5))) - math.log(2 * 0.6 * math.sqrt(2 * math.pi))
    truth = float((across - 0.5 * x[:, 1] ** 2 - 0.5 * math.log(2 * math.pi)).mean())
    normal = -0.5 * float(np.log(np.linalg.det(2 * math.pi * math.e * np.cov(x.T))))
    score = float(np.asarray(jax.jit(noise.log_prob)(rows[2500:])).mean())
    assert 0.5 * (truth + normal) < score < truth + 0.05


def test_quiet_draws_are_even_and_follow_the_noise(rows):
    """Means of 1,024 draws, 20 times: a Sobol net's scatter less than a third of independent draws', and have the noise's mean."""
    noise = learn_noise(rows, "mixture", wide=0.0)
    exact = (noise.source.fitted.weights[:, None] * noise.source.fitted.locations).sum(0)
    like = np.zeros((1, 2))
    with jax.enable_x64(True):
        keys = jax.random.split(jax.random.key(4), 20)
        means = {quiet: np.asarray(jax.jit(jax.vmap(lambda k: noise.draw(k, 1024, like, quiet=quiet).mean(0)))(keys)) for quiet in (True, False)}
    spread = {quiet: np.sqrt(np.square(found - exact).mean(0)) for quiet, found in means.items()}
    # Independent draws: σ/√1024 in either column, known to 1/√40.
    assert spread[False] == pytest.approx(rows.std(0) / 32, rel=4 / math.sqrt(40))
    assert (spread[True] < spread[False] / 3).all()


def test_quiet_draws_through_flowjax():
    flowjax = pytest.importorskip("flowjax.flows")
    from flowjax.distributions import Normal as Base

    flow = flowjax.coupling_flow(jax.random.key(0), base_dist=Base(jnp.array([1.0, -1.0]), 2.0), flow_layers=1, nn_width=4)
    with jax.enable_x64(True):
        keys = jax.random.split(jax.random.key(5), 8)
        like = np.zeros((1, 2))
        quiet, random = (np.asarray(jax.jit(jax.vmap(lambda k: as_noise(flow).draw(k, 512, like, quiet=q).mean(0)))(keys)) for q in (True, False))
    assert (quiet.std(0) < 0.5 * random.std(0)).all()
    assert quiet.mean(0) == pytest.approx(random.mean(0), abs=4 * 3.0 / math.sqrt(8 * 512))


@pytest.mark.long
def test_chains_draw_from_the_model_and_noise_is_learned_from_them():
    """−x'Px/2 from a wider normal noise: the covariance is P⁻¹; also in the coordinates of a flow."""
    precision = np.array([[2.0, 0.6], [0.6, 1.0]])
    energy = lambda p, x: -0.5 * ((x @ p) * x).sum(1)
    start = np.random.default_rng(6).normal(size=(500, 2)).astype(np.float32)
    like = np.zeros((1, 2), dtype=np.float32)
    for noise in (Normal(1.5, 2), bent_flow(1.5 * start, layers=1)):
        draws = model_draws(NCE((energy, precision), noise, residual=False), 60, chains=64, warm_up=60, thin=2, like=like)
        assert draws.points.shape == (64, 60, 2)
        # Entries of a covariance of 3,840 draws, at least a fifth of them worth an independent one: 0.04 each.
        assert np.cov(np.asarray(draws.flat).T) == pytest.approx(np.linalg.inv(precision), abs=0.16)
    refitted = refit_noise(Normal(1.5, 2), draws, "student")
    x = np.asarray(draws.flat)[:500]
    before, after = (float(np.asarray(as_noise(noise).log_prob(x)).mean()) for noise in (Normal(1.5, 2), refitted))
    assert after > before + 0.1


@pytest.mark.long
def test_bridges_are_added_until_sides_overlap():
    """N(4, 1) to N(0, 1): KL = 8, and one classifier is nearly always right."""
    rng = np.random.default_rng(7)
    first, second = (rng.normal(m, 1.0, (3000, 1)).astype(np.float32) for m in (4.0, 0.0))
    ratio = Ratio(epochs=20, rate=1e-2, batch=250, network=lambda a, b: square_units(a, b, hidden=8)).fit(first[:2000], second[:2000])
    found = ratio.judge(first[2000:], second[2000:])
    assert len(found.bridges) > 1 and min(bridge.loss for bridge in found.bridges) > 0.1
    assert abs(found.estimate - 8.0) < max(4 * found.se, 0.8)


def test_the_design_of_weights_prefers_noise_where_the_question_is():
    """The slope of N(0, 1) by x, as for PyTorch: a narrow noise has no part in the best mixture."""
    from scipy.special import ndtri

    nce = NCE((lambda p, x: p * x[:, 0], np.zeros(())), Normal(1.0), nu=1)
    x = ndtri(np.linspace(0.0005, 0.9995, 1000))[:, None]
    found = nce.design([Normal(s) for s in (0.5, 1.0, 2.0)], x, lambda at: at, target="all")
    assert found.weights[0] < 1e-3 < found.weights[1:].min() and found.gap < 1e-4 and found.error < found.alone.min() + 1e-9
    asked = nce.design([Normal(0.5), Normal(2.0)], x, lambda at: at, target=([2.0], [0.0]))
    assert asked.weights[1] > 0.5 and "conditional on the features" in asked.summary()


def test_fresh_rows_at_every_step():
    draw = lambda key, n: 0.7 * jax.random.normal(key, (n, 1), jnp.float32)
    trained, history = train(NCE(perceptron(1), Normal(1.0), nu=1), draw, epochs=3, steps=40, batch=200, rate=2e-2, weight_decay=1e-3)
    assert history.steps == 120 and history.held_out < history.epochs[0].held_out < 2 * math.log(2)


@pytest.mark.parametrize(
    ("make", "kind", "sentence"),
    [
        (lambda: NCE(perceptron(1), Normal(1.0)).loss(None, np.array([[0.0], [np.nan]])), InputError, "row 2, column 1 of the batch is nan"),
        (lambda: NCE(perceptron(1), type("Draws", (), {"sample": lambda self, n: n})()), InputError, "the noise Draws has no method `log_prob`"),
        (lambda: NCE((lambda p, x: jnp.tile(x, 3), 0.0), Normal(1.0)).loss(0.0, np.zeros(5), noise=np.zeros(5)), FunctionError, "the energy returned the shape (5, 3) for 5 rows"),
        (lambda: NCE(perceptron(2), Normal(1.0)).loss(None, np.zeros((5, 2)), jax.random.key(0)), InputError, "the noise draws rows of 1 columns"),
        (lambda: NCE(3, Normal(1.0)), InputError, "`energy` must be a pair"),
        (lambda: Ratio(bridges=100), InputError, "`bridges` must be auto or a number up to 64"),
    ],
)
def test_what_cannot_be_is_one_sentence(make, kind, sentence):
    with pytest.raises(kind) as said:
        make()
    assert sentence in str(said.value) and "\n" not in str(said.value)
