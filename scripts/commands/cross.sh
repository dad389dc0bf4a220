#!/usr/bin/env bash
# cross aarch64 [ARGS]  build the program and the tests for 64-bit Arm Linux in build/aarch64/, on a machine of another
#                       kind, and run tests in qemu: those of kernels and answers, or what ARGS of the test program say

# shellcheck source=scripts/dev_functions.sh
source "${BASH_SOURCE[0]%/commands/*}/dev_functions.sh"

cross_needs=(g++-aarch64-linux-gnu:aarch64-linux-gnu-g++ qemu-user:qemu-aarch64)
libraries=$root/build/aarch64-root
tests='InstructionSet.*:*Kernels*:*Lanes*:BackendConformance.*:FitConformance.*'

# The packages for Arm are unpacked and not installed: most cannot be beside this machine's own. apt-get has lists of
# packages of its own for that, so it needs no rights and changes nothing of the system.
unpack_libraries() {
  local folder=$root/build/aarch64-packages package options
  local packages=("${library_needs[@]%%:*}" "${test_needs[@]%%:*}")
  local named="${packages[*]}"
  if [ "$(cat "$libraries/packages" 2>/dev/null)" = "$named" ]; then return; fi
  rm -rf "$folder" "$libraries"
  mkdir -p "$folder/lists/partial" "$folder/cache/archives/partial" "$folder/packages" "$libraries"
  # shellcheck disable=SC2016  # not this shell's variables
  apt-get indextargets 'Created-By: Packages' 'Origin: Debian' \
    --format 'deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $(SITE) $(RELEASE) $(COMPONENT)' |
    sort -u >"$folder/sources.list"
  [ -s "$folder/sources.list" ] || fail "the libraries for Arm come from Debian, and this machine knows no packages of Debian"
  options=(-qq -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o "Dir::Etc::sourcelist=$folder/sources.list"
    -o Dir::Etc::sourceparts=/dev/null -o "Dir::State::lists=$folder/lists" -o "Dir::Cache=$folder/cache"
    -o Dir::State::status=/dev/null -o Acquire::Languages=none -o APT::Sandbox::User=root)
  say "unpacking libraries for Arm into build/${libraries##*/}/"
  apt-get "${options[@]}" update
  # Shared libraries are in packages of their own, whose names have versions.
  mapfile -t -O "${#packages[@]}" packages < <(apt-cache "${options[@]}" depends "${packages[@]}" |
    sed -n 's/^  Depends: \(lib.*\)$/\1/p' | grep -v -e '-dev$' -e '^libc6$' -e '^libstdc' -e '^libgcc' | sort -u)
  (cd "$folder/packages" && apt-get "${options[@]}" download "${packages[@]}")
  for package in "$folder/packages"/*.deb; do dpkg -x "$package" "$libraries"; done
  rm -rf "$folder"
  echo "$named" >"$libraries/packages"
}

main() {
  [ "${1:-}" = aarch64 ] || fail "cross takes aarch64; see ./dev help"
  shift
  lock
  need_packages "${tool_needs[@]}" "${cache_needs[@]}" "${cross_needs[@]}"
  unpack_libraries
  say "building the program and the tests in build/aarch64"
  configure aarch64
  cmake --build --preset aarch64 --parallel "$(nproc)" --target manymeans_cli manymeans_tests
  unlock
  if [ $# -eq 0 ]; then set -- --gtest_filter="$tests"; fi
  qemu-aarch64 -L /usr/aarch64-linux-gnu build/aarch64/bin/manymeans_tests "$@"
}

main "$@"
