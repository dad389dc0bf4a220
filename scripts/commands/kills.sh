#!/usr/bin/env bash
# kills [COUNT]         kill checkpointed fits at COUNT (100) random moments; each must go on to the right answer
# kills ranks [COUNT]   the same of single ranks under mpirun (50); all ranks must end soon, and any number of them go on

# shellcheck source=scripts/dev_functions.sh
source "${BASH_SOURCE[0]%/commands/*}/dev_functions.sh"

main() {
  build_release
  lock
  need_packages "${python_needs[0]}"
  unlock
  if [ "${1:-}" = ranks ]; then
    python3 tests/mpi/ranks.py "$(command -v mpirun)" build/release/bin/manymeans --kills "${2:-50}"
    return
  fi
  python3 tests/kills/kills.py build/release/bin/manymeans "$@"
}

main "$@"
