"""Designing the noise, and seeing the error drop: what theory promises, simulation keeps."""

import numpy as np

import noisewright as nw

# Two wells, no closed form. What would noise equal to the data cost, as much of it as data?
model, _ = nw.load_example("quartic")
usual = nw.error(model, noise="data", nu=1)
best = nw.design(model)
print(usual.summary())
print(best.summary())

# The same budget of points for both, 200 times over: the mean squared error of the estimates.
budget = 2000
truth = {name: parameter.start for name, parameter in model.parameters.items()}
data_noise = nw.design(model, noise="data", nu=1).noise
data = data_noise.sample(200 * budget, seed=11)


def simulate(noise, nu):
    """Mean squared error times the budget, over replications, and its standard error."""
    rows = round(budget / (1 + nu))
    losses = []
    for replication in range(200):
        sample = data[replication * budget : replication * budget + rows]
        fit = nw.fit(model, sample, noise=noise, noise_points=budget - rows, seed=replication)
        # The target of the design: all parameters and the constant.
        gaps = [fit[name].estimate - value for name, value in truth.items()]
        gaps.append(fit["log_normalizer"].estimate - usual.log_normalizer)
        losses.append(budget * sum(gap**2 for gap in gaps))
    return np.mean(losses), np.std(losses) / np.sqrt(len(losses))


for name, noise, nu, promised in [
    ("noise = data, half and half", data_noise, 1.0, usual.error),
    # A little of a safe noise where the best one has no density, as the book advises.
    ("the best noise", 0.95 * best.noise + 0.05 * nw.Normal(0, 4), best.nu, best.error),
]:
    found, error = simulate(noise, nu)
    print(f"{name}: error × T {found:.1f} ± {error:.1f}; theory {promised:.1f}")
    assert abs(found - promised) < 4 * error + 0.1 * promised
