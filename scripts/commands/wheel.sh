#!/usr/bin/env bash
# wheel                 build the Python package into build/wheels/, for the python3 in PATH
# wheel --all           build what is published into build/wheels/: wheels for x86-64 and for 64-bit Arm, of Python 3.12 and
#                       newer, manymeans-cuda (where nvcc is; an hour) and the source; needs such a Python with its headers

# shellcheck source=scripts/dev_functions.sh
source "${BASH_SOURCE[0]%/commands/*}/dev_functions.sh"
# shellcheck source=scripts/cross_functions.sh
source "${BASH_SOURCE[0]%/commands/*}/cross_functions.sh"

made=build/wheels/made
tried=build/wheels/tried

# make_wheel ENVIRONMENT SOURCE BUILD: for the environment's Python and this machine's processor.
make_wheel() {
  say "building the wheel of $2"
  # The name by which CMake calls the compiler elsewhere, since ccache tells compilers apart by their names.
  CC=cc CXX=c++ "$1/bin/python" -m pip wheel "${pip_flags[@]}" --no-build-isolation --no-deps --wheel-dir "$made/$3" \
    --config-settings=build-dir="$root/build/$3" "$2"
  PATH=$1/bin:$PATH auditwheel repair --plat "manylinux_2_28_$(uname -m)" --wheel-dir build/wheels "$made/$3"/*.whl
}

# try_wheel PYTHON WHEEL: it holds all it needs, so where it is installed no -dev package has to be.
try_wheel() {
  say "installing it into $tried/"
  "$1" -m venv "$tried"
  need_python requirements-peers.txt "$root/$tried" || fail "NumPy and scikit-learn are needed and cannot be installed"
  "$tried/bin/python" -m pip install "${pip_flags[@]}" --no-deps "$2"
  PATH=$tried/bin:$PATH python -c 'import numpy as np; from manymeans import KMeans
print("digest", KMeans(2, random_state=0).fit(np.eye(5)).answer_)'
  "$tried/bin/manymeans" --version
  python3 scripts/check_artefacts.py --hardened --glibc=2.28 "$tried/bin/manymeans" "$tried"/lib/python*/site-packages/manymeans
}

# make_arm_wheel ENVIRONMENT: by a cross compiler; what Python's headers say of x86-64 is true of 64-bit Arm too. Then the
# program of the wheel fits in qemu.
make_arm_wheel() {
  local unpacked=build/wheels/arm
  need_packages "${cross_needs[@]}"
  unpack_arm_libraries
  say "building the wheel for 64-bit Arm"
  _PYTHON_HOST_PLATFORM=manylinux_2_28_aarch64 \
    CMAKE_ARGS="-DCMAKE_TOOLCHAIN_FILE=$root/cmake/aarch64.cmake -DPython_INCLUDE_DIR=$(headers_of "$1/bin/python")" \
    "$1/bin/python" -m pip wheel "${pip_flags[@]}" --no-build-isolation --no-deps --wheel-dir build/wheels \
    --config-settings=build-dir=build/wheel-aarch64 .
  python3 -m zipfile --extract build/wheels/*_aarch64.whl "$unpacked"
  python3 scripts/check_artefacts.py --hardened --glibc=2.28 "$unpacked"
  chmod +x "$unpacked"/*.data/scripts/manymeans # else qemu ends without a word
  qemu-aarch64 -L /usr/aarch64-linux-gnu "$unpacked"/*.data/scripts/manymeans fit data/s1.txt.gz -k 15
}

# make_cuda_wheel ENVIRONMENT: with code for the GPUs that python/cuda/pyproject.toml names.
make_cuda_wheel() {
  with_cuda || return 0
  CMAKE_ARGS="-DCMAKE_CUDA_COMPILER=${cuda_arguments[1]#*=}" make_wheel "$1" python/cuda wheel-cuda
  "$tried/bin/python" -m pip install "${pip_flags[@]}" --no-deps build/wheels/manymeans_cuda*.whl
  "$tried/bin/python" -c 'from manymeans import _manymeans, info; print(_manymeans.__file__, *info()["backends"], sep="\n")'
  "$tried/bin/manymeans" fit data/s1.txt.gz -k 15 --backend cuda || [ $? -eq 4 ] # where there is no device
  python3 scripts/check_artefacts.py --hardened --glibc=2.28 "$tried"/lib/python*/site-packages/manymeans_cuda "$tried/lib/manymeans"
  make_cuda_deb "$tried"/lib/manymeans/manymeans-cuda-*
}

# make_cuda_deb PROGRAM: the same program, for the package of ./dev deb.
make_cuda_deb() {
  local tree=build/wheels/deb version=${1##*-}
  install -D -m 755 -t "$tree/usr/lib/manymeans" "$1"
  install -D -m 644 LICENSE "$tree/usr/share/doc/manymeans-cuda/copyright"
  mkdir "$tree/DEBIAN"
  printf '%s\n' "Package: manymeans-cuda" "Version: $version" "Architecture: $(dpkg --print-architecture)" "Section: math" \
    "Depends: manymeans (= $version), libc6 (>= 2.28), zlib1g" "Maintainer: the manymeans developers" \
    "Description: The program manymeans with the CUDA backend, which the program starts." >"$tree/DEBIAN/control"
  dpkg-deb --root-owner-group --build "$tree" build/wheels
}

headers_of() { "$1" -c 'import sysconfig; print(sysconfig.get_path("include"))'; }

# The interface that later Pythons keep begins with 3.12.
new_python() {
  local python
  for python in python3 python3.1{2..9} "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.1[2-9]*/bin/python3; do
    if "$python" -c 'import sys; sys.exit(sys.version_info < (3, 12))' 2>/dev/null && [ -e "$(headers_of "$python")/Python.h" ]; then
      echo "$python"
      return
    fi
  done
  fail "--all needs a Python 3.12 or newer with its headers (Python.h), in PATH or from pyenv"
}

main() {
  local python=python3 environment=$venv
  [ "${*:---all}" = --all ] || fail "wheel takes nothing or --all; see ./dev help"
  lock
  need_packages "${build_needs[@]}" "${bindings_needs[@]}"
  rm -rf build/wheels
  use_ccache
  if [ $# -gt 0 ]; then
    python=$(new_python)
    environment=$root/build/wheels/environment
    "$python" -m venv "$environment"
    need_python requirements-publish.txt "$environment" || fail "Python packages are needed and cannot be installed"
  fi
  need_python requirements-wheel.txt "$environment" || fail "Python packages are needed and cannot be installed"
  make_wheel "$environment" . wheel
  try_wheel "$python" build/wheels/*.whl
  if [ $# -gt 0 ]; then
    make_cuda_wheel "$environment"
    make_arm_wheel "$environment"
    "$environment/bin/python" -c 'from scikit_build_core.build import build_sdist as build; print(build("build/wheels"))'
    "$environment/bin/twine" check build/wheels/*.whl build/wheels/*.tar.gz
  fi
  unlock
  find build/wheels -maxdepth 1 -type f -printf '%k KiB  %p\n'
}

main "$@"
