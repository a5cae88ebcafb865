"""Reference values of fit_values.rs: NCE of a linear model as logistic regression with an offset (statsmodels GLM),
with the centred covariance of both classes, corrected for leverage (HC2), in NumPy. Run: python fit_logistic.py (needs numpy, statsmodels)."""
import numpy as np
import statsmodels.api as sm

i, j = np.arange(60), np.arange(90)
data = 1.5 * np.sin(1.3 * i) + 0.3 * np.cos(0.7 * i) + 0.2
noise = 2.0 * np.sin(2.1 * j) + np.cos(0.9 * j)
points = np.concatenate([data, noise])
features = np.c_[points, points**2, -np.ones(150)]
log_noise = -0.5 * points**2 / 4 - 0.5 * np.log(2 * np.pi * 4)


def corrected(terms, weights):
    """Covariance of terms, each square divided by one minus its leverage in the metric of the terms."""
    total = weights.sum()
    terms = terms - (weights[:, None] * terms).sum(0) / total
    squares = (terms.T * weights) @ terms
    leverage = 1 / total + np.einsum("ij,jk,ik->i", terms, np.linalg.inv(squares), terms)
    return (terms.T * (weights / (1 - leverage))) @ terms / total


def reference(weights):
    total = weights.sum()
    nu = 90 / total
    offset = -log_noise - np.log(nu)
    counts = np.r_[weights, np.ones(90)]
    labels = np.r_[np.ones(60), np.zeros(90)]
    model = sm.GLM(labels, features, family=sm.families.Binomial(), offset=offset, freq_weights=counts)
    fitted = model.fit(tol=1e-14, maxiter=100)
    p = 1 / (1 + np.exp(-features @ fitted.params - offset))
    bread = np.linalg.inv((features.T * (counts * p * (1 - p))) @ features / total)
    d, n = (1 - p[:60])[:, None] * features[:60], p[60:][:, None] * features[60:]
    cov_d, cov_n = corrected(d, weights), corrected(n, np.ones(90))
    print("params", fitted.params.tolist(), "naive", fitted.bse.tolist())
    print("se data", np.sqrt(np.diag(bread @ cov_d @ bread / total)).tolist())
    print("se noise", np.sqrt(np.diag(bread @ cov_n @ bread * nu**2 / 90)).tolist())


reference(np.ones(60))
reference((i % 3 + 1).astype(float))
