#!/usr/bin/env bash
# test [CTEST ARGS]     build the preset dev, with the CUDA parts where nvcc is, and run all tests

# shellcheck source=scripts/dev_functions.sh
source "${BASH_SOURCE[0]%/commands/*}/dev_functions.sh"

main() {
  lock
  need_packages "${build_needs[@]}" "${test_needs[@]}" python3:python3
  need_driver
  need_python_of_tests
  with_cuda || true
  build_preset dev "${python_arguments[@]}" ${cuda_arguments[@]+"${cuda_arguments[@]}"}
  unlock
  ctest --preset dev "$@"
}

main "$@"
