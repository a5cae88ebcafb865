"""Draws of two harmonic wells with known free energies: data.csv and noise.csv (log f and log p_n at each draw)."""

import csv
import math
import random

random.seed(7)
STIFFNESS, CENTER = 4.0, 0.0  # f(x) = exp(-2 x^2): log Z = log sqrt(2 pi / 4) = 0.225791
NOISE_SD, NOISE_CENTER = 1.0, 0.5


def row(x):
    log_f = -0.5 * STIFFNESS * (x - CENTER) ** 2
    log_noise = -0.5 * ((x - NOISE_CENTER) / NOISE_SD) ** 2 - math.log(NOISE_SD * math.sqrt(2 * math.pi))
    return [f"{x:.6f}", f"{log_f:.6f}", f"{log_noise:.6f}"]


def write(name, count, mean, sd, memory):
    """A chain whose neighbours correlate by `memory`."""
    z = random.gauss(0, 1)
    with open(name, "w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["x", "log_f", "log_noise"])
        for _ in range(count):
            z = memory * z + math.sqrt(1 - memory**2) * random.gauss(0, 1)
            out.writerow(row(mean + sd * z))


write("data.csv", 2000, CENTER, 1 / math.sqrt(STIFFNESS), 0.8)
write("noise.csv", 2000, NOISE_CENTER, NOISE_SD, 0.0)
