#!/usr/bin/env bash
# bench [ARGS]          compare with scikit-learn, scikit-learn-intelex, faiss and (long rows) SuperKMeans on this
#                       machine; --list says what
# bench founding [STUDY...] [ARGS]
#                       every table and figure of the five founding studies: plain programs, all backends that are here,
#                       scikit-learn, and the published numbers; --list says what; --backend cuda builds the CUDA
#                       programs, too; --programs FOLDER builds nothing (python3 with NumPy)
# bench gpu [ARGS]      the CUDA backend beside flash-kmeans, FlashLib, fastkmeans, torch, scikit-learn and the cpu backend,
#                       with the python3 in PATH that has them: times, shares proved, joules
# bench devices [ARGS]  fits on several GPUs beside fits on one, and three ways to add up over devices; digests are equal
# bench whole [ARGS]    whole jobs with default options beside all libraries that are here: points in memory to labels in
#                       memory, then predict; --backend cuda: on the GPU, with the python3 in PATH that has the peers
# bench search [ARGS]   the search for the best model beside breathing k-means, FLS++ and HG-means: how low each comes,
#                       and in how many seconds of one thread; --list says on which sets
# bench reading [ARGS]  a .csv.gz read by the Python package beside pyarrow's CSV reader, on the same processors
# bench regression [ARGS]  RegressionClustering beside a plain NumPy implementation: error reached, and seconds
# bench predict [ARGS]  predict, transform and small fits from Python beside scikit-learn, call by call in turns
# bench opencl [ARGS]   the OpenCL backend beside a plain OpenCL k-means on one device, a processor's or a GPU's
# bench ranks [ARGS]    ranks of one thread (mpirun) beside one process with as many threads; --ranks 16 says how many
# bench dask [ARGS]     a pass over dask workers beside the same pass in one process; --help: the arguments
# bench product [ARGS]  the exact matrix product beside NumPy's OpenBLAS; --backend cuda: beside cuBLAS on a GPU
# bench python [ARGS]   the Python package beside scikit-learn's KMeans: float64 beside float32, overhead, memory

# shellcheck source=scripts/dev_functions.sh
source "${BASH_SOURCE[0]%/commands/*}/dev_functions.sh"

# need_bench PACKAGE...: in an environment of their own, each by itself: one that cannot be had is left out.
need_bench() {
  local name
  for name in "$@"; do
    need_python "$name" "$bench_venv" || printf '\n*** %s CANNOT BE INSTALLED HERE. ***\n\n' "$name" >&2
  done
}

need_bench_peers() {
  # shellcheck disable=SC2046  # one word a package
  need_bench $(grep -o '^[a-z][a-z0-9_-]*' scripts/requirements-bench.txt)
  "$bench_venv/bin/python" -c 'import numpy' || fail "NumPy is needed and cannot be installed"
}

# bench_python SCRIPT [ARGS]: with the Python package and its peers
bench_python() {
  local script=$1
  shift
  lock
  need_packages "${build_needs[@]}" "${bindings_needs[@]}"
  need_bench_peers
  need_python requirements-wheel.txt "$bench_venv" || fail "Python packages are needed and cannot be installed"
  "$bench_venv/bin/python" -m pip install "${pip_flags[@]}" --no-build-isolation \
    --config-settings=build-dir=build/wheel --force-reinstall --no-deps .
  unlock
  "$bench_venv/bin/python" "bench/$script" "$@"
}

# The source of hgmeans holds C++ that an old Cython made of its .pyx, which Python 3.11 refuses; without that file it is
# made anew.
need_search_peers() {
  local python=$bench_venv/bin/python made=$root/build/hgmeans
  need_bench_peers
  need_bench flspp cython setuptools wheel
  if "$python" -c 'import hgmeans' 2>/dev/null; then return; fi
  say "building hgmeans into .venv-bench/"
  rm -rf "$made"
  mkdir -p "$made"
  if ! { "$python" -m pip download "${pip_flags[@]}" --no-deps --no-build-isolation --require-hashes --dest "$made" \
    -r <(awk '/^hgmeans==/, !/\\$/' scripts/requirements.lock) &&
    tar --extract --file "$made/hgmeans-3.0.tar.gz" --directory "$made" && rm "$made/hgmeans-3.0/hgmeans.cpp" &&
    "$python" -m pip install "${pip_flags[@]}" --no-build-isolation --no-deps "$made/hgmeans-3.0"; }; then
    printf '\n*** hgmeans CANNOT BE BUILT HERE. ***\n\n' >&2
  fi
}

bench_search() {
  lock
  need_packages "${build_needs[@]}" "${bindings_needs[@]}"
  need_search_peers
  unlock
  bench_python search.py "$@"
}

# Its peers need the machine's own torch, which fits its driver: no environment is made.
bench_gpu() {
  lock
  need_packages "${tool_needs[@]}" "${library_needs[@]}" python3:python3
  compile_cuda manymeans_cli cuda_passes repeated_fits
  unlock
  python3 bench/compare_gpu.py --out build/gpu-results "$@"
}

bench_devices() {
  lock
  need_packages "${tool_needs[@]}" "${library_needs[@]}" python3:python3
  compile_cuda repeated_fits device_exchange
  unlock
  build/dev/bin/device_exchange
  python3 bench/several_devices.py "$@"
}

# On the GPU without a network too: any python3 will do, and cuBLAS is the machine's.
bench_product() {
  if ! asks_for_cuda "$@"; then
    build_release
    cmake --build --preset release --parallel "$(nproc)" --target tiled_product
    bench_python product.py --tiled "$root/build/release/bin/tiled_product" "$@"
    return
  fi
  lock
  need_packages "${tool_needs[@]}" "${library_needs[@]}" python3:python3
  compile_cuda product_times
  unlock
  local arguments=()
  while [ $# -gt 0 ]; do
    case $1 in
      --backend) shift ;;
      --backend=*) ;;
      *) arguments+=("$1") ;;
    esac
    shift
  done
  python3 bench/product_gpu.py "${arguments[@]}"
}

# On the GPU the peers are those of the machine's own python3, and manymeans is the package of build/dev.
bench_whole() {
  if asks_for_cuda "$@"; then
    lock
    need_packages "${tool_needs[@]}" "${library_needs[@]}" python3:python3
    cuda_arguments=(-DMANYMEANS_BINDINGS=ON "-DPython_EXECUTABLE=$(command -v python3)")
    compile_cuda manymeans_python
    unlock
    PYTHONPATH=$root/build/dev/python python3 bench/whole.py "$@"
  else
    bench_python whole.py "$@"
  fi
}

# Without a network too: any python3 will do.
bench_opencl() {
  build_release
  lock
  need_packages "${driver_needs[@]}" python3:python3
  cmake --build --preset release --parallel "$(nproc)" --target opencl_peer
  unlock
  python3 bench/opencl_peer.py "$@"
}

founding_programs=(manymeans_cli plain_kmeans openmp_kmeans plain_regression openmp_regression ensemble_opencl
  tree_opencl tiled_product)
founding_cuda_programs=(plain_cuda_kmeans plain_product plane_kmeans low_dimensional read_overhead product_times)

# Without a network too: only NumPy is needed, which the machine's own Python mostly has where there is a GPU.
bench_founding() {
  local python=python3
  if [[ " $* " != *" --programs"* && " $* " != *" --merge"* ]]; then
    lock
    if asks_for_cuda "$@"; then
      need_packages "${tool_needs[@]}" "${library_needs[@]}" python3:python3
      compile_cuda "${founding_programs[@]}" "${founding_cuda_programs[@]}"
    else
      unlock
      build_release
      lock
      need_packages "${driver_needs[@]}" python3:python3
      cmake --build --preset release --parallel "$(nproc)" --target "${founding_programs[@]}"
    fi
    if ! asks_for_cuda "$@" || ! python3 -c 'import numpy' 2>/dev/null; then
      need_bench_peers
      python=$bench_venv/bin/python
    fi
    unlock
  fi
  "$python" bench/founding_run.py "$@"
}

# with_release SCRIPT [ARGS]: beside the program
with_release() {
  build_release
  lock
  need_bench_peers
  unlock
  "$bench_venv/bin/python" "bench/$1" "${@:2}"
}

main() {
  case ${1:-} in
    search | gpu | devices | product | whole | opencl | founding) "bench_$1" "${@:2}" ;;
    predict | regression | reading) bench_python "$1.py" "${@:2}" ;;
    python) bench_python python_package.py "${@:2}" ;;
    dask) bench_python dask_passes.py "${@:2}" ;;
    ranks) with_release ranks_beside_threads.py "${@:2}" ;;
    *) with_release compare.py "$@" ;;
  esac
}

main "$@"
