"""The installed packages manymeans and manymeans-cuda fit on a GPU, and the answers are compared with the CPU's.

    python tests/install/cuda_wheels.py [--fits 50]

It prints how many random fits have the digest of the same fit on the CPU. It says whether tensors of torch and CuPy on
the device have it, where they are installed. Then come milliseconds an iteration. The exit code is 1 if an answer
differs. PYTHONPATH chooses another build to measure.
"""

import argparse
import json
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import numpy as np

import manymeans

TYPES = [np.float32, np.float64, np.float16, np.uint8, np.int8]
SHAPES = [(1_000_000, 64, 100), (2_000_000, 8, 400), (200_000, 768, 500)]


def random_points(draw: np.random.Generator) -> np.ndarray:
    rows, columns = int(draw.integers(1, 50_000)), int(draw.choice([1, 2, 3, 7, 16, 33, 64, 130, 768]))
    points = draw.normal(size=(min(rows, 4_000_000 // columns), columns)) * 30 + draw.integers(-40, 40)
    kind = TYPES[int(draw.integers(len(TYPES)))]
    return np.clip(points, -127, 127).astype(kind) if kind is np.int8 else np.abs(points).clip(0, 255).astype(kind)


def random_fit(number: int) -> bool:
    draw = np.random.default_rng(number)
    points = random_points(draw)
    options = {
        "k": int(draw.integers(1, min(len(points), 200) + 1)),
        "models": int(draw.choice([1, 1, 3])),
        "seed": number,
        "max_iter": 20,
        "init": str(draw.choice(["auto", "random", "k-means++"])),
        "stop": str(draw.choice(["tol", "strict"])),
    }
    answers = [manymeans.fit(points, backend=backend, **options).digest for backend in ("cpu", "cuda")]
    if answers[0] != answers[1]:
        print("DIFFERS:", points.shape, points.dtype, options, answers)
    return answers[0] == answers[1]


def tensors_agree() -> dict[str, bool]:
    points = np.random.default_rng(1).normal(size=(30_000, 24)).astype(np.float32)
    expected = manymeans.KMeans(40, random_state=0, backend="cpu").fit(points)
    labels = expected.predict(points[:1000])
    agree = {}
    for library, upload in {
        "torch": lambda m: m.from_numpy(points).cuda(),
        "cupy": lambda m: m.asarray(points),
    }.items():
        if find_spec(library):
            tensor = upload(__import__(library))
            model = manymeans.KMeans(40, random_state=0).fit(tensor)
            agree[library] = model.answer_ == expected.answer_ and bool(
                (np.asarray(model.predict(points[:1000])) == labels).all()
            )
    return agree


def milliseconds(rows: int, columns: int, k: int) -> float:
    """Median over five of an iteration's time: the difference of fits of 25 and 5 iterations."""
    draw = np.random.default_rng(rows)
    points = draw.normal(size=(rows, columns)).astype(np.float32)
    if find_spec("torch"):
        points = __import__("torch").from_numpy(points).cuda()
    start = draw.normal(size=(k, columns)).astype(np.float32)
    found = []
    for _ in range(6):  # the first one loads the kernels
        seconds = []
        for passes in (5, 25):
            begun = time.perf_counter()
            manymeans.fit(points, k, init=start, max_iter=passes, stop="strict", backend="cuda")
            seconds.append(time.perf_counter() - begun)
        found.append((seconds[1] - seconds[0]) * 50)
    return sorted(found[1:])[2]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fits", type=int, default=50)
    asked = parser.parse_args()
    begun = time.perf_counter()
    manymeans.KMeans(2, backend="cuda", random_state=0).fit(np.eye(5))
    first = time.perf_counter() - begun
    equal = sum(random_fit(number) for number in range(asked.fits))
    agree = tensors_agree()
    print(
        json.dumps(
            {
                "module": str(Path(manymeans._manymeans.__file__)),
                "first fit, seconds": round(first, 3),
                "equal digests": f"{equal} of {asked.fits}",
                "tensors": agree,
                "ms an iteration": {str(shape): round(milliseconds(*shape), 4) for shape in SHAPES},
            },
            indent=1,
        )
    )
    program = Path(sys.executable).with_name("manymeans")
    if program.exists():
        subprocess.run([program, "fit", "data/s1.txt.gz", "-k", "15", "--backend", "cuda"], check=True)
    return 0 if equal == asked.fits and all(agree.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
