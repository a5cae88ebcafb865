"""What each contestant does with a task's input; every function returns a number to compare with the others'."""

import numpy as np

from tasks import DIMENSION, DRAWS, STATES, features


def load(folder, *names):
    return [np.load(folder / f"{name}.npy") for name in names]


# Two samples of log-densities.


def two_samples(folder):
    return load(folder, "log_f_data", "log_noise_data", "log_f_noise", "log_noise_noise")


def noisewright_log_z(arrays):
    import noisewright as nw

    result = nw.log_z(*arrays, independent=True, progress=False)
    return result.log_z, result.se


def pymbar_bar(arrays, method):
    from pymbar import bar

    f_data, n_data, f_noise, n_noise = arrays
    # Work from noise to data at the noise's draws, and back at the data's.
    found = bar(n_noise - f_noise, f_data - n_data, method=method)
    return -found["Delta_f"], found["dDelta_f"]


def numpy_bridge(arrays):
    """Newton's method for the same equation, in plain NumPy."""
    f_data, n_data, f_noise, n_noise = arrays
    data, noise = f_data - n_data, f_noise - n_noise
    # From importance sampling, since plain Newton steps may run off from farther away.
    c = np.log(np.exp(noise).mean())
    for _ in range(50):
        of_data, of_noise = 1 / (1 + np.exp(data - c)), 1 / (1 + np.exp(c - noise))
        step = (of_noise.sum() - of_data.sum()) / ((of_data * (1 - of_data)).sum() + (of_noise * (1 - of_noise)).sum())
        c += step
        if abs(step) < 1e-12:
            break
    return c, np.sqrt(of_data.var() / len(data) + of_noise.var() / len(noise)) / of_data.mean()


def bare_exponentials(arrays):
    """One pass of exponentials over as many numbers, the yardstick of a Newton step."""
    total = 0.0
    for array in arrays[:2]:
        total += np.exp(array).sum()
    return total, 0.0


# Many states.


def noisewright_states(u_kn):
    import noisewright as nw

    # Log-densities, not energies; in place, as one who has them would.
    np.negative(u_kn, out=u_kn)
    result = nw.log_z_states(u_kn, [DRAWS] * STATES, independent=True, progress=False)
    return result.log_z[-1] - result.log_z[0], result.se[-1]


def pymbar_states(u_kn):
    from pymbar import MBAR

    solved = MBAR(u_kn, np.full(STATES, DRAWS))
    found = solved.compute_free_energy_differences()
    return -found["Delta_f"][0, -1], found["dDelta_f"][0, -1]


def fastmbar_states(u_kn, method):
    from FastMBAR import FastMBAR

    solved = FastMBAR(energy=u_kn, num_conf=np.full(STATES, DRAWS), cuda=False, method=method)
    return -solved.DeltaF[0, -1], solved.DeltaF_std[0, -1]


# A fit in ten dimensions.


def samples(folder):
    return load(folder, "points_data", "log_density_data", "points_noise", "log_density_noise")


def noisewright_fit(arrays):
    import noisewright as nw

    data, at_data, noise, at_noise = arrays
    model = nw.Model.from_family("gaussian", variables=[f"x{i}" for i in range(DIMENSION)])
    result = nw.fit(model, data, noise=nw.NoiseDraws(noise, at_noise, at_data), progress=False)
    return result.log_normalizer.estimate, result.log_normalizer.se


def regression(arrays):
    data, at_data, noise, at_noise = arrays
    design = np.vstack([features(data), features(noise)])
    label = np.repeat([1.0, 0.0], [len(data), len(noise)])
    return design, label, -np.concatenate([at_data, at_noise])


def statsmodels_fit(arrays):
    import statsmodels.api as sm

    design, label, offset = regression(arrays)
    found = sm.GLM(label, design, family=sm.families.Binomial(), offset=offset).fit()
    return found.params[-1], found.bse[-1]


def sklearn_fit(arrays):
    """Without the offset, which it does not have, and without standard errors: not the same model, the same size."""
    from sklearn.linear_model import LogisticRegression

    design, label, _ = regression(arrays)
    return LogisticRegression(C=np.inf, fit_intercept=False, max_iter=200).fit(design, label).coef_[0, -1], 0.0


def numpy_fit(arrays):
    """Newton's method with halved steps, as one writes it by hand."""
    design, label, offset = regression(arrays)
    beta = np.zeros(design.shape[1])

    def loss(beta):
        eta = design @ beta + offset
        return eta, (np.logaddexp(0, eta) - label * eta).sum()

    eta, value = loss(beta)
    for _ in range(100):
        p = 1 / (1 + np.exp(-eta))
        information = (design * (p * (1 - p))[:, None]).T @ design
        step, scale = np.linalg.solve(information, design.T @ (label - p)), 1.0
        while (tried := loss(beta + scale * step))[1] > value and scale > 1e-9:
            scale /= 2
        beta, (eta, value) = beta + scale * step, tried
        if np.abs(step).max() < 1e-9:
            break
    # The corrected variance of the constant (ν = 1): less 1/T_d + 1/T_n.
    return beta[-1], np.sqrt(np.linalg.inv(information)[-1, -1] - 4 / len(label))


# A density ratio of the same two samples.


def noisewright_ratio(arrays):
    import noisewright as nw

    data, _, noise, _ = arrays
    model = nw.Model.from_family("gaussian", variables=[f"x{i}" for i in range(DIMENSION)])
    result = nw.ratio(model, data, noise, progress=False)
    at = np.zeros((1, DIMENSION))
    value, se = result.log_ratio(at)
    return float(value[0]), float(se[0])


def densratio_ratio(arrays):
    from densratio import densratio

    data, _, noise, _ = arrays
    found = densratio(np.ascontiguousarray(data), np.ascontiguousarray(noise), verbose=False)
    return float(np.log(found.compute_density_ratio(np.zeros((1, DIMENSION)))[0])), 0.0


# Task: (how its input is read, contestants, the first being ours).
CONTESTS = {
    "log_z": (
        two_samples,
        {
            "noisewright": noisewright_log_z,
            "pymbar BAR, false position": lambda a: pymbar_bar(a, "false-position"),
            "pymbar BAR, self-consistent": lambda a: pymbar_bar(a, "self-consistent-iteration"),
            "pymbar BAR, bisection": lambda a: pymbar_bar(a, "bisection"),
            "NumPy by hand": numpy_bridge,
            "one pass of exponentials (NumPy)": bare_exponentials,
        },
    ),
    "states": (
        lambda folder: load(folder, "u_kn")[0],
        {
            "noisewright": noisewright_states,
            "pymbar MBAR, NumPy": pymbar_states,
            "pymbar MBAR, JAX and its compilation": pymbar_states,
            "FastMBAR, Newton": lambda u: fastmbar_states(u, "Newton"),
            "FastMBAR, L-BFGS": lambda u: fastmbar_states(u, "L-BFGS-B"),
        },
    ),
    "fit": (
        samples,
        {
            "noisewright": noisewright_fit,
            "statsmodels GLM with offset": statsmodels_fit,
            "scikit-learn, no offset, no errors": sklearn_fit,
            "NumPy by hand": numpy_fit,
        },
    ),
    "ratio": (samples, {"noisewright": noisewright_ratio, "densratio": densratio_ratio}),
}
