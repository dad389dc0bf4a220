#!/usr/bin/env bash
# deps --bundle [FILE]  pack the libraries that building and testing take, for a machine without a network;
# deps --unpack [FILE]  there, before any other command (FILE: build/deps.tar.xz; the same Debian or Ubuntu, or newer)

# shellcheck source=scripts/dev_functions.sh
source "${BASH_SOURCE[0]%/commands/*}/dev_functions.sh"

# deps_of PACKAGE...: the files of these -dev packages, and the shared libraries by the names that programs and linkers look
# for. A static one may go into no Python extension, since Debian compiles some (zlib) without -fPIC.
deps_of() {
  local file target
  dpkg -L "$@" | grep -E '^/usr/(include|lib|share/(cmake|rapidcheck))/.' | while read -r file; do
    if [ -f "$file" ]; then echo "$file"; fi
    if [[ $file == *.so && -L $file ]]; then
      target=$(realpath "$file")
      compgen -G "${target%/*}/${file##*/}.*"
    fi
  done | sort -u
}

main() {
  local what=${1:-} file=${2:-build/deps.tar.xz} packages=()
  lock
  case $what in
    --bundle)
      need_packages "${library_needs[@]}" "${opencl_needs[@]}" "${test_needs[@]}"
      command -v dpkg >/dev/null || fail "what belongs to a library is known to dpkg, which this machine does not have"
      packages=("${library_needs[@]%%:*}" "${opencl_needs[@]%%:*}" "${test_needs[@]%%:*}")
      deps_of "${packages[@]}" | tar --create --xz --dereference --file "$file" --directory / --transform 's,^/,,' \
        --absolute-names --files-from -
      say "for a machine without a network: $file; there, ./dev deps --unpack $file"
      ;;
    --unpack)
      [ -f "$file" ] || fail "there is no $file; ./dev deps --bundle FILE makes one, on a machine with a network"
      rm -rf "$deps"
      mkdir -p "$deps"
      tar --extract --file "$file" --directory "$deps"
      say "libraries: $deps; a compiler, cmake and ninja have to be there"
      ;;
    *) fail "deps takes --bundle [FILE] or --unpack [FILE]; see ./dev help" ;;
  esac
  unlock
}

main "$@"
