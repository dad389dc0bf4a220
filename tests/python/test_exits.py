"""What may end while a fit runs: Python itself, the system's threads, the callback's patience."""

import os
import resource
import subprocess
import sys

import numpy as np
import pytest

import manymeans
from manymeans import EnsembleKMeans, KMeans

BEGIN = """
import atexit, sys, threading, time
import numpy as np
import manymeans
from manymeans import _manymeans
X = np.random.default_rng(0).standard_normal((200_000, 16), dtype=np.float32)
begun = threading.Event()

def see(progress):
    begun.set()

def work(**options):
    while True:
        manymeans.fit(X, 64, init=X[:64], tol=0, **options)

def fit_in_thread(daemon=True, **options):
    thread = threading.Thread(target=work, kwargs=options, daemon=daemon)
    thread.start()
    return thread
"""

SCRIPTS = {
    "a fit": "fit_in_thread(); time.sleep(0.3)",
    "a fit with a callback": "fit_in_thread(callback=see); begun.wait()",
    "two fits": "fit_in_thread(); fit_in_thread(callback=see); begun.wait()",
    "the reference": "fit_in_thread(backend='reference', callback=see); begun.wait()",
    "small fits": "X = X[:500]; fit_in_thread(callback=see); fit_in_thread(n_threads=1); begun.wait()",
    "a callback that sleeps": "fit_in_thread(callback=lambda p: begun.set() or time.sleep(100)); begun.wait()",
    "a callback that is busy": """
def busy(progress):
    begun.set()
    while True:
        pass

fit_in_thread(callback=busy)
begun.wait()
""",
    "a callback that prints": "fit_in_thread(callback=lambda p: begun.set() or print(p.iteration)); begun.wait()",
    "predict": """
def label():
    while True:
        begun.set()
        manymeans.predict(X[:500], X)

threading.Thread(target=label, daemon=True).start()
begun.wait()
time.sleep(0.1)
""",
    "digests": """
result = manymeans.fit(X, 3, max_iter=1)

def digest():
    while True:
        result.models[0]._digest = None
        result.models[0].digest
        begun.set()

threading.Thread(target=digest, daemon=True).start()
begun.wait()
""",
    "sys.exit": "fit_in_thread(callback=see); begun.wait(); sys.exit(0)",
    "fits at exit": """
def last():
    assert manymeans.fit(X[:1000], 3, init=X[:3]).best().n_iter > 0
    print("last words")

atexit.register(last)
fit_in_thread(callback=see)
begun.wait()
""",
    "fits at exit, after all": """
def last():
    assert manymeans.fit(X[:1000], 3, init=X[:3]).best().n_iter > 0
    print("last words")

atexit.unregister(_manymeans.before_exit)
atexit.register(last)
atexit.register(_manymeans.before_exit)
fit_in_thread(callback=see)
begun.wait()
""",
    "a fork": """
import os
fit_in_thread(callback=see)
begun.wait()
child = os.fork()
if child:
    assert os.waitpid(child, 0)[1] == 0
""",
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_python_ends_while_a_daemon_thread_fits(name, request):
    if name == "the reference":
        request.getfixturevalue("unsanitized")  # a pass would take longer than the limit
    for _ in range(4 if name == "a fit" else 2):
        done = subprocess.run(
            [sys.executable, "-c", BEGIN + SCRIPTS[name]], capture_output=True, text=True, timeout=60,
            env=os.environ | {"PYTHONWARNINGS": "ignore"},
        )  # fmt: skip
        assert done.returncode == 0 and done.stderr == "", (done.returncode, done.stderr)
        assert ("last words" in done.stdout) == name.startswith("fits at exit")


def test_python_waits_for_other_threads():
    code = (
        BEGIN.replace("while True:", "for _ in range(2):") + "fit_in_thread(daemon=False, max_iter=5, callback=see)\n"
    )
    code += "atexit.register(lambda: print(begun.is_set()))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "True\n", "")


FEW_THREADS = """
import resource, sys
import numpy as np
import manymeans
from manymeans import KMeans
X = np.random.default_rng(0).standard_normal((20_000, 4), dtype=np.float32)
seen = []
fitted = KMeans(5, random_state=0, callback=seen.append, n_threads=8).fit(X)
assert len(seen) > 2
assert fitted.provenance_["threads"] == int(sys.argv[1]), fitted.provenance_["threads"]
assert (fitted.predict(X) == fitted.labels_).all()
assert manymeans.fit(X, 5, seed=0, init="k-means++").digest == fitted.answer_
manymeans.kmeans_plusplus(X, 3)

def fail(progress):
    raise LookupError("mine")

try:
    KMeans(5, callback=fail).fit(X)
except LookupError as error:
    assert error.args == ("mine",)
else:
    raise AssertionError
assert KMeans(5, tol=0, callback=lambda p: p.phase != "iterate").fit(X).result_.interrupted
print(fitted.answer_)
"""


def without_threads():
    """Stacks so large that no thread's fits the address space: pthread_create fails for every user, root too."""
    resource.setrlimit(resource.RLIMIT_STACK, (2**36, resource.getrlimit(resource.RLIMIT_STACK)[1]))
    resource.setrlimit(resource.RLIMIT_AS, (2**35, 2**35))


@pytest.mark.skipif(
    0 <= resource.getrlimit(resource.RLIMIT_STACK)[1] < 2**36, reason="the limit of stacks cannot be raised here"
)
def test_without_threads_the_calling_one_works(unsanitized):
    found = []
    for prepare, threads in ((None, 8), (without_threads, 1)):
        done = subprocess.run(
            [sys.executable, "-c", FEW_THREADS, str(threads)], capture_output=True, text=True, timeout=120,
            preexec_fn=prepare, env=os.environ | {"OPENBLAS_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        found.append(done.stdout)
    assert found[0] == found[1]


@pytest.mark.parametrize("said", [False, np.False_, 0, 0.0, "", [], np.array(0), np.int64(0)], ids=repr)
@pytest.mark.parametrize("kind", [KMeans, EnsembleKMeans])
def test_what_is_false_stops(kind, said, mixture):
    fitted = kind(9, tol=0, random_state=0, callback=lambda progress: said if progress.phase == "iterate" else None)
    assert fitted.fit(mixture).result_.best().stop_reason == "callback"


@pytest.mark.parametrize("said", [None, True, np.True_, 1, "go on", [0], np.array(1)], ids=repr)
def test_what_is_true_goes_on(said, mixture):
    expected = KMeans(9, tol=0, random_state=0).fit(mixture).answer_
    assert KMeans(9, tol=0, random_state=0, callback=lambda progress: said).fit(mixture).answer_ == expected


class Mine(BaseException):
    pass


class Undecided:
    def __bool__(self):
        raise Mine


@pytest.mark.parametrize("phase", ["initialise", "iterate"])
@pytest.mark.parametrize("error", [Mine, LookupError, SystemExit, KeyboardInterrupt, manymeans.UsageError])
def test_errors_of_a_callback_go_on_to_the_caller(error, phase, mixture):
    def fail(progress):
        if progress.phase == phase:
            raise error("mine")

    with pytest.raises(error, match="mine"):
        KMeans(9, random_state=0, callback=fail).fit(mixture)


def test_answers_that_are_neither(mixture):
    with pytest.raises(ValueError, match="ambiguous"):
        KMeans(9, callback=lambda progress: np.zeros(2)).fit(mixture)
    with pytest.raises(Mine):
        KMeans(9, callback=lambda progress: Undecided()).fit(mixture)


CUT = """
import os, sys, threading
import numpy as np
import manymeans

path, way = sys.argv[1:]
X = manymeans.read(path).points if way == "read" else np.load(path, mmap_mode="r")
X = X[5:] if way == "rows" else X
shard, labels = manymeans.Shard(X), manymeans.fit(X, 3, seed=1).models[0].labels
threading.Timer(0.3, os.truncate, (path, 4096)).start()
def fit_on():
    while True:
        manymeans.fit(X, 20, seed=1, tol=0, max_iter=20)
uses = [
    fit_on,
    lambda: manymeans.fit(X, 3, seed=1),
    lambda: manymeans.predict(np.zeros((2, 8), np.float32), X),
    lambda: manymeans.criteria(X, labels),
    lambda: manymeans.fit_shards(shard.answer, 3),
]
if way != "read":  # which the library maps itself: it checks the points of a call, not the centres
    uses.append(lambda: manymeans.predict(X, np.zeros((2, 8), np.float32)))
for use in uses:
    try:
        print("no error", use())
    except manymeans.BadDataError as error:
        print(error)
"""


# NumPy itself would end the process: whatever reads the points is a call of the library.
@pytest.mark.parametrize("way", ["read", "memmap", "rows"])
def test_a_file_that_is_cut_off_while_it_is_mapped(way, tmp_path):
    path = tmp_path / "x.npy"
    np.save(path, np.random.default_rng(3).random((20_000, 8), dtype=np.float32))
    done = subprocess.run([sys.executable, "-c", CUT, path, way], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == (5 if way == "read" else 6)
    assert all("cut off" in line for line in lines), lines


FORK = """
import os, signal, sys, threading, time
import numpy as np
import manymeans
begun = threading.Event()

class Slow:
    def find_spec(self, name, path=None, target=None):
        if name == "sklearn.base":
            begun.set()
            time.sleep(1)

sys.meta_path.insert(0, Slow())
X = np.arange(40.0).reshape(20, 2)
thread = threading.Thread(target=lambda: manymeans.KMeans(2, random_state=0).fit(X))
thread.start()
begun.wait()
process = os.fork()
if process == 0:
    signal.alarm(120)
    manymeans.KMeans(2, random_state=0).fit(X)
    manymeans.fit(X, 2)
    os._exit(0)
thread.join()
print(os.waitpid(process, 0)[1])
"""


def test_a_fork_while_another_thread_fits_for_the_first_time():
    done = subprocess.run([sys.executable, "-c", FORK], capture_output=True, text=True, check=False)
    assert done.stdout == "0\n", done.stderr


def test_no_import_is_left_for_the_first_fit():
    fits = "manymeans.KMeans(2, random_state=0).fit(X); manymeans.EnsembleKMeans(2, random_state=0).fit(X).predict(X)"
    code = (
        "import sys, numpy as np, manymeans; X = np.arange(40.0).reshape(20, 2); manymeans.KMeans, "
        "manymeans.EnsembleKMeans; before = set(sys.modules); manymeans.fit(X, 2); " + fits + "; "
        "print(sorted(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "[]\n", done.stdout + done.stderr
