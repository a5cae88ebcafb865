"""Bennett's acceptance ratio by pymbar 4 on log-ratios that any program can make again: normalizer_bar.csv."""

import numpy as np
from pymbar import other_estimators

CASES = [
    # data count, noise count, offset, spread, shift between the sides
    (200, 300, 0.0, 1.0, 1.0),
    (50, 1000, 2.5, 2.0, 3.0),
    (1000, 40, -7.0, 0.5, 0.3),
    (500, 500, 1e5, 1.5, 4.0),
    (300, 200, -1e5, 3.0, 6.0),
    (30, 30, 0.25, 0.1, 0.05),
    (400, 100, 12.0, 1.0, 10.0),
    (1, 100, 3.0, 1.0, 0.5),
]

print("data,noise,offset,spread,shift,log_z,se")
for n_data, n_noise, offset, spread, shift in CASES:
    data = offset + 0.5 * shift + spread * np.sin(1.0 + 1.7 * np.arange(n_data))
    noise = offset - 0.5 * shift + spread * np.cos(0.5 + 2.3 * np.arange(n_noise))
    found = other_estimators.bar(-noise, data, relative_tolerance=1e-15, maximum_iterations=1000, method="false-position")
    print(f"{n_data},{n_noise},{offset!r},{spread!r},{shift!r},{-found['Delta_f']!r},{found['dDelta_f']!r}".replace("np.float64(", "").replace(")", ""))
