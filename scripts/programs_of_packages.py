#!/usr/bin/env python3
"""A folder with links to the programs of Debian's base system, of some packages and of all that they depend on.

    programs_of_packages.py FOLDER PACKAGE...

prints the folder's absolute path, to be used as PATH. A program from anywhere else (/usr/local, another package that
happens to be installed) is not found there, so whoever needs it without installing it notices.
"""

import pathlib
import shutil
import subprocess
import sys

PLACES = ["/usr/sbin", "/usr/bin", "/sbin", "/bin"]


def lines_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


def installed_packages():
    """Each installed package and whether every Debian system has it, however small."""
    form = "${Package} ${db:Status-Status} ${Essential} ${Priority}\n"
    fields = map(str.split, lines_of("dpkg-query", "--show", "--showformat", form))
    return {name: "yes" in rest or "required" in rest or name == "apt" for name, *rest in fields if "installed" in rest}


def with_dependencies(packages):
    """The packages and what they depend on, by name, those too that something else provides."""
    no = ["--no-" + relation for relation in ("recommends", "suggests", "conflicts", "breaks", "replaces", "enhances")]
    depends = lines_of("apt-cache", "depends", "--recurse", "--installed", *no, *packages)
    return {line for line in depends if line[0] not in " |<"}


def programs(packages):
    """Programs by name. One that update-alternatives chose belongs to the package of the file it leads to."""
    files = set(lines_of("dpkg-query", "--listfiles", *sorted(packages)))
    return {path.name: path.resolve() for place in PLACES for path in pathlib.Path(place).iterdir()
            if str(path) in files or (path.is_symlink() and "/etc/alternatives" in str(path.readlink())
                                      and str(path.resolve()) in files)}


def main():
    folder = pathlib.Path(sys.argv[1]).resolve()
    installed = installed_packages()
    wanted = [name for name, base in installed.items() if base] + sys.argv[2:]
    links = programs(with_dependencies(wanted) & installed.keys())
    shutil.rmtree(folder, ignore_errors=True)  # now: this folder may be the PATH that found dpkg-query
    folder.mkdir(parents=True)
    for name, path in links.items():
        (folder / name).symlink_to(path)
    print(folder)


if __name__ == "__main__":
    main()
