#!/usr/bin/env bash
# packages              install the Debian packages that building takes, also by pip install .

# shellcheck source=scripts/dev_functions.sh
source "${BASH_SOURCE[0]%/commands/*}/dev_functions.sh"

main() {
  lock
  need_packages "${build_needs[@]}" "${bindings_needs[@]}"
  unlock
}

main "$@"
