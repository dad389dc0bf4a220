#!/usr/bin/env bash
# path                  install the Debian packages that any command but bench and docs takes, and print a PATH with nothing but
#                       their programs and those of Debian's base system: what CI runs with

# shellcheck source=scripts/dev_functions.sh
source "${BASH_SOURCE[0]%/commands/*}/dev_functions.sh"

# A program that somebody installed by hand is not in this PATH, so a command that needs it and does not install it fails.
main() {
  local package missing=() needs=("${build_needs[@]}" "${test_needs[@]}" "${driver_needs[@]}" "${package_needs[@]}" "${fuzz_needs[@]}"
    "${cross_needs[@]}" "${lint_needs[@]}" "${bindings_needs[@]}" "${python_needs[@]}")
  lock
  for package in "${needs[@]%%:*}"; do
    dpkg-query --show --showformat '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] || install_packages "${missing[@]}" >&2
  /usr/bin/python3 scripts/programs_of_packages.py build/path "${needs[@]%%:*}"
  unlock
}

main "$@"
