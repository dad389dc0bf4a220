"""Writes a CSV of customers, invented and the same every time: four kinds of them, with age, income, spending, visits.

usage: make_customers.py OUTPUT.csv
"""

import sys

import numpy as np

# Of each kind: how many; mean and deviation of age, yearly income (thousands), spending score (1 to 100), visits.
KINDS = [
    (400, (24, 3), (22, 5), (74, 9), (40, 8)),
    (700, (41, 7), (58, 9), (48, 8), (18, 5)),
    (250, (47, 8), (115, 18), (82, 7), (30, 6)),
    (350, (63, 6), (39, 8), (21, 7), (7, 3)),
]


def main():
    random = np.random.default_rng(2024)
    rows = np.vstack([np.column_stack([random.normal(*column, size=n) for column in columns]) for n, *columns in KINDS])
    rows = np.clip(np.round(rows[random.permutation(len(rows))]), [18, 8, 1, 0], [95, 250, 100, 120]).astype(int)
    np.savetxt(sys.argv[1], rows, fmt="%d", delimiter=",", header="age,income,spending,visits", comments="")


if __name__ == "__main__":
    main()
