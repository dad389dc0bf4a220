#!/usr/bin/env bash
# cross aarch64 [ARGS]  build for 64-bit Arm Linux in build/aarch64/, on a machine of another kind, and run in qemu: the
#                       tests (or what ARGS of the test program say), the program's golden tests, and 200 random fits,
#                       whose digests have to be those of build/dev/
# cross aarch64 --subset  build the library alone, and run 16 of the fits: what CI does
# cross macos           compile library and program for macOS on 64-bit Arm, by zig; nothing is linked or run

# shellcheck source=scripts/dev_functions.sh
source "${BASH_SOURCE[0]%/commands/*}/dev_functions.sh"
# shellcheck source=scripts/cross_functions.sh
source "${BASH_SOURCE[0]%/commands/*}/cross_functions.sh"

emulator=(qemu-aarch64 -L /usr/aarch64-linux-gnu -E "LD_LIBRARY_PATH=$arm_libraries/usr/lib/aarch64-linux-gnu")
bin=build/aarch64/bin
# qemu has threads of its own, its vfork() copies memory, and a program in it cannot start itself again.
not_in_qemu='MappedRangeDeathTest.AnEarlierHandlerGetsOtherBusErrors:Workers.NoneSurvivesIntoAFork:WrongPython.IsNoProgram'

# same_digests CASES: of random fits, by all instruction sets of either processor. They are short: qemu takes some seventy
# times as long.
same_digests() {
  local build
  say "$1 random fits on both processors"
  for build in build/dev build/aarch64; do
    python3 scripts/freeze.py record "$build" "$build/digests.json" --cases "$1" --seconds 0.05
  done
  python3 scripts/freeze.py compare build/dev/digests.json build/aarch64/digests.json
}

# Not search: its case counts on a round in a tenth of a second.
golden_tests() {
  local case program=$root/build/aarch64/emulated/manymeans
  mkdir -p "${program%/*}"
  printf '#!/bin/sh\nexec %s "%s" "$@"\n' "${emulator[*]}" "$root/$bin/manymeans" >"$program"
  chmod +x "$program"
  for case in advice balanced choose consensus convert cosine far_from_zero fit multiply predict regress weights; do
    say "golden test $case"
    python3 tests/cli/run_case.py "$program" tests/cli/cases/$case.test
  done
}

# The files are those of a portable build of this machine, and NEON's kernels.
check_macos() {
  lock
  need_packages "${build_needs[@]}"
  need_python requirements-macos.txt || fail "zig is needed and cannot be installed"
  configure release -B build/macos -DMANYMEANS_PORTABLE=ON -DMANYMEANS_HDF5=OFF -DMANYMEANS_MPI=OFF \
    -DMANYMEANS_LIBDEFLATE=OFF -DMANYMEANS_ARROW=OFF -DMANYMEANS_BINDINGS=OFF
  unlock
  say "compiling library and program for macOS"
  "$venv/bin/python" scripts/compile_for_macos.py build/macos
}

main() {
  local targets=(manymeans_answers) subset=
  if [ "${1:-}" = macos ]; then
    check_macos
    return
  fi
  [ "${1:-}" = aarch64 ] || fail "cross takes aarch64 or macos; see ./dev help"
  shift
  if [ "${1:-}" = --subset ]; then subset=1; else targets+=(manymeans_cli manymeans_tests); fi
  lock
  need_packages "${build_needs[@]}" "${test_needs[@]}" "${cross_needs[@]}"
  unpack_arm_libraries
  if [ ! -x build/dev/bin/manymeans_answers ]; then
    configure dev
    cmake --build --preset dev --parallel "$(nproc)" --target manymeans_answers
  fi
  say "building ${targets[*]} in build/aarch64"
  configure aarch64
  cmake --build --preset aarch64 --parallel "$(nproc)" --target "${targets[@]}"
  unlock
  if [ -n "$subset" ]; then
    same_digests 16
    return
  fi
  if [ $# -eq 0 ]; then set -- --gtest_filter="-$not_in_qemu"; fi
  "${emulator[@]}" $bin/manymeans_tests "$@"
  golden_tests
  same_digests 200
}

main "$@"
