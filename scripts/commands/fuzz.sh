#!/usr/bin/env bash
# fuzz [SECONDS] [NAME...]
#                       fuzz every reader, the model loader, messages of shards and the options (or those named), each
#                       for SECONDS (30)
# fuzz files [SECONDS]  fuzz the readers and loaders of files: compiles a third of the library
# fuzz answers [MINUTES] [ARGS]
#                       random fits of production size for MINUTES (10), each computed in several ways that must give the
#                       same bits; --backend cuda: the CUDA backend against the cpu backend; --case NUMBER --seed SEED: one
#                       case again; --help: the other arguments
# fuzz contract [CASES] [ARGS]
#                       CASES (10000) hostile fits by the Python package against docs/developer/contract.md written
#                       again in exact arithmetic; --case NUMBER: one of them, shown in full; --help: the other arguments

# shellcheck source=scripts/dev_functions.sh
source "${BASH_SOURCE[0]%/commands/*}/dev_functions.sh"

# fuzz_one NAME SECONDS OUT: fails where there is a finding. A hung input is one that takes a minute; less would be the
# fault of a busy machine.
fuzz_one() {
  local name=$1 out=$3 end=$((SECONDS + $2))
  mkdir -p "build/fuzz/corpus/$name" "tests/fuzz/corpus/$name"
  # A small file must not take much memory, whatever sizes it claims. Archives with all their members are larger than the
  # other files, and libraries have rules of their own: unpacking text takes up to 128 MiB.
  local length=2048 most=128
  case $name in model | checkpoint | hdf5) length=16384 ;; text) most=192 ;; esac
  case $name in parquet | arrow | hdf5) most=2048 ;; esac
  while [ "$SECONDS" -lt "$end" ]; do
    ASAN_OPTIONS=quarantine_size_mb=4:malloc_context_size=5 LSAN_OPTIONS=print_suppressions=0:suppressions=tests/leaks.supp \
      "build/fuzz/bin/fuzz_$name" -max_total_time=$((end - SECONDS)) -max_len="$length" -timeout=60 -malloc_limit_mb="$most" \
      -rss_limit_mb=2048 -verbosity=0 -print_final_stats=1 -artifact_prefix="$out/$name-" \
      "build/fuzz/corpus/$name" "tests/fuzz/corpus/$name" 2>"$out/$name.log" && return
    # The HDF5 library has faults of its own with damaged files. After one that none of our functions came to, it goes on.
    awk '!/^ *#/ {next} / in manymeans::/ {exit} /libhdf5/ {found = 1; exit} END {exit !found}' "$out/$name.log" || return 1
  done
}

# fuzz_answers [ARGUMENTS OF manymeans_answers]: whole fits instead of readers.
fuzz_answers() {
  local out=build/fuzz/found
  lock
  if asks_for_cuda "$@"; then
    need_packages "${tool_needs[@]}" "${library_needs[@]}" "${test_needs[@]}" python3:python3
    compile_cuda manymeans_answers
  else
    need_packages "${build_needs[@]}" "${test_needs[@]}" python3:python3
    say "building manymeans_answers in build/dev"
    configure dev
    cmake --build --preset dev --parallel "$(nproc)" --target manymeans_answers
  fi
  unlock
  [ -x build/dev/bin/manymeans_answers ] || fail "the cuda backend cannot be built here"
  mkdir -p "$out"
  build/dev/bin/manymeans_answers --found "$out/answers.txt" "$@" ||
    fail "that was not right; failures, each with the command that does it again, are in $out/answers.txt"
  say "no findings"
}

# fuzz_contract [ARGUMENTS OF tests/contract/fuzz_contract.py]: whole fits instead of readers.
fuzz_contract() {
  lock
  need_packages "${build_needs[@]}" "${test_needs[@]}" python3:python3
  need_python_of_tests
  [[ " ${python_arguments[*]} " == *" -DMANYMEANS_BINDINGS=ON "* ]] || fail "the Python package is needed for this"
  say "building the Python package in build/dev"
  configure dev "${python_arguments[@]}"
  cmake --build --preset dev --parallel "$(nproc)" --target manymeans_python
  unlock
  PYTHONPATH=$root/build/dev/python:$root/tests "$venv/bin/python" -m contract.fuzz_contract "$@"
}

main() {
  local seconds=30 parts=ON name program failed=() out=build/fuzz/found jobs=() i
  if [[ ${1:-} == answers || ${1:-} == contract ]]; then
    "fuzz_$1" "${@:2}"
    return
  fi
  if [ "${1:-}" = files ]; then
    parts=files
    shift
  fi
  if [[ ${1:-} =~ ^[0-9]+$ ]]; then
    seconds=$1
    shift
  fi
  lock
  need_packages "${build_needs[@]}" "${fuzz_needs[@]}"
  need_python requirements-arrow.txt || fail "pyarrow is needed and cannot be installed"
  rm -rf build/fuzz/bin # programs of the other choice of parts
  build_preset fuzz "-DMANYMEANS_FUZZ=$parts" "-DMANYMEANS_ARROW_PYTHON=$venv/bin/python"
  unlock
  mkdir -p "$out"
  if [ $# -eq 0 ]; then
    for program in build/fuzz/bin/fuzz_*; do set -- "$@" "${program##*/fuzz_}"; done
  fi
  # Two at a time: each has one thread.
  while [ $# -gt 0 ]; do
    jobs=()
    for name in "${@:1:2}"; do
      say "fuzzing $name for $seconds s"
      fuzz_one "$name" "$seconds" "$out" &
      jobs+=($!)
    done
    i=0
    for name in "${@:1:2}"; do
      wait "${jobs[i]}" || failed+=("$name")
      i=$((i + 1))
      printf '%s: ' "$name"
      grep -E 'number_of_executed_units|average_exec_per_sec' "$out/$name.log" | tr -s ' \n' ' ' ||
        tail -n 40 "$out/$name.log"
      printf '\n'
    done
    shift $(($# > 1 ? 2 : 1))
  done
  [ ${#failed[@]} -eq 0 ] || fail "findings in: ${failed[*]}; inputs and logs are in $out/"
  say "no findings"
}

main "$@"
