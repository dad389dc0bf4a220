#!/usr/bin/env bash
# build [PRESET]        build a preset of CMakePresets.json; default: release, at build/release/bin/manymeans
# build --arrow         the same with Arrow C++ from pyarrow in .venv/: Parquet and Arrow files without starting a Python,
#                       for as long as .venv/ is there

# shellcheck source=scripts/dev_functions.sh
source "${BASH_SOURCE[0]%/commands/*}/dev_functions.sh"

main() {
  local preset=${1:-release} python=
  if [ "$preset" = --arrow ]; then
    need_python requirements-arrow.txt || fail "pyarrow is needed and cannot be installed"
    preset=release python=$venv/bin/python
  fi
  if [ "$preset" = release ]; then
    build_release "$python"
    say "the program: build/release/bin/manymeans"
    return
  fi
  lock
  need_packages "${build_needs[@]}" "${test_needs[@]}" python3:python3
  build_preset "$preset"
  unlock
}

main "$@"
