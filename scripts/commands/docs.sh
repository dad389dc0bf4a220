#!/usr/bin/env bash
# docs [--check]        make a site of the documentation, with the API of Python and C++, in build/site/, and check its links;
#                       --check: also open its pages in Chromium, 1280 and 400 pixels wide, with pictures of each in
#                       build/site-screenshots/; minutes, not part of test

# shellcheck source=scripts/dev_functions.sh
source "${BASH_SOURCE[0]%/commands/*}/dev_functions.sh"

# The pages come from the tree and stay readable there; scripts/site/ puts them together, and checks what MkDocs made.
main() {
  local check=(python3 scripts/site/check_site.py build/site build/site-pages)
  case ${1:-} in
    "") ;;
    --check) check+=(--screenshots build/site-screenshots) ;;
    *) fail "docs takes --check or nothing; see ./dev help" ;;
  esac
  lock
  need_packages git:git python3:python3
  if [ -n "${1:-}" ]; then need_packages "${browser_needs[@]}"; fi
  need_python requirements-docs.txt || fail "MkDocs is needed and cannot be installed"
  python3 scripts/site/stage_pages.py build/site-pages
  rm -rf build/site build/site-screenshots
  NO_MKDOCS_2_WARNING=1 "$venv/bin/python" -m mkdocs build --quiet --strict --config-file scripts/site/mkdocs.yml
  unlock
  "${check[@]}"
  say "the site: build/site/index.html"
  if [ -n "${1:-}" ]; then say "pictures of its pages: build/site-screenshots/"; fi
}

main "$@"
