"""The page of the Python API: what the package names in __all__, described by its docstrings."""

import ast

# Headings, and what stands below each; what is new in __all__ and not here stands at the end.
SECTIONS = {
    "Estimators": ["KMeans", "EnsembleKMeans", "HierarchicalKMeans", "RegressionClustering", "ProductQuantizer", "ResidualQuantizer"],
    "Functions": ["fit", "fit_each", "predict", "kmeans_plusplus", "read", "info"],
    "What they return": ["FitResult", "BatchResult", "Model", "Dataset", "Progress"],
    "Rows of other processes": ["fit_shards", "Shard", "Shape", "Scan", "Statistics", "Answer", "merge_answers", "solve"],
    "Errors": ["Error", "UsageError", "BadDataError", "UnavailableError", "OutOfMemoryError", "StoppedError", "InternalError"],
}
INTRODUCTION = """# Python API

This page is made from the docstrings of the package; `help(manymeans.KMeans)` shows the same. [The tutorial](../docs/user/python.md)
shows how the parts are used together, and [Dask, Ray, Spark](../docs/user/devices.md#dask-ray-spark) what `manymeans.dask` is for.

The estimators have the attributes and methods of scikit-learn's base classes, too: `get_params`, `set_params`, `set_output`, `fit_transform`.
"""


def public_names(folder):
    """__all__ of the package, read from its source."""
    for node in ast.parse((folder / "__init__.py").read_text()).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
            return ast.literal_eval(node.value)
    raise SystemExit("python/manymeans/__init__.py has no __all__")


def page(folder):
    names = public_names(folder)
    listed = [name for section in SECTIONS.values() for name in section]
    sections = {**SECTIONS, "More": [name for name in names if name not in listed]}
    lines = [INTRODUCTION]
    for title, wanted in sections.items():
        present = [name for name in wanted if name in names]
        if present:
            lines.append(f"## {title}\n")
            lines += [f"::: manymeans.{name}\n    options:\n      heading_level: 3\n" for name in present]
    lines.append("## manymeans.dask\n\n::: manymeans.dask\n    options:\n      heading_level: 3\n      show_root_heading: false\n"
                 "      show_root_toc_entry: false\n")
    return "\n".join(lines)
