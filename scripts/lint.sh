#!/usr/bin/env bash
# All checks of ./dev lint, with the tools found in PATH.
#   scripts/lint.sh BUILD   check; BUILD holds compile_commands.json
#   scripts/lint.sh --fix   rewrite what a formatter can rewrite
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

listed() { git ls-files -z --cached --others --exclude-standard --deduplicate -- "$@"; }
mapfile -d '' cpp < <(listed '*.h' '*.cpp' '*.cu' '*.cuh')
mapfile -d '' cmake < <(listed '*CMakeLists.txt' '*.cmake')
mapfile -d '' shell < <(listed '*.sh' dev .ci/run)
mapfile -d '' compiled < <(listed 'src/*.cpp' 'cli/*.cpp' 'python/*.cpp')

if [ "$1" = --fix ]; then
  ruff format --quiet .
  clang-format -i "${cpp[@]}"
  gersemi --in-place --quiet "${cmake[@]}"
  exit
fi
build=$1

failed=()
# check NAME COMMAND...: runs one check, goes on after a failure.
check() {
  local name=$1 start=$SECONDS
  shift
  printf -- '-- %s\n' "$name"
  "$@" || failed+=("$name")
  printf '   %d s\n' $((SECONDS - start))
}

cpp_format() {
  local file wrong=0
  for file in "${cpp[@]}"; do
    clang-format --dry-run -Werror "$file" 2>/dev/null || { echo "$file" && wrong=1; }
  done
  [ $wrong = 0 ] || { echo "not in the project's format; ./dev format rewrites them" && return 1; }
}

# Only files that this build compiles: the others' stand-ins or instruction sets may be missing here.
tidy() {
  printf '%s\n' "${compiled[@]}" | while read -r file; do
    if grep -q "\"file\": \".*/$file\"" "$build/compile_commands.json"; then printf '%s\0' "$file"; fi
  done | xargs -0 -r -n 1 -P "$(nproc)" clang-tidy -p "$build" --quiet 2> >(grep -v 'warnings generated' >&2)
}

check "tree: include rule, lengths, names, private paths" python3 scripts/check_tree.py
check "shell scripts" shellcheck "${shell[@]}"
check "CMake format" gersemi --check --quiet "${cmake[@]}"
check "C++ format" cpp_format
check "Python style" ruff check --quiet .
check "Python format" ruff format --check --quiet .
check "clang-tidy" tidy

if [ ${#failed[@]} -gt 0 ]; then
  printf 'lint: failed: %s\n' "${failed[@]}" >&2
  exit 1
fi
echo "lint: all checks passed"
