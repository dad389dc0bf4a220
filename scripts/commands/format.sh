#!/usr/bin/env bash
# format                rewrite the sources in the project's format

# shellcheck source=scripts/dev_functions.sh
source "${BASH_SOURCE[0]%/commands/*}/dev_functions.sh"

main() {
  need_lint_tools
  PATH=$venv/bin:$PATH scripts/checks.sh --fix
}

main "$@"
