"""Old Faithful from end to end: fit, look, ask how good the noise was, and fit again with a better one."""

import noisewright as nw

# Waiting times between eruptions, and a density with two modes whose constant nobody knows in closed form.
model, data = nw.load_example("old-faithful")
print(f"{len(data)} waiting times; parameters {', '.join(model.parameters)}\n")

# Noise is chosen, and added until it hardly matters.
fit = nw.fit(model, data)
print(fit.summary())
for name, estimate in fit.estimates.items():
    assert estimate.se_noise < 0.15 * estimate.se, name

# Maximum likelihood, the constant integrated at every step, is what endless noise would give.
exact = nw.fit(model, data, noise="exact")
for name in model.parameters:
    assert abs(fit[name].estimate - exact[name].estimate) < 4 * fit[name].se_noise

# What would the same noise have cost with only as many noise points as data, and what would the best one?
usual = nw.error(model, at=fit, noise=fit.noise, nu=1)
best = nw.design(model, at=fit, nu=1)
print(f"error × T with as much noise as data: {usual.error:.1f} as fitted, {best.error:.1f} with the best noise\n")
assert best.error < usual.error

# The designed noise is a noise like any other.
again = nw.fit(model, data, noise=0.9 * best.noise + 0.1 * nw.Student(5, 0, 2), nu=5)
print(again.summary())
