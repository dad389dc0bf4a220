#!/usr/bin/env bash
# sanitize [asan|tsan] [CTEST ARGS]
#                       build with address and undefined, then thread sanitizer (default: both), and run the tests,
#                       with address those of the Python package too

# shellcheck source=scripts/dev_functions.sh
source "${BASH_SOURCE[0]%/commands/*}/dev_functions.sh"

main() {
  local preset presets=(asan tsan)
  if [[ ${1:-} == [at]san ]]; then
    presets=("$1")
    shift
  fi
  lock
  need_packages "${build_needs[@]}" "${test_needs[@]}" python3:python3
  need_driver
  need_python_of_tests
  for preset in "${presets[@]}"; do
    # The libraries inside pyarrow are not sanitized, and the thread sanitizer does not know Python's threads.
    if [ "$preset" = tsan ]; then python_arguments+=(-DMANYMEANS_BINDINGS=OFF); fi
    build_preset "$preset" "${python_arguments[@]}" -DMANYMEANS_ARROW_PYTHON=
  done
  unlock
  for preset in "${presets[@]}"; do
    say "tests under $preset"
    LSAN_OPTIONS=use_tls=0:print_suppressions=0:suppressions=$PWD/tests/leaks.supp ctest --preset "$preset" "$@"
  done
}

main "$@"
