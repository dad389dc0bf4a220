"""The include rule: which folder may include which. src/README.md explains it; this file is the rule.

    core <- comm <- data <- prototype <- {io, backend} <- {init, optimal} <- engine <- regress <- report <- public API <- {cli, examples, python}
    {core, backend} <- product <- public API

Inside a folder that has folders the same holds for these: FOLDERS names them, lowest first.
"""

import re

# Folders of src/backend/ that drive one kind of hardware each: nobody outside of one includes it.
BACKENDS = ["reference", "cpu", "cuda", "opencl"]

# Folders of src/ by height: a folder includes itself and what stands lower.
HEIGHT = {"core": 0, "comm": 1, "data": 2, "prototype": 3, "io": 4, "backend": 4, "init": 5, "optimal": 5, "engine": 6, "regress": 7, "report": 8}

# product/ multiplies matrices. It includes all of core and the headers of backend/ itself. Each of its folders includes
# these folders of backend/, too.
OF_PRODUCT = {
    ".": [],
    "cpu": ["cpu/kernels"],
    "cuda": ["device", "cuda/runtime", "cuda/tensor"],
}

# Folders inside one of these, lowest first: a file includes its own folder's and those of lower ones. "." is the outer folder itself.
FOLDERS = {
    "src/core": ["os", "."],
    "src/backend": [".", "deduplicated", "balanced", "joined", "sharded", "remote", "device", "composite", *BACKENDS],
    "src/backend/cpu": ["kernels", "sums", "screen", "tree", "choose", "pass", "sparse", "."],
    "src/backend/cuda": [
        "runtime",
        "device",
        "exact",
        "margins",
        "float32",
        "tensor",
        "bounding_boxes",
        "persistent",
        "points",
        "queries",
        "pass",
        "problems",
        "linear",
        ".",
    ],
    "src/backend/opencl": ["kernels", "runtime", "tree", "pass", "problems", "linear", "."],
    "src/io": ["files", "table", "text", "binary", "numpy", "arrow", "hdf5", "results"],
    "product": list(OF_PRODUCT),
    "cli": ["streams", "ranks", "output", "flags", "fitting", "commands", "."],
}

# Public headers that are vocabulary for every folder of src/. io.h and summary.h speak of files and their columns, so only
# these folders see them.
VOCABULARY = {
    "choose.h",
    "comm.h",
    "compare.h",
    "consensus.h",
    "criteria.h",
    "error.h",
    "models_by_k.h",
    "points.h",
    "optimal_1d.h",
    "options.h",
    "result.h",
    "fit.h",
    "fit_each.h",
    "info.h",
    "pass_counts.h",
    "regress.h",
    "row_shards.h",
    "search.h",
    "sparse.h",
    "tree.h",
}
ROOMS_OF_IO_H = {"data", "io", "report"}

# Public headers that are about another library: who includes them has it.
OF_OTHERS = [["mpi.h", "mpi.h"]]

# Folders that use the library from outside. The program includes src/core/os/, too.
USERS = {"cli", "examples", "python"}

INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)', re.MULTILINE)
SOURCE_ENDINGS = (".h", ".cpp", ".inc", ".cu", ".cuh")


def violations(path, text):
    """What is wrong with the includes of the file `path` (relative to the root), as sentences."""
    if not path.endswith(SOURCE_ENDINGS):
        return []
    parts = path.split("/")
    found = []
    for match in INCLUDE.finditer(text):
        quoted, angled = match.groups()
        if parts[:2] == ["include", "manymeans"]:
            problem = public_header(parts[-1], quoted, angled)
        elif parts[0] == "src":
            problem = folder(parts[1:], quoted, angled) or upwards(path, quoted and "src/" + quoted)
        elif parts[0] == "product":
            problem = product(path, quoted, angled) or upwards(path, quoted)
        elif parts[0] in USERS and not (parts[0] == "cli" and quoted and quoted.startswith("core/os/")):
            problem = user(parts[0], quoted, angled) or upwards(path, quoted and parts[0] + "/" + quoted)
        else:
            problem = None
        if problem:
            line = text.count("\n", 0, match.start(1 if quoted else 2)) + 1
            found.append(f"{path}:{line}: includes {quoted or angled}: {problem}")
    return found


def public_header(own, quoted, angled):
    if angled and [own, angled] in OF_OTHERS:
        return None
    if quoted or not (angled.startswith("manymeans/") or re.fullmatch(r"[a-z_0-9]+", angled)):
        return "a public header includes only <manymeans/...> and the standard library"
    return None


def user(own, quoted, angled):
    if own in FOLDERS:
        if quoted and quoted.split("/")[0] not in FOLDERS[own]:
            return f'write the path from {own}/, such as "{FOLDERS[own][0]}/a.h"; else only <manymeans/...>'
    elif quoted and "/" in quoted:
        return "from outside the library only <manymeans/...> and files of the same folder may be included"
    if angled and angled.split("/")[0] in HEIGHT:
        return "from outside the library only <manymeans/...> may be included"
    return None


def folder(parts, quoted, angled):
    own = parts[0]
    if own not in HEIGHT:
        return f"src/{own}/ is not in the include rule; add it to scripts/include_rule.py"
    if angled:
        return public_use(own, angled)
    target = quoted.split("/")
    if target[0] == "registry":
        return None
    if len(target) == 1 or target[0] not in HEIGHT:
        return 'write the path from src/, such as "core/digest.h"'
    if target[0] == "backend":
        problem = backend_use(parts, target)
        if problem:
            return problem
    if target[0] != own and (HEIGHT[target[0]] >= HEIGHT[own]):
        return f"{own} may include only what stands below it"
    return None


def product(path, quoted, angled):
    if angled:
        return None if angled == "manymeans/multiply.h" else public_use("product", angled)
    own = folder_in("product", path)
    if quoted.startswith("product/"):
        ours = folder_in("product", quoted) in (".", own)
        return None if ours else f"no file outside product/{folder_in('product', quoted)}/ includes it"
    place = "/".join(quoted.split("/")[1:-1])
    if quoted.startswith("core/") or (quoted.startswith("backend/") and place in ["", *OF_PRODUCT.get(own, [])]):
        return None
    return "product includes core/, headers of backend/ itself, and what OF_PRODUCT in scripts/include_rule.py lists"


def public_use(own, angled):
    if not angled.startswith("manymeans/"):
        return "write folders of src/ in quotes" if angled.split("/")[0] in HEIGHT else None
    header = angled.split("/")[1]
    of_io = {"io.h", "json.h", "mapped_files.h", "model_file.h", "summary.h", "terms.h", "choose_columns.h", "label_table.h", "report.h",
             "sparse_file.h"}
    if header in VOCABULARY or (header in of_io and own in ROOMS_OF_IO_H):
        return None
    return f"{own} may use only the vocabulary of the public headers"


def upwards(path, included):
    """Say which order of FOLDERS an include of `path` breaks, if any."""
    if not included:
        return None
    for outer, order in FOLDERS.items():
        own, other = folder_in(outer, path), folder_in(outer, included)
        if own and own not in order:
            return f"{outer}/{own}/ has no place in FOLDERS of scripts/include_rule.py; give it one"
        if own and other and (other not in order or order.index(other) > order.index(own)):
            return f"in {outer}, {own} may include only " + ", ".join(order[: order.index(own) + 1])
    return None


def folder_in(outer, path):
    """The folder inside `outer` in which the file lies, "." for `outer` itself; None where it lies elsewhere."""
    if not path.startswith(outer + "/"):
        return None
    below = path[len(outer) + 1 :].split("/")
    return below[0] if len(below) > 1 else "."


def backend_use(parts, target):
    own_folder = parts[1] if parts[0] == "backend" and len(parts) > 2 else None
    target_folder = target[1] if len(target) > 2 else None
    if target_folder in BACKENDS and target_folder != own_folder:
        return "no file outside a backend's folder includes it; speak to backend/backend.h"
    if parts[0] == "init" and target not in (["backend", "backend.h"], ["backend", "make_seeding.h"]):
        return "init reaches hardware only through backend/backend.h and make_seeding.h"
    return None


# (file, include line, allowed): the rule's own test.
EXAMPLES = [
    ("src/core/a.h", '#include "core/b.h"', True),
    ("src/core/a.h", "#include <manymeans/points.h>", True),
    ("src/core/a.h", "#include <manymeans/io.h>", False),
    ("src/core/a.h", '#include "data/input.h"', False),
    ("src/core/a.h", "#include <data/input.h>", False),
    ("src/core/a.h", '#include "b.h"', False),
    ("src/data/a.cpp", "#include <manymeans/io.h>", True),
    ("src/io/table/a.cpp", "#include <manymeans/io.h>", True),
    ("src/prototype/a.cpp", '#include "io/table/b.h"', False),
    ("src/prototype/a.cpp", '#include "backend/backend.h"', False),
    ("src/backend/reference/a.cpp", '#include "prototype/prototype.h"', True),
    ("src/io/table/a.cpp", '#include "registry/reader.inc"', True),
    ("src/io/table/a.cpp", "#include <fmt/format.h>", True),
    ("src/comm/a.cpp", '#include "core/b.h"', True),
    ("src/comm/a.cpp", '#include "data/input.h"', False),
    ("src/comm/a.cpp", '#include "backend/backend.h"', False),
    ("src/data/a.cpp", '#include "comm/a.h"', True),
    ("src/io/files/a.cpp", '#include "io/files/b.h"', True),
    ("src/io/files/a.cpp", '#include "io/table/b.h"', False),
    ("src/io/table/a.cpp", '#include "io/files/b.h"', True),
    ("src/io/attic/a.cpp", '#include "io/attic/b.h"', False),
    ("src/backend/cpu/a.cpp", '#include "backend/backend.h"', True),
    ("src/backend/cpu/a.cpp", '#include "backend/cpu/pass/b.h"', True),
    ("src/backend/cpu/pass/a.cpp", '#include "backend/backend.h"', True),
    ("src/backend/cpu/pass/a.cpp", '#include "backend/cpu/kernels/b.h"', True),
    ("src/backend/cpu/kernels/a.cpp", '#include "backend/cpu/pass/b.h"', False),
    ("src/backend/cpu/pass/a.cpp", '#include "backend/cpu/b.h"', False),
    ("src/backend/cpu/pass/a.cpp", '#include "backend/deduplicated/b.h"', True),
    ("src/backend/deduplicated/a.cpp", '#include "backend/backend.h"', True),
    ("src/backend/deduplicated/a.cpp", '#include "backend/cpu/b.h"', False),
    ("src/backend/cuda/pass/a.cpp", '#include "backend/device/b.h"', True),
    ("src/backend/device/a.cpp", '#include "backend/cuda/pass/b.h"', False),
    ("src/backend/a.cpp", '#include "backend/deduplicated/b.h"', False),
    ("src/backend/sharded/a.cpp", '#include "prototype/b.h"', True),
    ("src/backend/sharded/a.cpp", '#include "backend/cpu/b.h"', False),
    ("src/prototype/a.cpp", '#include "backend/backend.h"', False),
    ("src/backend/cpu/a.cpp", '#include "backend/reference/b.h"', False),
    ("src/backend/cpu/a.cpp", '#include "io/reader.h"', False),
    ("src/backend/cpu/a.cpp", '#  include "engine/lloyd.h"', False),
    ("src/backend/backend.cpp", '#include "backend/cpu/b.h"', False),
    ("src/init/a.cpp", '#include "backend/backend.h"', True),
    ("src/init/a.cpp", '#include "backend/make_seeding.h"', True),
    ("src/init/a.cpp", '#include "backend/devices.h"', False),
    ("src/init/a.cpp", '#include "engine/lloyd.h"', False),
    ("src/engine/a.cpp", '#include "backend/devices.h"', True),
    ("src/engine/a.cpp", '#include "backend/deduplicated/b.h"', True),
    ("src/engine/a.cpp", '#include "backend/cpu/b.h"', False),
    ("src/engine/a.cpp", "#include <manymeans/manymeans.h>", False),
    ("src/attic/a.cpp", '#include "core/b.h"', False),
    ("src/engine/a.cpp", '#include "product/b.h"', False),
    ("src/engine/a.cpp", "#include <manymeans/multiply.h>", False),
    ("product/a.cpp", "#include <manymeans/multiply.h>", True),
    ("product/a.cpp", "#include <manymeans/io.h>", False),
    ("product/a.cpp", "#include <fmt/format.h>", True),
    ("product/a.cpp", '#include "core/b.h"', True),
    ("product/a.cpp", '#include "b.h"', False),
    ("product/a.cpp", '#include "backend/b.h"', True),
    ("product/a.cpp", '#include "engine/b.h"', False),
    ("product/a.cpp", '#include "product/cpu/b.h"', False),
    ("product/a.cpp", '#include "backend/cpu/kernels/b.h"', False),
    ("product/cpu/a.cpp", '#include "product/b.h"', True),
    ("product/cpu/a.cpp", '#include "backend/cpu/kernels/b.h"', True),
    ("product/cpu/a.cpp", '#include "backend/cpu/pass/b.h"', False),
    ("product/cpu/a.cpp", '#include "backend/cuda/runtime/b.h"', False),
    ("product/cuda/a.cu", '#include "backend/cuda/runtime/b.h"', True),
    ("product/cuda/a.cu", '#include "backend/cuda/pass/b.h"', False),
    ("product/cuda/a.cu", '#include "product/cpu/b.h"', False),
    ("product/cuda/a.cu", "#include <core/b.h>", False),
    ("product/attic/a.cpp", '#include "core/b.h"', False),
    ("cli/a.cpp", "#include <manymeans/manymeans.h>", True),
    ("cli/a.cpp", '#include "flags/b.h"', True),
    ("cli/flags/a.cpp", '#include "flags/b.h"', True),
    ("cli/flags/a.cpp", '#include "b.h"', False),
    ("cli/flags/a.cpp", '#include "streams/b.h"', True),
    ("cli/flags/a.cpp", '#include "commands/b.h"', False),
    ("cli/a.cpp", '#include "core/b.h"', False),
    ("cli/ranks/a.cpp", '#include "core/os/b.h"', True),
    ("src/core/os/a.cpp", '#include "core/b.h"', False),
    ("python/bindings/a.cpp", '#include "b.h"', True),
    ("python/bindings/a.cpp", '#include "core/b.h"', False),
    ("examples/a.cpp", '#include "../src/core/b.h"', False),
    ("include/manymeans/a.h", "#include <vector>", True),
    ("include/manymeans/a.h", "#include <fmt/format.h>", False),
    ("include/manymeans/a.h", "#include <mpi.h>", False),
    ("include/manymeans/mpi.h", "#include <mpi.h>", True),
    ("include/manymeans/a.h", '#include "core/b.h"', False),
]


def self_test():
    """Examples that the rule judges wrongly, as sentences; none when it works."""
    return [
        f"include rule: {path} with {line} should be {'allowed' if allowed else 'refused'}"
        for path, line, allowed in EXAMPLES
        if (violations(path, "// banner\n" + line + "\n") == []) != allowed
    ]
