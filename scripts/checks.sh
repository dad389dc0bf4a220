#!/usr/bin/env bash
# All checks of ./dev lint, with the tools found in PATH.
#   scripts/checks.sh BUILD [all]   check; BUILD holds compile_commands.json
#   scripts/checks.sh --fix         rewrite what a formatter can rewrite
# clang-tidy takes ten minutes for all files. It reads those changed since the commit in scripts/tidied, at which all
# passed; `all` reads all, and writes the commit there. It also reads all where git does not know that commit.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

listed() { git ls-files -z --cached --others --exclude-standard --deduplicate -- "$@"; }
mapfile -d '' cpp < <(listed '*.h' '*.cpp' '*.cu' '*.cuh')
mapfile -d '' cmake < <(listed '*CMakeLists.txt' '*.cmake')
mapfile -d '' shell < <(listed '*.sh' dev .ci/run)
mapfile -d '' compiled < <(listed 'src/*.cpp' 'product/*.cpp' 'cli/*.cpp' 'python/*.cpp')
mapfile -d '' cuda < <(listed 'src/backend/cuda/*.cpp' 'product/cuda/*.cpp' ':!*/cuda/no_*.cpp')

if [ "$1" = --fix ]; then
  ruff format --quiet .
  clang-format -i "${cpp[@]}"
  gersemi --in-place --quiet "${cmake[@]}"
  exit
fi
build=$1
scope=${2:-changed}
tidied=$(<scripts/tidied)
rules=(.clang-tidy scripts/requirements-lint.txt)
git cat-file -e "$tidied^{commit}" 2>/dev/null && git diff --quiet "$tidied" -- "${rules[@]}" || scope=all

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

# --quiet would not name the files; without it gersemi warns of every command that is the project's own.
cmake_format() {
  gersemi --check --quiet "${cmake[@]}" && return
  gersemi --check "${cmake[@]}" 2>&1 | grep 'would be reformatted'
  return 1
}

# The files of standard input that changed, or include a changed header; of a header's users the first is enough.
to_tidy() {
  local listed changed header
  listed=$(cat)
  [ "$scope" = changed ] || { printf '%s\n' "$listed" && return; }
  changed=$(git diff --name-only "$tidied" && git ls-files --others --exclude-standard)
  changed+=$'\n'$(sed -n '/\.h$/p' <<<"$changed" | while read -r header; do
    { git grep -lE "#include [<\"]([^>\"]*/)?${header##*/}[>\"]" -- 'src/*.cpp' 'product/*.cpp' 'cli/*.cpp' 'python/*.cpp' || true; } | sed -n 1p
  done)
  grep -Fx "$(sed -n '/\.cpp$/p' <<<"$changed")" <<<"$listed" || true
}

# Only files that this build compiles: the others' stand-ins or instruction sets may be missing here.
tidy() {
  printf '%s\n' "${compiled[@]}" | to_tidy | while read -r file; do
    if grep -q "\"file\": \".*/$file\"" "$build/compile_commands.json"; then printf '%s\0' "$file"; fi
  done | xargs -0 -r -n 1 -P "$(nproc)" clang-tidy -p "$build" --quiet 2> >(grep -v 'warnings generated' >&2)
}

# Host code for CUDA, which the build in BUILD does not compile. src/backend/cuda/README.md says why not the kernels.
tidy_cuda() {
  local toolkit
  toolkit=$(dirname "$(dirname "$(readlink -f "$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)")")")
  if [ ! -e "$toolkit/include/cuda_runtime_api.h" ]; then
    echo "there is no CUDA toolkit here: THE CUDA CODE IS NOT CHECKED"
    return
  fi
  printf '%s\n' "${cuda[@]}" | to_tidy | tr '\n' '\0' | xargs -0 -r -P "$(nproc)" -I FILE clang-tidy --quiet FILE -- -std=c++20 -I. -Isrc -Iinclude \
    "-I$build/generated" -isystem "$toolkit/include" 2> >(grep -v 'warnings generated' >&2)
}

check "tree: include rule, parameters, lengths, names, private paths" python3 scripts/check_tree.py
check "shell scripts" shellcheck --external-sources "${shell[@]}"
check "CMake format" cmake_format
check "C++ format" cpp_format
check "Python style" ruff check --quiet .
check "Python format" ruff format --check --quiet .
check "clang-tidy" tidy
check "clang-tidy of CUDA's host code" tidy_cuda

if [ ${#failed[@]} -gt 0 ]; then
  printf 'lint: failed: %s\n' "${failed[@]}" >&2
  exit 1
fi
echo "lint: all checks passed; clang-tidy read ${scope/changed/the files changed since $tidied}"
if [ "$scope" = all ] && git diff --quiet HEAD; then git rev-parse HEAD >scripts/tidied; fi
