#!/usr/bin/env bash
# huge                  fit more than 2^31 rows and check every label, and 2 GB of points in 256 MiB of memory; 6 GB of
#                       disk, 8 GB of memory, minutes

# shellcheck source=scripts/dev_functions.sh
source "${BASH_SOURCE[0]%/commands/*}/dev_functions.sh"

main() {
  build_release
  lock
  need_python requirements-peers.txt || fail "NumPy is needed and cannot be installed"
  unlock
  "$venv/bin/python" tests/huge/more_than_2_31_rows.py --program build/release/bin/manymeans
  "$venv/bin/python" tests/huge/bounded_memory.py --program build/release/bin/manymeans
}

main "$@"
