# What commands for another processor have in common. They source it after dev_functions.sh.
# shellcheck shell=bash disable=SC2154
arm_libraries=$root/build/aarch64-root # where cmake/aarch64.cmake looks for them

# The packages for Arm are unpacked and not installed: most cannot be beside this machine's own. apt-get has lists of
# packages of its own for that, so it needs no rights and changes nothing of the system.
unpack_arm_libraries() {
  local folder=$root/build/aarch64-packages package options
  local packages=("${library_needs[@]%%:*}" "${opencl_needs[@]%%:*}" libzstd-dev liblzma-dev libbz2-dev "${test_needs[@]%%:*}")
  local named="${packages[*]}"
  if [ "$(cat "$arm_libraries/packages" 2>/dev/null)" = "$named" ]; then return; fi
  rm -rf "$folder" "$arm_libraries"
  mkdir -p "$folder/lists/partial" "$folder/cache/archives/partial" "$folder/packages" "$arm_libraries"
  # shellcheck disable=SC2016  # not this shell's variables
  apt-get indextargets 'Created-By: Packages' 'Origin: Debian' \
    --format 'deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $(SITE) $(RELEASE) $(COMPONENT)' |
    sort -u >"$folder/sources.list"
  [ -s "$folder/sources.list" ] || fail "the libraries for Arm come from Debian, and this machine knows no packages of Debian"
  options=(-qq -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o "Dir::Etc::sourcelist=$folder/sources.list"
    -o Dir::Etc::sourceparts=/dev/null -o "Dir::State::lists=$folder/lists" -o "Dir::Cache=$folder/cache"
    -o Dir::State::status=/dev/null -o Acquire::Languages=none -o APT::Sandbox::User=root)
  say "unpacking libraries for Arm into build/${arm_libraries##*/}/"
  apt-get "${options[@]}" update
  # Shared libraries are in packages of their own, whose names have versions.
  mapfile -t -O "${#packages[@]}" packages < <(apt-cache "${options[@]}" depends "${packages[@]}" |
    sed -n 's/^  Depends: \(lib.*\)$/\1/p' | grep -v -e '-dev$' -e '^libc6$' -e '^libstdc' -e '^libgcc' | sort -u)
  (cd "$folder/packages" && apt-get "${options[@]}" download "${packages[@]}")
  for package in "$folder/packages"/*.deb; do dpkg -x "$package" "$arm_libraries"; done
  rm -rf "$folder"
  echo "$named" >"$arm_libraries/packages"
}
