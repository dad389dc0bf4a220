#!/usr/bin/env python3
"""Projects that use manymeans, built and run as their authors would: examples/cmake/ with quick_start.cpp beside.

    downstream.py installed WORK --source S --build B --cmake C --compiler CXX
        Installs the build B, moves what was installed, and uses it: by find_package, by pkg-config, the program.
    downstream.py add_subdirectory WORK ...
        A project has this tree inside it. It would compile the library's files and no others. Its own program is
        compiled as it says. The program is linked with the library of the build B.
    downstream.py add_subdirectory_compiled WORK ...
        The same project compiles the library. This takes minutes.
    downstream.py public_headers WORK ...
        Compiles every public header alone, with nothing but include/ and the compiler's own folders.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

PRINTED = re.compile(r"inertia 2\.666667 after \d+ iterations.*digest [0-9a-f]{32}", re.DOTALL)


def run(*command, **options):
    """Standard output of a command that must succeed."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)
    if done.returncode != 0:
        words = " ".join(map(str, command))
        sys.exit(f"failed with {done.returncode}: {words}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}")
    return done.stdout


def check_program(program, **options):
    """The example must print what it prints inside this tree."""
    printed = run(program, **options)
    if not PRINTED.search(printed):
        sys.exit(f"{program} printed:\n{printed}")
    print(f"{program}: {printed.splitlines()[-1]}")


def project(arguments, name):
    """A folder with the example's two files."""
    folder = arguments.work / name
    folder.mkdir()
    shutil.copy(arguments.source / "examples/cmake" / name / "CMakeLists.txt", folder)
    shutil.copy(arguments.source / "examples/quick_start.cpp", folder)
    return folder


def configure(arguments, folder, *definitions):
    build = folder / "build"
    compiler = f"-DCMAKE_CXX_COMPILER={arguments.compiler}"
    run(arguments.cmake, "-G", "Ninja", "-S", folder, "-B", build, compiler, *definitions)
    return build


def configure_and_build(arguments, folder, *definitions):
    build = configure(arguments, folder, *definitions)
    run(arguments.cmake, "--build", build, "--parallel", os.cpu_count())
    return build / "quick_start"


def install(arguments):
    """Where the build was installed to, and then moved: nothing in it may know the first place."""
    first, root = arguments.work / "first", arguments.work / "root"
    run(arguments.cmake, "--install", arguments.build, "--prefix", first)
    first.rename(root)
    for path in root.rglob("*"):
        if path.suffix not in {".cmake", ".pc"}:
            continue
        # The build of the tests links the Arrow libraries inside pyarrow, wherever that is; no other build does.
        text = re.sub(r"[^;: \"]*/pyarrow(/[^;: \"]*)?", "", path.read_text())
        if str(first) in text or str(arguments.source) in text:
            sys.exit(f"{path} names a folder of this machine")
    run(sys.executable, arguments.source / "scripts/check_artefacts.py", root)
    headers = {path.relative_to(root / "include").parts[0] for path in (root / "include").rglob("*.h")}
    page = root / "share/man/man1/manymeans.1"
    shells = ["bash-completion/completions/manymeans", "zsh/site-functions/_manymeans",
              "fish/vendor_completions.d/manymeans.fish"]
    for made in page, *(root / "share" / shell for shell in shells):
        flag = "-l clusters" if made.suffix == ".fish" else "--clusters"
        if flag not in made.read_text().replace("\\-", "-"):
            sys.exit(f"{made} does not know --clusters")
    if headers != {"manymeans"}:
        sys.exit(f"headers were installed into {sorted(headers)}; only manymeans/ is ours")
    return root


def use_pkg_config(arguments, root):
    """Both with and without --static: where the library is a static one, all it needs is public."""
    files = next(root.rglob("manymeans.pc"))
    environment = dict(os.environ, PKG_CONFIG_PATH=str(files.parent), LD_LIBRARY_PATH=str(files.parent.parent))
    for extra in [], ["--static"]:
        program = arguments.work / ("by_pkg_config" + "".join(extra))
        flags = run("pkg-config", *extra, "--cflags", "--libs", "manymeans", env=environment).split()
        source = arguments.source / "examples/quick_start.cpp"
        run(arguments.compiler, "-std=c++20", source, "-o", program, *flags, env=environment)
        check_program(program, env=environment)
        product, source = arguments.work / "exact_product", arguments.source / "examples/exact_product.cpp"
        run(arguments.compiler, "-std=c++20", source, "-o", product, *flags, env=environment)
        run(product, env=environment)  # it fails where the product is not exact
    version = run("pkg-config", "--modversion", "manymeans", env=environment).strip()
    if run(root / "bin/manymeans", "--version") != f"manymeans {version}\n":
        sys.exit(f"the installed program has another version than manymeans.pc, {version}")


def refuse_other_versions(arguments, root):
    """The next minor version may be anything: it must not be found under the wrong name."""
    folder = arguments.work / "other_version"
    folder.mkdir()
    (folder / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nproject(p LANGUAGES CXX)\nfind_package(manymeans 0.2 REQUIRED)\n")
    done = subprocess.run([arguments.cmake, "-G", "Ninja", "-S", folder, "-B", folder / "build",
                           f"-DCMAKE_PREFIX_PATH={root}"], capture_output=True, text=True, check=False)
    if done.returncode == 0 or "0.2" not in done.stderr:
        sys.exit("version 0.2 was asked for, and an other one was taken")


def test_installed(arguments):
    root = install(arguments)
    check_program(configure_and_build(arguments, project(arguments, "find_package"), f"-DCMAKE_PREFIX_PATH={root}"))
    refuse_other_versions(arguments, root)
    use_pkg_config(arguments, root)


def project_above(arguments):
    folder = project(arguments, "add_subdirectory")
    (folder / "manymeans").symlink_to(arguments.source, target_is_directory=True)
    return folder


def compiled(build):
    """The library's files that a build compiles, and all others."""
    library, others = set(), set()
    for entry in json.loads((build / "compile_commands.json").read_text()):
        file = pathlib.Path(entry["file"]).resolve()
        if re.search(r" -o \S*/(manymeans|manymeans_hopper_screen|manymeans_product|manymeans_product_hopper)\.dir/", entry["command"]):
            # Builds with tests have a kernel that never ends in the place of its stand-in.
            name = re.sub(r".*/(src|generated)/", "", str(file))
            library.add("endless_kernel" if "endless_kernel" in name else name)
        else:
            others.add(file.name)
    return library, others


def test_add_subdirectory(arguments):
    """Compiling the library takes minutes, and the tests' build has done it: only what is the project's own is built."""
    cache = (arguments.build / "CMakeCache.txt").read_text()
    told = re.findall(r"^(?:MANYMEANS_(?:ARROW_PYTHON|CUDA)|CMAKE_CUDA_(?:COMPILER|ARCHITECTURES)):.*", cache, re.MULTILINE)
    build = configure(arguments, project_above(arguments), *("-D" + line for line in told))
    library, others = compiled(build)
    if others:
        sys.exit(f"a project that uses the library also builds {sorted(others)}")
    if library != compiled(arguments.build)[0]:
        sys.exit(f"it compiles other files than the library's: {sorted(library ^ compiled(arguments.build)[0])}")
    *_, link = run("ninja", "-C", build, "-t", "commands", "quick_start").splitlines()
    run("ninja", "-C", build, "CMakeFiles/quick_start.dir/quick_start.cpp.o")
    for made in (arguments.build / "src").glob("libmanymeans.*"):
        shutil.copy(made, build / "manymeans/src", follow_symlinks=False)
    run("sh", "-c", link, cwd=build)
    check_program(build / "quick_start")


def test_add_subdirectory_compiled(arguments):
    # Nothing that costs time: only the plainest kernels, without optimisation. And nothing that only some machines
    # have: this test once took another way with ccache than without, which hid that the other failed.
    check_program(configure_and_build(arguments, project_above(arguments), "-DCMAKE_CXX_FLAGS=-O0",
                                      "-DMANYMEANS_PORTABLE=ON"))


def test_public_headers(arguments):
    """A header of somebody else would lie in /usr/include too, so its name is looked up among the standard's."""
    search = subprocess.run([arguments.compiler, "-E", "-v", "-x", "c++", "/dev/null"], capture_output=True, text=True,
                            check=True).stderr
    listed = re.search(r"#include <\.\.\.> search starts here:\n(.*?)End of search list", search, re.DOTALL).group(1)
    standard = [pathlib.Path(line.strip()) for line in listed.splitlines() if re.search(r"/c\+\+/\d+$", line.strip())]
    # mpi.h is for programs that have MPI, whichever; the tests of ranks compile it.
    headers = sorted(path for path in (arguments.source / "include/manymeans").glob("*.h") if path.name != "mpi.h")
    if not standard or not headers:
        sys.exit(f"nothing to look at: {standard}, {headers}")
    for header in headers:
        for name in re.findall(r"^\s*#\s*include\s*[<\"]([^>\"]+)", header.read_text(), re.MULTILINE):
            if not name.startswith("manymeans/") and not any((folder / name).is_file() for folder in standard):
                sys.exit(f"{header.name} includes <{name}>, which is not of the standard library")
        run(arguments.compiler, "-std=c++20", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-x", "c++", "-include",
            header, "-I", arguments.source / "include", "/dev/null")
        print(f"{header.name}: compiles by itself")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["installed", "add_subdirectory", "add_subdirectory_compiled", "public_headers"])
    parser.add_argument("work", type=pathlib.Path)
    for name in "source", "build":
        parser.add_argument("--" + name, type=pathlib.Path, required=True)
    for name in "cmake", "compiler":
        parser.add_argument("--" + name, required=True)
    arguments = parser.parse_args()
    shutil.rmtree(arguments.work, ignore_errors=True)
    arguments.work.mkdir(parents=True)
    globals()["test_" + arguments.what](arguments)
    shutil.rmtree(arguments.work)


if __name__ == "__main__":
    main()
