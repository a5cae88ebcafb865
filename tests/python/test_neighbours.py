"""Molecular simulation: expectations, surfaces, energies and alchemlyb's frames against pymbar, and against what is known."""

import json
import os
import subprocess
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy.interpolate import BSpline
from scipy.optimize import minimize

import noisewright as nw
from noisewright.states import log_z_neighbours

pymbar = pytest.importorskip("pymbar")
pd = pytest.importorskip("pandas")

ROOT = Path(__file__).resolve().parents[2]
BINARY = Path(os.environ.get("NOISEWRIGHT", ROOT / "target" / "debug" / "noisewright"))

CENTRES = np.array([-1.5, -0.75, 0.0, 0.75, 1.5])
COUNTS = np.array([300, 200, 250, 200, 150])


def double_well(x):
    return 2 * (x**2 - 1) ** 2


@pytest.fixture(scope="module")
def windows():
    """Umbrella windows over a double well, drawn by rejection from a fixed seed, and the state without a bias."""
    rng = np.random.default_rng(7)
    parts = []
    for centre, count in zip(CENTRES, COUNTS):
        kept = np.empty(0)
        while len(kept) < count:
            x = rng.normal(centre, 0.5, size=4000)
            kept = np.concatenate([kept, x[rng.random(4000) < np.exp(-double_well(x))]])
        parts.append(kept[:count])
    x = np.concatenate(parts)
    u = np.stack([double_well(x) + 2 * (x - c) ** 2 for c in CENTRES] + [double_well(x)])
    return x, u, [*COUNTS.tolist(), 0]


@pytest.fixture(scope="module")
def mbar(windows):
    x, u, counts = windows
    return pymbar.MBAR(u, np.array(counts), relative_tolerance=1e-12)


def test_expectations_and_their_errors_are_those_of_pymbar(windows, mbar):
    x, u, counts = windows
    found = nw.expectations(-u, {"x": x, "far": 1e6 + 1e-3 * x**2}, counts, independent=True)
    for name, values in (("x", x), ("far", 1e-3 * x**2)):
        reference = mbar.compute_expectations(values)
        shift = 1e6 if name == "far" else 0.0
        for state in range(len(counts)):
            mean, se = found[name, state]
            assert mean - shift == pytest.approx(reference["mu"][state], abs=1e-8 if shift else 1e-9)
            assert se == pytest.approx(reference["sigma"][state], rel=1e-6)


def test_the_covariance_of_several_means_is_that_of_pymbar(windows, mbar):
    x, u, counts = windows
    found = nw.expectations(-u, {"x": x, "y": x**2}, counts, independent=True, states=[5])
    reference = mbar.compute_multiple_expectations(np.stack([x, x**2]), u[5], return_theta=True)
    # Its `covariances` are those of log-weights, whose diagonal is not `sigma` squared: Θ has those of the observables.
    theta = reference["Theta"]
    expected = theta[:2, :2] + theta[2:, 2:] - theta[:2, 2:] - theta[2:, :2]
    assert np.diag(expected) == pytest.approx(reference["sigma"] ** 2, rel=1e-9)
    assert found.values == pytest.approx(reference["mu"], abs=1e-9)
    assert found.covariance == pytest.approx(expected, rel=1e-6)


def test_the_error_of_a_difference_knows_that_both_share_draws(windows, mbar):
    x, u, counts = windows
    found = nw.expectations(-u, {"x": x}, counts, independent=True)
    reference = mbar.compute_expectations(x, output="differences")
    for i, j in ((0, 1), (2, 5), (0, 4)):
        value, se = found.difference(("x", i), ("x", j))
        assert value == pytest.approx(reference["mu"][i, j], abs=1e-9)
        assert se == pytest.approx(reference["sigma"][i, j], rel=1e-6)


def test_a_state_without_draws_is_a_perturbed_state_of_pymbar(windows):
    x, u, counts = windows
    found = nw.log_z_states(-u, counts, independent=True)
    small = pymbar.MBAR(u[:5], np.array(counts[:5]), relative_tolerance=1e-12)
    reference = small.compute_perturbed_free_energies(u[4:])
    value, se = found.difference(4, 5)
    assert -value == pytest.approx(reference["Delta_f"][0, 1], abs=1e-9)
    assert se == pytest.approx(reference["dDelta_f"][0, 1], rel=1e-6)


def test_errors_within_groups_are_those_of_pymbar():
    """Two pairs of states 4.7 deviations apart, with four crossings between them: too few for an error across, and not to be left out."""
    rng, means = np.random.default_rng(0), np.array([0.0, 4.0, 8.7, 12.7])
    u = (np.concatenate([rng.normal(mean, size=300) for mean in means]) - means[:, np.newaxis]) ** 2 / 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = nw.log_z_states(-u, [300] * 4, independent=True)
    reference = pymbar.MBAR(u, np.full(4, 300), relative_tolerance=1e-12).compute_free_energy_differences()["dDelta_f"]
    assert [len(group) for group in found.groups] == [2, 2]
    for i, j in ((0, 1), (2, 3)):
        # Draws of the other group count as those of the state that sees them: right to second order in their share, here 1e-6.
        assert found.difference(i, j)[1] == pytest.approx(reference[i, j], rel=1e-5)
    assert found.difference(1, 2)[1] == np.inf


def test_energies_and_entropies_are_those_of_pymbar(windows, mbar):
    x, u, counts = windows
    found = nw.energies(-u, counts, independent=True)
    reference = mbar.compute_entropy_and_enthalpy()
    assert found.energy == pytest.approx(reference["Delta_u"][0], abs=1e-8)
    assert found.entropy == pytest.approx(reference["Delta_s"][0], abs=1e-8)
    assert found.energy_se[1:] == pytest.approx(reference["dDelta_u"][0, 1:], rel=1e-5)
    assert found.entropy_se[1:] == pytest.approx(reference["dDelta_s"][0, 1:], rel=1e-5)


def reference_surface(u, counts, points, edges, at, **options):
    fes = pymbar.FES(u[:5], np.array(counts[:5]), mbar_options={"relative_tolerance": 1e-12})
    fes.generate_fes(u[5], points, fes_type="histogram", histogram_parameters={"bin_edges": edges})
    return fes.get_fes(at, uncertainty_method="analytical", **options)


@pytest.mark.parametrize("reference", ["lowest", 0.05])
def test_a_histogram_surface_is_that_of_pymbar(windows, reference):
    x, u, counts = windows
    edges = np.linspace(-1.6, 1.6, 17)
    found = nw.surface(-u, {"x": x}, counts, state=5, bins=edges, reference=reference, independent=True)
    how = (
        {"reference_point": "from-lowest"}
        if reference == "lowest"
        else {"reference_point": "from-specified", "fes_reference": reference}
    )
    expected = reference_surface(u, counts, x, edges, found.centres[0][:, np.newaxis], **how)
    assert found.free_energy == pytest.approx(expected["f_i"], abs=1e-8)
    known = np.isfinite(found.se)
    assert known.sum() > 12
    assert found.se[known] == pytest.approx(expected["df_i"][known], rel=1e-6, abs=1e-7)
    truth = double_well(found.centres[0]) - double_well(found.centres[0][np.argmin(found.free_energy)])
    if reference == "lowest":
        assert np.abs(found.free_energy - truth)[known].max() < 4 * found.se[known].max()


def test_a_surface_in_two_dimensions_is_that_of_pymbar(windows):
    x, u, counts = windows
    y = np.sin(3 * x) + 0.3 * np.random.default_rng(3).normal(size=len(x))
    edges = [np.linspace(-1.6, 1.6, 6), np.linspace(-1.8, 1.8, 6)]
    found = nw.surface(-u, {"x": x, "y": y}, counts, state=5, bins=edges, independent=True)
    places = np.stack([grid.ravel() for grid in np.meshgrid(*found.centres, indexing="ij")], axis=1)
    filled = np.isfinite(found.free_energy).ravel()
    points = np.stack([x, y], axis=1)
    expected = reference_surface(u, counts, points, edges, places[filled], reference_point="from-lowest")
    assert found.free_energy.ravel()[filled] == pytest.approx(expected["f_i"], abs=1e-8)
    known = np.isfinite(found.se.ravel()[filled])
    assert found.se.ravel()[filled][known] == pytest.approx(expected["df_i"][known], rel=1e-6, abs=1e-7)


def test_a_kernel_surface_is_that_of_pymbar(windows):
    x, u, counts = windows
    fes = pymbar.FES(u[:5], np.array(counts[:5]), mbar_options={"relative_tolerance": 1e-12})
    fes.generate_fes(u[5], x, fes_type="kde", kde_parameters={"bandwidth": 0.1, "rtol": 1e-12})
    found = nw.surface(-u, {"x": x}, counts, state=5, bins=20, kernel=True, bandwidth=0.1, independent=True)
    expected = fes.get_fes(found.centres[0][:, np.newaxis], reference_point="from-lowest")["f_i"]
    assert found.free_energy == pytest.approx(expected - expected.min(), abs=1e-6)


def log_densities_by_pymbar(mbar, u, amounts):
    """−ln of the means of what draws add to cells, in the state without a bias, and the covariance of these logarithms."""
    found = mbar.compute_multiple_expectations(amounts, u[5], return_theta=True)
    theta, n = found["Theta"], len(amounts)
    covariance = theta[:n, :n] + theta[n:, n:] - theta[:n, n:] - theta[n:, :n]
    return -np.log(found["mu"]), covariance / np.outer(found["mu"], found["mu"])


def test_a_normalized_histogram_is_made_of_means_of_pymbar(windows, mbar):
    """pymbar's `from-normalization` raises an error for histograms: a cell's density is the mean of its indicator over its width."""
    x, u, counts = windows
    edges = np.linspace(-1.4, 1.4, 13)
    found = nw.surface(-u, {"x": x}, counts, state=5, bins=edges, reference="normalized", independent=True)
    inside = (x >= edges[:-1, np.newaxis]) & (x < edges[1:, np.newaxis])
    expected, covariance = log_densities_by_pymbar(mbar, u, inside / np.diff(edges)[:, np.newaxis])
    assert found.free_energy == pytest.approx(expected, abs=1e-8)
    assert found.se == pytest.approx(np.sqrt(np.diag(covariance)), rel=1e-6)


def test_differences_between_all_cells_are_those_of_pymbar(windows):
    """pymbar's `all-differences` raises an error: its rows are surfaces relative to one cell after the other, in both."""
    x, u, counts = windows
    edges = np.linspace(-1.4, 1.4, 9)
    fes = pymbar.FES(u[:5], np.array(counts[:5]), mbar_options={"relative_tolerance": 1e-12})
    fes.generate_fes(u[5], x, fes_type="histogram", histogram_parameters={"bin_edges": edges})
    centres = (edges[1:] + edges[:-1]) / 2
    for centre in centres:
        found = nw.surface(-u, {"x": x}, counts, state=5, bins=edges, reference=centre, independent=True)
        how = {"reference_point": "from-specified", "fes_reference": centre, "uncertainty_method": "analytical"}
        expected = fes.get_fes(centres[:, np.newaxis], **how)
        assert found.free_energy == pytest.approx(expected["f_i"], abs=1e-8)
        assert found.se == pytest.approx(expected["df_i"], rel=1e-6, abs=1e-7)


@pytest.mark.parametrize("dimensions", [1, 2])
def test_kernel_surfaces_and_their_errors_are_means_of_pymbar(windows, mbar, dimensions):
    """pymbar's kernels have no analytical errors: those of the mean of the kernel, which the density is."""
    x, u, counts = windows
    points = np.stack([x, np.sin(3 * x) + 0.3 * np.random.default_rng(3).normal(size=len(x))])[:dimensions]
    edges, h = [np.linspace(-1.2, 1.2, 7)] * dimensions, 0.2
    options = {"state": 5, "bins": edges, "kernel": True, "bandwidth": h, "independent": True}
    found = nw.surface(-u, dict(zip("xy", points)), counts, reference="normalized", **options)
    places = np.stack([grid.ravel() for grid in np.meshgrid(*found.centres, indexing="ij")], axis=1)
    fes = pymbar.FES(u[:5], np.array(counts[:5]), mbar_options={"relative_tolerance": 1e-12})
    fes.generate_fes(u[5], points.T, fes_type="kde", kde_parameters={"bandwidth": h, "rtol": 1e-12})
    expected = fes.get_fes(places, reference_point="from-normalization")["f_i"]
    assert found.free_energy.ravel() == pytest.approx(expected, abs=1e-6)
    squares = (((points.T - places[:, np.newaxis]) / h) ** 2).sum(axis=2)
    f, covariance = log_densities_by_pymbar(mbar, u, np.exp(-squares / 2) / (np.sqrt(2 * np.pi) * h) ** dimensions)
    known = np.isfinite(found.se.ravel())
    assert known.mean() > 0.9 and f == pytest.approx(expected, abs=1e-6)
    assert found.se.ravel()[known] == pytest.approx(np.sqrt(np.diag(covariance))[known], rel=1e-6)
    lowest = nw.surface(-u, dict(zip("xy", points)), counts, **options)
    zero = np.flatnonzero(lowest.free_energy.ravel() == 0)[0]
    assert lowest.free_energy.ravel() == pytest.approx(expected - expected[zero], abs=1e-6)
    variances = np.diag(covariance) + covariance[zero, zero] - 2 * covariance[zero]
    assert lowest.se.ravel()[known] == pytest.approx(np.sqrt(np.maximum(variances, 0))[known], rel=1e-6, abs=1e-7)


#: A standard deviation from so many samples has the relative error 1/√(2·100) = 0.07; four of those, and 0.05 for what
#: linear errors of cells with some forty effective draws leave out.
SAMPLES, OFF = 100, 4 / np.sqrt(200) + 0.05


def test_errors_of_histograms_are_those_of_pymbars_bootstrap(windows):
    x, u, counts = windows
    # All draws lie in cells, and in every sample there are draws in all of them: pymbar's bootstrap knows no others.
    edges = np.array([x.min() - 0.1, *np.linspace(-1.2, 1.2, 7), x.max() + 0.1])
    fes = pymbar.FES(u[:5], np.array(counts[:5]), mbar_options={"relative_tolerance": 1e-12})
    fes.generate_fes(u[5], x, fes_type="histogram", histogram_parameters={"bin_edges": edges}, n_bootstraps=SAMPLES, seed=3)
    found = nw.surface(-u, {"x": x}, counts, state=5, bins=edges, independent=True)
    resampled = fes.get_fes(found.centres[0][:, np.newaxis], reference_point="from-lowest", uncertainty_method="bootstrap")["df_i"]
    others = found.free_energy > 0
    assert others.sum() == 7 and found.se[others] == pytest.approx(resampled[others], rel=OFF)


def test_errors_of_kernels_are_those_of_a_bootstrap(windows):
    """Not pymbar's, which resamples the places of the draws and leaves their weights where they were."""
    x, u, counts = windows
    edges, rng = np.linspace(-1.2, 1.2, 7), np.random.default_rng(4)
    found = nw.surface(-u, {"x": x}, counts, state=5, bins=edges, kernel=True, bandwidth=0.2, reference="normalized", independent=True)
    heights = np.exp(-(((x - found.centres[0][:, np.newaxis]) / 0.2) ** 2) / 2) / (np.sqrt(2 * np.pi) * 0.2)
    starts = np.cumsum([0, *COUNTS[:-1]])
    surfaces = []
    for _ in range(SAMPLES):
        drawn = np.concatenate([start + rng.integers(count, size=count) for start, count in zip(starts, COUNTS)])
        weights = pymbar.MBAR(u[:, drawn], np.array(counts)).weights()[:, 5]
        surfaces.append(-np.log(heights[:, drawn] @ weights))
    assert found.se == pytest.approx(np.std(surfaces, axis=0), rel=OFF)


def spline_by_scipy(x, weights, low, high, count, at):
    """-ln of the density whose logarithm is a spline of the highest weighted likelihood: SciPy's splines and optimizer, Simpson's rule."""
    knots = np.concatenate([np.full(3, low), np.linspace(low, high, count - 2), np.full(3, high)])
    basis = lambda points: BSpline.design_matrix(points, knots, 3).toarray()[:, 1:]
    nodes = np.linspace(low, high, 4001)
    steps = np.full(4001, 2.0)
    steps[1::2], steps[[0, -1]] = 4.0, 1.0
    steps *= (nodes[1] - nodes[0]) / 3
    inside = (x >= low) & (x <= high)
    share = weights[inside].sum()
    means, there = weights[inside] @ basis(x[inside]) / share, basis(nodes)

    def parts(beta):
        height = -there @ beta
        density = steps * np.exp(height - height.max())
        total = density.sum()
        density /= total
        mean = density @ there
        return means @ beta + height.max() + np.log(total), means - mean, (there.T * density) @ there - np.outer(mean, mean)

    found = minimize(lambda b: parts(b)[0], np.zeros(count - 1), jac=lambda b: parts(b)[1], hess=lambda b: parts(b)[2], method="trust-exact")
    beta = found.x
    for _ in range(5):
        _, gradient, hessian = parts(beta)
        beta = beta - np.linalg.solve(hessian, gradient)
    log_integral = parts(beta)[0] - means @ beta
    return basis(at) @ beta + log_integral - np.log(share)


@pytest.mark.parametrize("count", [5, 9])
def test_a_spline_surface_has_the_highest_weighted_likelihood(windows, mbar, count):
    x, u, counts = windows
    low, high = -1.5, 1.4
    found = nw.surface(
        -u, {"x": x}, counts, state=5, bins=np.linspace(low, high, 13), splines=count, reference="normalized", independent=True
    )
    assert (found.smoothing, found.splines) == ("spline", [count])
    expected = spline_by_scipy(x, mbar.weights()[:, 5], low, high, count, found.centres[0])
    assert found.free_energy == pytest.approx(expected, abs=1e-8)


def test_a_spline_surface_is_that_of_pymbar(windows):
    x, u, counts = windows
    fes = pymbar.FES(u[:5], np.array(counts[:5]), mbar_options={"relative_tolerance": 1e-12})
    # All draws lie between the ends: pymbar fits splines to those outside too.
    low, high = x.min(), x.max()
    settings = {
        "spline_weights": "unbiasedstate", "nspline": 5, "kdegree": 3, "spline_initialize": "zeros", "xrange": [low, high],
        "fkbias": None, "optimization_algorithm": "BFGS", "optimize_options": {"disp": False, "gtol": 1e-7}, "objective": "ml",
    }  # fmt: skip
    fes.generate_fes(u[5], x, fes_type="spline", spline_parameters=settings)
    found = nw.surface(-u, {"x": x}, counts, state=5, bins=20, splines=5, independent=True)
    expected = fes.get_fes(found.centres[0][:, np.newaxis], reference_point="from-lowest")["f_i"]
    assert found.free_energy == pytest.approx(expected, abs=1e-6)


def test_errors_of_splines_are_the_spread_over_new_draws():
    """200 sets of 2,000 draws of a normal state, whose -ln of the density is x²/2: a spline of degree 2 and above can be that."""
    rng = np.random.default_rng(12)
    edges = np.linspace(-2, 2, 6)
    z = []
    for _ in range(200):
        x = rng.normal(size=2000)
        found = nw.surface(-(x**2)[np.newaxis] / 2, {"x": x}, [2000], bins=edges, splines=5, reference=0.0, independent=True)
        z.append((found.free_energy - found.centres[0] ** 2 / 2)[[0, 1, 3, 4]] / found.se[[0, 1, 3, 4]])
    # A variance from 200 scores has the relative error √(2/200) = 0.1; four of those below.
    assert np.mean(np.square(z), axis=0) == pytest.approx(np.ones(4), abs=0.4)
    assert np.abs(np.mean(z, axis=0)).max() < 4 / np.sqrt(200)


def test_the_number_of_splines_is_found_and_a_plane_is_followed():
    rng = np.random.default_rng(13)
    points = rng.normal(size=(3000, 2))
    x, y = points.T
    log_f = -(x**2 + y**2)[np.newaxis] / 2
    edges = [np.linspace(-1.5, 1.5, 7)] * 2
    found = nw.surface(log_f, {"x": x, "y": y}, [3000], bins=edges, splines="auto", reference=[0.1, 0.1], independent=True)
    assert len(found.splines) == 2 and min(found.splines) >= 4
    middle = [np.linspace(-1.25, 1.25, 6)] * 2
    exact = 0.5 * (middle[0][:, np.newaxis] ** 2 + middle[1] ** 2)
    exact -= exact[3, 3]
    known = found.se > 0
    score = (found.free_energy - exact)[known] / found.se[known]
    # 35 cells: the largest of so many scores is below 4 but once in 450 sets.
    assert np.abs(score).max() < 4
    # A finer grid of cells says the same of the same draws with larger errors.
    histogram = nw.surface(log_f, {"x": x, "y": y}, [3000], bins=edges, reference=[0.1, 0.1], independent=True)
    assert (found.se[known] < histogram.se[known]).all()
    line = nw.surface(-(x**2)[np.newaxis] / 2, {"x": x}, [3000], bins=20, splines="auto", independent=True)
    # A normal density needs no knots: the criterion may take a few, each at the price of an expected loss of 1/3000.
    assert line.splines[0] <= 8


def test_states_give_means_and_surfaces_of_their_own_draws(windows):
    x, u, counts = windows
    states = nw.log_z_states(-u, counts, independent=True)
    mean = states.expectation(x**2, at=5)
    value, se = nw.expectations(-u, {"x": x**2}, counts, independent=True)["x", 5]
    assert (mean.estimate, mean.se) == (value, se)
    assert mean.upper - mean.lower == pytest.approx(2 * 1.959963984540054 * se)
    both = states.expectation({"x": x, "y": x**2}, at="5")
    assert both["y"] == mean and set(both) == {"x", "y"}
    surface = states.surface(x, at=5, bins=12)
    assert np.array_equal(surface.free_energy, nw.surface(-u, x, counts, state=5, bins=12, independent=True).free_energy)


def test_frames_of_alchemlyb_are_taken_as_they_are(windows):
    x, u, counts = windows
    own = np.repeat(np.arange(5), COUNTS)
    times = np.concatenate([np.arange(count, dtype=float) for count in COUNTS])
    index = pd.MultiIndex.from_arrays([times, own / 4.0], names=["time", "lambda"])
    u_nk = pd.DataFrame(u[:5].T, columns=[0.0, 0.25, 0.5, 0.75, 1.0], index=index)
    u_nk.attrs["temperature"] = 300.0
    from noisewright.alchemlyb import BAR, MBAR

    found = MBAR(independent=True).fit(u_nk.sample(frac=1, random_state=1))
    reference = pymbar.MBAR(u[:5], COUNTS, relative_tolerance=1e-12).compute_free_energy_differences()
    assert found.delta_f_.to_numpy() == pytest.approx(reference["Delta_f"], abs=1e-9)
    assert found.d_delta_f_.to_numpy() == pytest.approx(reference["dDelta_f"], abs=1e-7)
    assert found.states_ == [0.0, 0.25, 0.5, 0.75, 1.0] and found.delta_f_.attrs == {"temperature": 300.0}
    assert found.overlap_matrix.sum(axis=1) == pytest.approx(1.0)
    assert nw.log_z_states(u_nk, independent=True).log_z == pytest.approx(-reference["Delta_f"][0], abs=1e-9)
    both = MBAR(independent=True, relative_tolerance=1e-9, verbose=False, initial_f_k="BAR").fit(u_nk, compute_entropy_enthalpy=True)
    energies = pymbar.MBAR(u[:5], COUNTS, relative_tolerance=1e-12).compute_entropy_and_enthalpy()
    assert both.delta_h_.to_numpy() == pytest.approx(energies["Delta_u"], abs=1e-8)
    assert both.delta_sT_.to_numpy() == pytest.approx(energies["Delta_s"], abs=1e-8)
    assert both.d_delta_h_.to_numpy() == pytest.approx(energies["dDelta_u"], rel=1e-5, abs=1e-7)
    assert both.d_delta_sT_.to_numpy() == pytest.approx(energies["dDelta_s"], rel=1e-5, abs=1e-7)
    with pytest.raises(nw.InputError, match="n_bootstraps"):
        MBAR(n_bootstraps=20)
    bar = BAR(independent=True).fit(u_nk)
    forward = (u_nk[0.25] - u_nk[0.0])[own == 0]
    backward = (u_nk[0.0] - u_nk[0.25])[own == 1]
    pair = pymbar.bar(forward.to_numpy(), backward.to_numpy(), relative_tolerance=1e-12, uncertainty_method="MBAR")
    assert bar.delta_f_.loc[0.0, 0.25] == pytest.approx(pair["Delta_f"], abs=1e-8)
    assert bar.d_delta_f_.loc[0.0, 0.25] == pytest.approx(pair["dDelta_f"], rel=1e-6)
    assert np.isnan(bar.d_delta_f_.loc[0.0, 0.5])


def test_times_that_begin_again_begin_another_chain():
    from noisewright.states import from_u_nk

    index = pd.MultiIndex.from_arrays([[0.0, 1.0, 0.0, 1.0, 0.0], [0, 0, 1, 1, 0]], names=["time", "lambda"])
    _, origin, chains, names = from_u_nk(pd.DataFrame(np.zeros((5, 2)), columns=[0, 1], index=index))
    assert (origin.tolist(), chains.tolist(), names) == ([0, 0, 1, 1, 0], [0, 0, 0, 0, 1], ["0", "1"])


def test_states_of_several_levels_in_any_order():
    """The state and the chain of every row, from the codes of the index, against a loop over the rows."""
    from noisewright.states import from_u_nk

    states = [(0.0, 0.0), (0.5, 0.0), (0.5, 1.0)]
    rows = [(float(time), *states[k]) for k in range(3) for time in [0, 1, 2, 1, 2, 3]]
    index = pd.MultiIndex.from_tuples(rows, names=["time", "coul", "vdw"])
    u_nk = pd.DataFrame(np.arange(54.0).reshape(18, 3), columns=states, index=index).sample(frac=1, random_state=3)
    table, origin, chains, names = from_u_nk(u_nk)
    assert np.array_equal(table, -u_nk.to_numpy().T) and names == [str(state) for state in states]
    last, chain = {}, {}
    for row, (time, *state) in enumerate(u_nk.index):
        k = states.index(tuple(state))
        chain[k] = chain.get(k, 0) + (k in last and time <= last[k])
        last[k] = time
        assert (origin[row], chains[row]) == (k, chain[k])
    unknown = u_nk.rename(index={1.0: 0.75}, level="vdw")
    with pytest.raises(nw.InputError, match=r"rows of the state \(0\.5, 0\.75\)"):
        from_u_nk(unknown)


def test_neighbours_are_two_states_each_and_may_not_know_the_others(windows):
    x, u, counts = windows
    table, ends = -np.array(u[:5]), np.cumsum([0, *COUNTS])
    pairs = [
        nw.log_z_states(table[k : k + 2, ends[k] : ends[k + 2]], COUNTS[k : k + 2], independent=True) for k in range(4)
    ]
    for k in range(5):
        table[k, np.r_[: ends[max(k - 1, 0)], ends[min(k + 2, 5)] : ends[5]]] = np.nan
    found = log_z_neighbours(table, COUNTS, independent=True, names=list("abcde"))
    assert [step.names for step in found] == [["a", "b"], ["b", "c"], ["c", "d"], ["d", "e"]]
    assert all(np.array_equal(step.log_z, pair.log_z) and np.array_equal(step.se, pair.se) for step, pair in zip(found, pairs))


def test_errors_of_chains_are_wider_where_draws_depend_on_each_other():
    """An AR(1) chain of autocorrelation time (1 + ρ)/(1 − ρ) = 19 has errors √19 times those of independent draws."""
    rng = np.random.default_rng(5)
    count, rho = 20_000, 0.9
    noise = rng.normal(size=count) * np.sqrt(1 - rho**2)
    x = np.empty(count)
    x[0] = rng.normal()
    for n in range(1, count):
        x[n] = rho * x[n - 1] + noise[n]
    log_f = -(x**2)[np.newaxis] / 2
    chain, independent = (nw.expectations(log_f, {"x": x}, [count], independent=flag)["x", 0][1] for flag in (False, True))
    # The long-run variance from 2K + 1 ≈ 100 lags of 20,000 draws has the relative error √(2·100/20000) = 0.1.
    assert (chain / independent) ** 2 == pytest.approx(19, rel=0.35)


def test_forward_and_backward_end_with_all_draws(windows):
    x, u, counts = windows
    found = nw.convergence(-u, counts, parts=5, independent=True)
    everything = nw.log_z_states(-u, counts, independent=True)
    assert found.share.tolist() == [0.2, 0.4, 0.6, 0.8, 1.0]
    assert np.array_equal(found.forward[-1], everything.log_z) and np.array_equal(found.backward[-1], everything.log_z)
    assert not np.array_equal(found.forward[0], found.backward[0])


@pytest.mark.parametrize(
    ("job", "says"),
    [
        (lambda u, x, n: nw.expectations(-u, {"x": x[:-1]}, n), "values of `x`"),
        (lambda u, x, n: nw.expectations(-u, {"x": np.where(x > 1, np.nan, x)}, n), "x"),
        (lambda u, x, n: nw.expectations(-u, {"x": x}, n, states=["nope"]), "none of the states"),
        (lambda u, x, n: nw.surface(-u, {"x": x, "y": x, "z": x}, n), "one or two"),
        (lambda u, x, n: nw.surface(-u, {"x": x}, n, bins=[1.0, 0.0]), "increase"),
        (lambda u, x, n: nw.surface(-u, {"x": x}, n, bandwidth=1.0), "kernel"),
        (lambda u, x, n: nw.surface(-u, {"x": x}, n, reference=99.0), "outside"),
        (lambda u, x, n: nw.surface(-u, {"x": 0 * x}, n), "the same at all draws"),
        (lambda u, x, n: nw.convergence(-u, n, parts=0), "parts"),
    ],
)
def test_what_cannot_be_is_refused(windows, job, says):
    x, u, counts = windows
    with pytest.raises(nw.InputError, match=says):
        job(u, x, counts)


def test_a_mean_of_a_state_out_of_reach_has_no_error():
    x = np.random.default_rng(2).normal(size=2000)
    log_f = np.stack([-(x**2) / 2, -((x - 6) ** 2) / 2])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = nw.expectations(log_f, {"x": x}, [2000, 0], independent=True)
    assert found["x", 1][1] == np.inf and np.isfinite(found["x", 0][1])
    assert found.warning_codes


def test_the_command_gives_the_same_bits():
    file = ROOT / "examples" / "windows" / "draws.csv"
    words = ["--surface", "x", "--surface-state", "u_free", "--bins", "20", "--observable", "x,u_1", "--energies", "--convergence", "2", "--equilibration"]
    done = subprocess.run(
        [str(BINARY), "logz", str(file), "--states", "u_*", *words, "--json", "--quiet"], capture_output=True, text=True, check=True
    )
    said = json.loads(done.stdout)
    columns = pd.read_csv(file)
    names = [name for name in columns if name.startswith("u_")]
    log_f = columns[names].to_numpy().T
    pool = {"origin": columns["state"].to_numpy() - 1, "names": names}
    means = nw.expectations(log_f, columns[["x", "u_1"]], **pool).to_dict()
    surface = nw.surface(log_f, columns[["x"]], state="u_free", bins=20, **pool).to_dict()
    energies = nw.energies(log_f, **pool).to_dict()
    energies.pop("names")
    parts = nw.convergence(log_f, parts=2, **pool)
    assert json.loads(json.dumps(means)) == said["expectations"]
    assert json.loads(json.dumps(surface)) == said["surface"]
    assert json.loads(json.dumps(energies)) == said["energies"]
    assert said["equilibration"] == nw.equilibration(log_f, **pool)
    assert [part["forward"] for part in said["convergence"]] == parts.forward.tolist()
    # Quadrature of the double well of make.py: the mean of x without a bias, and the barrier.
    mean, se = said["expectations"]["values"][7], said["expectations"]["se"][7]
    assert abs(mean + 0.41772030078613126) < 4 * se and se < 0.15
