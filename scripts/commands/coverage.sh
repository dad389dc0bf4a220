#!/usr/bin/env bash
# coverage [CTEST ARGS] run the tests (by default all but the conformance suites) and say which lines of the library they run;
#                       fails below 90 %

# shellcheck source=scripts/dev_functions.sh
source "${BASH_SOURCE[0]%/commands/*}/dev_functions.sh"

# Lines of src/ and product/ that the tests of the preset dev run. Needs what the tests need.
main() {
  lock
  need_packages "${build_needs[@]}" "${test_needs[@]}" python3:python3
  need_python requirements-coverage.txt || fail "gcovr is needed and cannot be installed"
  need_python_of_tests
  build_preset coverage "${python_arguments[@]}"
  unlock
  find build/coverage -name '*.gcda' -delete
  # Not the suites that do the same millions of times: with counters they take an hour, and run lines that others run.
  # Nor two tests that see the counters: their memory, and their messages where files may not grow.
  if [ $# = 0 ]; then set -- -E 'Conformance\.|^Bounds\.|^Screen\.|^Memory\.Reference|cli/memory_peaks|cli/odd_bytes'; fi
  ctest --preset coverage "$@" || fail "some tests failed, so there is no figure"
  "$venv/bin/python" scripts/coverage.py build/coverage --least 90
}

main "$@"
