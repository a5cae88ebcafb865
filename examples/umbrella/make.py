"""Draws of five harmonic wells side by side, each with its log-density under all five; the answers are exact."""

import numpy as np

CENTRES = np.array([0.0, 1.5, 3.0, 4.5, 6.0])
STIFFNESS = np.array([1.0, 1.5, 2.0, 2.5, 3.0])

rng = np.random.default_rng(5)
rows = []
for state, (centre, stiffness) in enumerate(zip(CENTRES, STIFFNESS)):
    for x in rng.normal(centre, stiffness**-0.5, size=400):
        rows.append((state, *(-STIFFNESS * (x - CENTRES) ** 2 / 2)))
with open("draws.csv", "w") as file:
    file.write("state," + ",".join(f"u_{k}" for k in range(5)) + "\n")
    for state, *u in rows:
        file.write(f"{state}," + ",".join(f"{value:.6f}" for value in u) + "\n")
print("log Z less that of the first:", -np.log(STIFFNESS / STIFFNESS[0]) / 2)
