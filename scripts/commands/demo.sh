#!/usr/bin/env bash
# demo                  build, then cluster half a million network connections in 16 models

# shellcheck source=scripts/dev_functions.sh
source "${BASH_SOURCE[0]%/commands/*}/dev_functions.sh"

main() {
  build_release
  mkdir -p demo-output
  local fit=(build/release/bin/manymeans fit data/kddcup99_10percent.csv.gz --columns 1-41 --numeric-only
    --scale standard -k "8,16,32,64" --models 4 --seed 1
    --model demo-output/kdd.npz --labels demo-output/kdd-labels.npy)
  say "${fit[*]}"
  "${fit[@]}"
  say "models: demo-output/kdd.npz   labels: demo-output/kdd-labels.npy (open both with numpy.load)"
}

main "$@"
