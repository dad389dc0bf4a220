#!/usr/bin/env bash
# cross aarch64 [ARGS]  build the program and the tests for 64-bit Arm Linux in build/aarch64/, on a machine of another
#                       kind, and run tests in qemu: those of kernels and answers, or what ARGS of the test program say

# shellcheck source=scripts/dev_functions.sh
source "${BASH_SOURCE[0]%/commands/*}/dev_functions.sh"
# shellcheck source=scripts/cross_functions.sh
source "${BASH_SOURCE[0]%/commands/*}/cross_functions.sh"

tests='InstructionSet.*:*Kernels*:*Lanes*:BackendConformance.*:FitConformance.*'

main() {
  [ "${1:-}" = aarch64 ] || fail "cross takes aarch64; see ./dev help"
  shift
  lock
  need_packages "${tool_needs[@]}" "${cache_needs[@]}" "${cross_needs[@]}"
  unpack_arm_libraries
  say "building the program and the tests in build/aarch64"
  configure aarch64
  cmake --build --preset aarch64 --parallel "$(nproc)" --target manymeans_cli manymeans_tests
  unlock
  if [ $# -eq 0 ]; then set -- --gtest_filter="$tests"; fi
  qemu-aarch64 -L /usr/aarch64-linux-gnu build/aarch64/bin/manymeans_tests "$@"
}

main "$@"
