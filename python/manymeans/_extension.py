"""The choice of the extension module: the package's own, or a whole build with CUDA from manymeans-cuda."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec


def _choose() -> str:
    """Make `manymeans._manymeans` the module of manymeans-cuda where it fits. Return why it does not."""
    if find_spec("manymeans_cuda") is None:
        return ""
    from importlib import metadata  # takes a tenth of the time in which the package is imported

    try:
        version = metadata.version("manymeans")
    except metadata.PackageNotFoundError:  # used from a build folder, which has what it was built with
        return ""
    plugin = import_module("manymeans_cuda")
    problem = f"its version is {plugin.__version__}"
    if plugin.__version__ == version:
        try:
            sys.modules[f"{__package__}._manymeans"] = plugin.load()
        except ImportError as error:
            problem = str(error)
        else:
            return ""
    return f"manymeans-cuda does not fit ({problem}): pip install manymeans-cuda=={version}"


missing_cuda = _choose()
