#!/usr/bin/env bash
# lint [all]            check formats, includes, names and the clang-tidy list; of the files changed since the commit in
#                       scripts/tidied, or of all

# shellcheck source=scripts/dev_functions.sh
source "${BASH_SOURCE[0]%/commands/*}/dev_functions.sh"

main() {
  need_lint_tools
  lock
  configure release "${python_arguments[@]}"
  unlock
  PATH=$venv/bin:$PATH scripts/checks.sh build/release "$@"
}

main "$@"
