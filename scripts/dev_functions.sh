# What the commands of ./dev have in common. They source it, in the root of the tree.
# shellcheck shell=bash disable=SC2034
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
venv=$root/.venv
deps=$root/build/deps # what ./dev deps --unpack leaves
bench_venv=$root/.venv-bench

say() { printf '== %s\n' "$*"; }
fail() {
  printf 'dev: %s\n' "$*" >&2
  exit 1
}

# --- System packages: "package:what shows that it is there", a program or a header -----------------------------------
tool_needs=(g++:g++ cmake:cmake ninja-build:ninja)
cache_needs=(ccache:ccache) # what demo, tests, wheel and packages share is compiled once
library_needs=(libfmt-dev:fmt/core.h zlib1g-dev:zlib.h libhwy-dev:hwy/highway.h
  librandom123-dev:Random123/philox.h libxxhash-dev:xxhash.h libfast-float-dev:fast_float/fast_float.h
  nlohmann-json3-dev:nlohmann/json.hpp libcli11-dev:CLI/CLI.hpp)
file_needs=(libhdf5-dev:/usr/include/hdf5/serial/hdf5.h libdeflate-dev:libdeflate.h # more formats, faster .gz
  libzstd-dev:zstd.h liblzma-dev:lzma.h libbz2-dev:bzlib.h) # .zst, .xz, .bz2
mpi_needs=(libopenmpi-dev:mpicxx openmpi-bin:mpirun) # ranks for the program
opencl_needs=(opencl-c-headers:CL/cl.h) # the OpenCL backend, which looks for a driver when it is used
build_needs=("${tool_needs[@]}" "${cache_needs[@]}" "${library_needs[@]}" "${file_needs[@]}" "${opencl_needs[@]}" "${mpi_needs[@]}")
test_needs=(libgtest-dev:gtest/gtest.h librapidcheck-dev:rapidcheck.h libgmp-dev:gmpxx.h pkgconf:pkg-config)
# A loader and a driver for processors, so that tests run the OpenCL backend; without them they are skipped.
driver_needs=(ocl-icd-libopencl1:"/usr/lib/$(uname -m)-linux-gnu/libOpenCL.so.1" pocl-opencl-icd:/etc/OpenCL/vendors/pocl.icd)
package_needs=(dpkg-dev:dpkg-shlibdeps)
# libFuzzer is in a package of its own, which clang only recommends.
fuzz_needs=(clang:clang++ libclang-rt-dev:libclang_rt.fuzzer)
cross_needs=(g++-aarch64-linux-gnu:aarch64-linux-gnu-g++ qemu-user:qemu-aarch64)
lint_needs=(git:git)
browser_needs=(chromium:chromium fonts-dejavu-core:/usr/share/fonts/truetype/dejavu) # of docs --check alone: 400 MB
bindings_needs=(python3-dev:PYTHON_HEADERS)
python_needs=(python3:python3 python3-venv:ensurepip ca-certificates:/etc/ssl/certs/ca-certificates.crt)

present() {
  case $1 in
    /*) [ -e "$1" ] ;;
    PYTHON_HEADERS) [ -e "$(python3 -c 'import sysconfig; print(sysconfig.get_path("include"))' 2>/dev/null)/Python.h" ] ;;
    libclang_rt.fuzzer) compgen -G "/usr/lib/llvm-*/lib/clang/*/lib/linux/libclang_rt.fuzzer-$(uname -m).a" >/dev/null ;;
    ensurepip) python3 -c 'import ensurepip, venv' 2>/dev/null ;;
    *.h | *.hpp)
      local folder
      for folder in /usr/local/include {,"$deps"}/usr/include{,"/$(uname -m)-linux-gnu"}; do
        [ -e "$folder/$1" ] && return 0
      done
      return 1
      ;;
    *) command -v "$1" >/dev/null ;;
  esac
}

need_driver() {
  (need_packages "${driver_needs[@]}") || say "the OpenCL backend will not be tested: there is no driver"
}

need_packages() {
  local need missing=()
  for need in "$@"; do
    present "${need#*:}" || missing+=("${need%%:*}")
  done
  [ ${#missing[@]} -eq 0 ] || install_packages "${missing[@]}"
}

install_packages() {
  local as_root=()
  command -v apt-get >/dev/null || fail "this machine has no apt-get; install what Debian calls: $*"
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || fail "neither root nor sudo; have these packages installed: $*"
    as_root=(sudo)
  fi
  say "installing packages: $*"
  local apt=(${as_root[@]+"${as_root[@]}"} env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=600)
  if ! { "${apt[@]}" update && "${apt[@]}" install -y --no-install-recommends "$@" >/dev/null; }; then
    fail "apt-get failed; these packages are missing: $*"
  fi
}

# --- Python tools --------------------------------------------------------------------------------------------------
# need_python WHAT [ENVIRONMENT]: what scripts/WHAT or the package WHAT needs, in .venv/, in the versions and files that
# scripts/requirements.lock pins; fails where that cannot be had.
need_python() {
  local folder=${2:-$venv} missing
  local python=$folder/bin/python
  if "$python" scripts/locked.py --missing "$1" >/dev/null 2>&1; then return; fi
  (need_packages "${python_needs[@]}") || return 1
  if ! "$python" -m pip --version >/dev/null 2>&1; then
    rm -rf "$folder"
    python3 -m venv "$folder" || return 1
  fi
  missing=$("$python" scripts/locked.py --missing "$1") || true
  say "installing into ${folder##*/}/: $(grep -o '^[^ ]*==[^ ]*' <<<"$missing" | tr '\n' ' ')"
  "$python" -m pip install "${pip_flags[@]}" --no-deps --require-hashes -r /dev/stdin <<<"$missing"
}
pip_flags=(--quiet --disable-pip-version-check --retries 2)

# --- Building ------------------------------------------------------------------------------------------------------
# Two runs of this script wait for each other while they install or build.
lock() {
  mkdir -p build
  exec 9>build/.lock
  flock -n 9 || { say "waiting for another ./dev in this folder" && flock 9; }
}
unlock() { exec 9>&-; }

# Build folders and clones of this tree share what ccache keeps: neither their paths nor that of the build count.
use_ccache() {
  if command -v ccache >/dev/null; then
    export CMAKE_CXX_COMPILER_LAUNCHER=ccache CMAKE_CUDA_COMPILER_LAUNCHER=ccache CCACHE_BASEDIR=$root CCACHE_NOHASHDIR=1 \
      CCACHE_SLOPPINESS=pch_defines,time_macros
  fi
}

# configure PRESET [CMAKE ARGS]
configure() {
  local preset=$1 log=build/$1.configure.log more=()
  shift
  use_ccache
  if [ -d "$deps/usr" ]; then more+=("-DCMAKE_PREFIX_PATH=$deps/usr"); fi
  cmake --preset "$preset" ${more[@]+"${more[@]}"} "$@" >"$log" 2>&1 || {
    cat "$log" >&2
    fail "cmake could not configure preset $preset"
  }
}

# build_preset PRESET [CMAKE ARGS]
build_preset() {
  say "building preset $1 in build/$1"
  configure "$@"
  cmake --build --preset "$1" --parallel "$(nproc)"
}

# build_release [PYTHON]: one whose pyarrow has Arrow C++. Without it a program must not need .venv/; lint sets it, too.
build_release() {
  lock
  need_packages "${build_needs[@]}"
  build_preset release -DMANYMEANS_BINDINGS=OFF "-DMANYMEANS_ARROW_PYTHON=${1:-}"
  unlock
}

# The Python of the tests, for CMake: those of the Python package, or at least the comparisons with others.
python_arguments=()
need_python_of_tests() {
  if need_python requirements-python.txt && (need_packages "${bindings_needs[@]}"); then
    python_arguments=("-DMANYMEANS_PYTHON=$venv/bin/python" -DMANYMEANS_BINDINGS=ON
      "-DPython_EXECUTABLE=$venv/bin/python" "-DMANYMEANS_ARROW_PYTHON=$venv/bin/python")
    return
  fi
  printf '\n*** What the Python package needs cannot be installed here: ITS TESTS ARE LEFT OUT. ***\n\n' >&2
  python_arguments=(-DMANYMEANS_PYTHON= -DMANYMEANS_BINDINGS=OFF -DMANYMEANS_ARROW_PYTHON=)
  if need_python requirements-peers.txt; then
    python_arguments=("-DMANYMEANS_PYTHON=$venv/bin/python" -DMANYMEANS_BINDINGS=OFF -DMANYMEANS_ARROW_PYTHON=)
  else
    printf '\n*** NumPy and scikit-learn cannot be installed here: THE TESTS AGAINST THEM ARE LEFT OUT. ***\n\n' >&2
  fi
}

# with_cuda: lets configure dev compile the CUDA parts too, where there is an nvcc; says so where there is none. Machine
# code for other GPUs than Hopper's doubles the time of the kernels, so a machine without a GPU does not make it.
cuda_arguments=()
with_cuda() {
  local nvcc
  nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
  if [ ! -x "$nvcc" ]; then
    printf '\n*** There is no nvcc (CUDA 12.4 or newer) here: THE CUDA CODE IS NOT COMPILED. ***\n\n' >&2
    return 1
  fi
  cuda_arguments+=(-DMANYMEANS_CUDA=ON "-DCMAKE_CUDA_COMPILER=$nvcc")
  [ -e /dev/nvidiactl ] || cuda_arguments+=(-DCMAKE_CUDA_ARCHITECTURES=90a)
}

# compile_cuda TARGETS: builds them with the CUDA parts.
compile_cuda() {
  with_cuda || return 0
  say "compiling the CUDA code in build/dev: $*"
  configure dev "${cuda_arguments[@]}"
  cmake --build --preset dev --parallel "$(nproc)" --target "$@"
}

# Whether the arguments ask for a backend that only the CUDA build has.
asks_for_cuda() {
  [[ " $* " == *" --backend cuda "* || " $* " == *" --backend=cuda "* ]]
}

need_lint_tools() {
  lock
  need_packages "${build_needs[@]}" "${lint_needs[@]}"
  need_python requirements-lint.txt || fail "the lint tools are needed and cannot be installed"
  need_python_of_tests # clang-tidy reads the extension module too
  unlock
}
