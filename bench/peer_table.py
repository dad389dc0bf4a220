"""The peers: how each is found, run and held to an instruction set. A new peer is a worker and an entry here."""

import importlib.util
import os
import pathlib
from dataclasses import dataclass, field

import machine

WORKERS = pathlib.Path(__file__).resolve().parent / "peers"
# A pthread OpenBLAS and libgomp in one process have threads of their own, and those that wait by spinning take the
# processor from those that work: up to 4 times slower, and more where other programs run.
SLEEP_WHILE_WAITING = {"OMP_WAIT_POLICY": "passive"}
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS")
CORES = {"avx512": "SkylakeX", "avx2": "Haswell"}  # what OpenBLAS calls an instruction set


@dataclass(frozen=True)
class Peer:
    name: str
    module: str  # importable when the peer is installed
    worker: str
    dtypes: tuple = ("float32", "float64")
    seeds: bool = False  # has a k-means++ that can be called alone
    stops: bool = True  # ends when no label changes; else it does all iterations asked for
    least_columns: int = 1  # it is made for rows of so many columns
    always: dict = field(default_factory=dict)  # environment
    held: dict = field(default_factory=dict)  # instruction set: environment; absent: it cannot be held to it

    def missing(self):
        return importlib.util.find_spec(self.module) is None

    def environment(self, threads, instruction_set):
        """Of one run; instruction_set is None for "as it comes"."""
        values = {variable: str(threads) for variable in THREAD_VARIABLES}
        values.update(self.always)
        if instruction_set:
            values.update(self.held.get(instruction_set, {}))
        return {**os.environ, **values}


def _faiss_environment():
    """The OpenBLAS 0.3.15 in the wheel of faiss takes processors newer than itself for a Prescott (SSE3), and is then
    3 times slower; so it is told what the processor can do."""
    best = next((name for name in CORES if name in machine.instruction_sets()), None)
    return {**SLEEP_WHILE_WAITING, **({"OPENBLAS_CORETYPE": CORES[best]} if best else {})}


PEERS = (
    Peer("scikit-learn", "sklearn", "sklearn_worker.py", seeds=True, always=SLEEP_WHILE_WAITING,
         held={name: {"OPENBLAS_CORETYPE": core} for name, core in CORES.items()}),
    # oneDAL chooses its own loops by the processor when it is loaded, and nothing lowers that; only the matrix library
    # inside it can be told. Its highest level is AVX-512, so that is held, AVX2 is not.
    Peer("scikit-learn-intelex", "sklearnex", "intelex_worker.py", held={"avx512": {"MKL_ENABLE_INSTRUCTIONS": "AVX512"}}),
    Peer("faiss-cpu", "faiss", "faiss_worker.py", dtypes=("float32",), stops=False, always=_faiss_environment(),
         held={"avx512": {"FAISS_SIMD_LEVEL": "AVX512", "FAISS_OPT_LEVEL": "AVX512", "OPENBLAS_CORETYPE": "SkylakeX"},
               "avx2": {"FAISS_SIMD_LEVEL": "AVX2", "FAISS_OPT_LEVEL": "AVX2", "OPENBLAS_CORETYPE": "Haswell"}}),
    # It draws its own first centroids: its iterations cost what they cost from others, its answer is another one.
    Peer("SuperKMeans", "superkmeans", "superkmeans_worker.py", dtypes=("float32",), stops=False, least_columns=128,
         always=SLEEP_WHILE_WAITING),
)
