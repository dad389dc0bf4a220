#!/usr/bin/env bash
# wheel                 build the Python package into build/wheels/, for the python3 in PATH

# shellcheck source=scripts/dev_functions.sh
source "${BASH_SOURCE[0]%/commands/*}/dev_functions.sh"

# The wheel holds all it needs: where it is installed, no -dev package has to be. It is tried in an environment of its own.
main() {
  local made=build/wheels/made tried=build/wheels/tried
  lock
  need_packages "${build_needs[@]}" "${bindings_needs[@]}"
  need_python requirements-wheel.txt || fail "Python packages are needed and cannot be installed"
  say "building the wheel"
  rm -rf build/wheels
  use_ccache
  # The name by which CMake calls the compiler elsewhere, since ccache tells compilers apart by their names.
  CC=cc CXX=c++ "$venv/bin/python" -m pip wheel "${pip_flags[@]}" --no-build-isolation --no-deps --wheel-dir "$made" \
    --config-settings=build-dir=build/wheel .
  PATH=$venv/bin:$PATH auditwheel repair --plat "manylinux_2_28_$(uname -m)" --wheel-dir build/wheels "$made"/*.whl
  say "installing it into $tried/"
  need_python requirements-peers.txt "$root/$tried" || fail "NumPy and scikit-learn are needed and cannot be installed"
  "$tried/bin/python" -m pip install "${pip_flags[@]}" --no-deps build/wheels/*.whl
  PATH=$tried/bin:$PATH python -c 'import numpy as np; from manymeans import KMeans
print("digest", KMeans(2, random_state=0).fit(np.eye(5)).answer_)'
  "$tried/bin/manymeans" --version
  python3 scripts/check_artefacts.py --hardened --glibc=2.28 "$tried/bin/manymeans" "$tried"/lib/python*/site-packages/manymeans
  unlock
  say "the wheel: $(ls build/wheels/*.whl)"
}

main "$@"
