#!/usr/bin/env bash
# nightly [PART...]     what takes hours: lint of all files, sanitizers, long fuzzing, answers, contract, kills, coverage,
#                       huge, consumers (projects that compile the library); all parts run, then a table says how each
#                       ended; logs are in build/nightly/

# shellcheck source=scripts/dev_functions.sh
source "${BASH_SOURCE[0]%/commands/*}/dev_functions.sh"

# Parts run one after the other, since each uses all processors; one that fails does not stop the others.
main() {
  local -A commands=([lint]="lint all" [asan]="sanitize asan" [tsan]="sanitize tsan" [fuzz]="fuzz 600" [answers]="fuzz answers 30"
    [contract]="fuzz contract 20000" [kills]="kills 100" [ranks]="kills ranks 50" [coverage]=coverage [huge]=huge
    [consumers]="test -C nightly -R install/")
  local part start outcome out=build/nightly code=0 rows=()
  [ $# -gt 0 ] || set -- lint asan tsan fuzz answers contract kills ranks coverage huge consumers
  mkdir -p "$out"
  for part in "$@"; do
    [ -n "${commands[$part]:-}" ] || fail "nightly has no part '$part'; it has ${!commands[*]}"
    say "./dev ${commands[$part]}: $out/$part.log"
    start=$SECONDS outcome=passed
    # shellcheck disable=SC2086  # words of a command
    ./dev ${commands[$part]} >"$out/$part.log" 2>&1 || outcome=FAILED code=1
    rows+=("$(printf '%-7s %6d s  ./dev %s' "$outcome" $((SECONDS - start)) "${commands[$part]}")")
    printf '   %s\n' "${rows[-1]}"
  done
  printf '%s\n' "${rows[@]}" | tee "$out/summary.txt"
  return $code
}

main "$@"
