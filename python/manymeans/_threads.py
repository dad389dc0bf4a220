"""How many threads a call uses: `n_threads`, threadpoolctl's limit, OMP_NUM_THREADS, what the machine allows."""

from __future__ import annotations

import functools
import os
from typing import Any

from . import _manymeans
from ._parameters import integer

_MOST = 2**31 - 1  # that the library counts

try:
    import threadpoolctl
except ImportError:
    pass
else:

    class _Controller(threadpoolctl.LibController):
        """Lets `threadpoolctl.threadpool_limits` limit manymeans in the same way as OpenMP."""

        user_api = "openmp"
        internal_api = "manymeans"
        filename_prefixes = ("_manymeans",)
        check_symbols = ("manymeans_get_num_threads", "manymeans_set_num_threads")

        def get_num_threads(self) -> int:
            return int(self.dynlib.manymeans_get_num_threads()) or unlimited()

        def set_num_threads(self, num_threads: int) -> None:
            # A `with` ends by setting the earlier value of get_num_threads. If there was no limit, this value means no
            # limit.
            self.dynlib.manymeans_set_num_threads(0 if num_threads == unlimited() else int(num_threads))

        def get_version(self) -> Any:
            return None

    threadpoolctl.register(_Controller)


def _without_limit() -> int:
    """OMP_NUM_THREADS (joblib sets it in its workers), 0 where it says nothing."""
    text = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    return min(int(text), _MOST) if text.isascii() and text.isdigit() and len(text) < 20 else 0


@functools.lru_cache(maxsize=1)
def _usable() -> int:
    return int(_manymeans.info(devices=False)["threads"])


def unlimited() -> int:
    """Threads of a call without `n_threads` and without limit."""
    return _without_limit() or _usable()


def effective(n_threads: int | None) -> int:
    """Give the number of threads for the library, 0 meaning all that the machine allows.

    Without `n_threads` (None or 0) the smaller of threadpoolctl's limit and OMP_NUM_THREADS holds; `n_threads` takes
    precedence over OMP_NUM_THREADS, and threadpoolctl's limit over both.
    """
    limit = _manymeans.get_num_threads()
    wanted = min(integer("n_threads", n_threads, 0), _MOST) if n_threads is not None else 0
    wanted = wanted or _without_limit()
    if limit > 0:
        return min(wanted, limit) if wanted > 0 else limit
    return wanted
