"""Mixtures of four Laplacian sources of variance one: mixtures.csv, and the start values of model.toml, which whiten them."""

import csv
import math
import random

random.seed(4)
ROWS = 1000
#: The rows that unmix: source i is Σ b_ij x_j.
UNMIXING = [
    [1.5, -0.2, 0.4, 0.2],
    [0.7, 0.6, 0.2, 0.2],
    [-0.3, -0.1, 0.4, -0.2],
    [0.3, 0.1, 0.6, 1.2],
]


def solved(matrix, right):
    """The solution of a system of linear equations, by elimination with pivots."""
    rows = [[*row, value] for row, value in zip(matrix, right)]
    for i in range(len(rows)):
        pivot = max(range(i, len(rows)), key=lambda k: abs(rows[k][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        for k in range(len(rows)):
            if k != i:
                factor = rows[k][i] / rows[i][i]
                rows[k] = [a - factor * b for a, b in zip(rows[k], rows[i])]
    return [row[-1] / row[i] for i, row in enumerate(rows)]


def product(a, b):
    return [[sum(x * y for x, y in zip(row, column)) for column in zip(*b)] for row in a]


def inverse(matrix):
    size = range(len(matrix))
    return [list(row) for row in zip(*(solved(matrix, [float(i == j) for i in size]) for j in size))]


def whitening(rows):
    """The symmetric inverse root of the covariance, by the iteration of Denman and Beavers."""
    size = range(len(rows[0]))
    covariance = [[sum(row[i] * row[j] for row in rows) / len(rows) for j in size] for i in size]
    root, inverse_root = covariance, [[float(i == j) for j in size] for i in size]
    for _ in range(60):
        pair = inverse(inverse_root), inverse(root)
        mean = lambda a, b: [[(x + y) / 2 for x, y in zip(*both)] for both in zip(a, b)]
        root, inverse_root = mean(root, pair[0]), mean(inverse_root, pair[1])
    return inverse_root


def main():
    laplace = lambda: random.choice([-1, 1]) * random.expovariate(math.sqrt(2))
    rows = [[float(f"{x:.5g}") for x in solved(UNMIXING, [laplace() for _ in UNMIXING])] for _ in range(ROWS)]
    with open("mixtures.csv", "w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow([f"x{j}" for j in range(len(UNMIXING))])
        out.writerows(rows)
    for i, row in enumerate(whitening(rows)):
        for j, value in enumerate(row):
            print(f"b{i}{j} = {value:.2f}")


if __name__ == "__main__":
    main()
