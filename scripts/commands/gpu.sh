#!/usr/bin/env bash
# gpu                   build the CUDA parts; on a machine with an NVIDIA GPU run every kernel at production size, twice,
#                       test them against the reference, check them with compute-sanitizer and time them; without a
#                       GPU only build

# shellcheck source=scripts/dev_functions.sh
source "${BASH_SOURCE[0]%/commands/*}/dev_functions.sh"

# limited SECONDS COMMAND...: a kernel that never ends must not keep the machine.
limited() {
  timeout -k 10 "$@"
}

# Everything that a GPU can show about itself; results/ of a fast one are kept in bench/results/.
main() {
  local bin=build/dev/bin out=build/gpu-results
  lock
  need_packages "${tool_needs[@]}" "${library_needs[@]}" "${test_needs[@]}"
  cuda_arguments=(-DMANYMEANS_CUDA_CHAOS=ON)
  compile_cuda manymeans_cli manymeans_tests manymeans_screen_check cuda_instances cuda_instances_chaos cuda_passes \
    repeated_fits
  unlock
  if [ ! -x "$bin/manymeans" ] || ! "$bin/manymeans" info | grep -q '^  cuda:[0-9]'; then
    say "there is no GPU that can be used here; what could be built was built, and nothing was run"
    return 0
  fi
  mkdir -p "$out"
  "$bin/manymeans" info | tee "$out/info.txt"
  say "the tensor cores' sums, labels and lists"
  limited 600 "$bin/manymeans_screen_check" probe small tiny ties thresholds | tee "$out/screen_check.txt"
  say "every kernel at production size, against the cpu backend"
  limited 600 "$bin/cuda_instances" | tee "$out/instances.txt"
  say "a kernel that never ends is found"
  limited 60 "$bin/cuda_instances" --seconds 10 hang | tee "$out/hang.txt" && fail "it was not"
  grep -q '^The first of them that has not ended: .*waits_for_ever' "$out/hang.txt" || fail "it was not named"
  say "every kernel once more, with naps at every wait and release"
  limited 900 "$bin/cuda_instances_chaos" --rows 300000 --repeats 2 --seconds 120 | tee "$out/chaos.txt"
  say "every answer against the reference"
  MANYMEANS_TEST_BACKEND=cuda limited 1800 "$bin/manymeans_tests" \
    --gtest_filter='Screen.*:Bounds.*:BackendConformance.*:FitConformance.*:LinearModels.*:LinearFits.*:*Cuda*:*MultiplyOn*cuda*' | tee "$out/tests.txt"
  say "a device that does not answer"
  python3 tests/faults/device_faults.py "$bin/manymeans" | tee "$out/device_faults.txt"
  if command -v compute-sanitizer >/dev/null; then
    local tool
    for tool in memcheck racecheck; do
      say "compute-sanitizer $tool"
      limited 1200 compute-sanitizer --tool "$tool" --error-exitcode 1 "$bin/cuda_passes" --score-thresholds 1 3000 2 10 2 float32 mixture \
        2000 40 17 2 float32 noise 2000 140 300 1 float64 mixture | tee "$out/$tool.txt"
    done
  else
    printf '\n*** There is no compute-sanitizer here: MEMORY AND RACES ARE NOT CHECKED. ***\n\n' >&2
  fi
  say "times"
  # shellcheck disable=SC2046  # one word a number
  limited 1200 "$bin/cuda_passes" $(grep -v '^#' bench/suites/cuda_passes.txt) | tee "$out/passes.txt"
  say "results: $out"
}

main "$@"
