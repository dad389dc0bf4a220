"""The CUDA backend of the package manymeans, which finds it here. There is nothing to import."""

from importlib import metadata, util
from pathlib import Path
from types import ModuleType

__version__ = metadata.version("manymeans-cuda")


def load() -> ModuleType:
    """Load manymeans' extension module as it was built with CUDA."""
    (file,) = Path(__file__).parent.glob("_manymeans.*")
    spec = util.spec_from_file_location("manymeans._manymeans", file)
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
