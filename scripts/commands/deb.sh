#!/usr/bin/env bash
# deb                   build Debian packages of the program and of the C++ library into build/release/packages/

# shellcheck source=scripts/dev_functions.sh
source "${BASH_SOURCE[0]%/commands/*}/dev_functions.sh"

# Debian packages of the program and of the library; looked into, unpacked and tried here.
main() {
  local package tried=build/release/packages/tried
  build_release
  lock
  need_packages "${package_needs[@]}"
  rm -rf build/release/packages
  (cd build/release && cpack -G DEB -B packages >packages.log) || fail "cpack failed; see build/release/packages.log"
  for package in build/release/packages/*.deb; do
    say "$package"
    dpkg-deb --field "$package" Package Version Depends
    dpkg-deb --extract "$package" "$tried"
  done
  "$tried/usr/bin/manymeans" --version
  python3 scripts/check_artefacts.py --hardened "$tried/usr/bin"
  "$tried/usr/bin/manymeans" fit data/s1.txt.gz -k 15 --quiet --labels "$tried/labels.npy"
  unlock
  say "the packages: $(echo build/release/packages/*.deb)"
}

main "$@"
