#!/usr/bin/env bash
# Fits, labels and asks, as the README shows; needs manymeans in PATH and the folder data/ of this repository.
set -euo pipefail

manymeans fit data/s1.txt.gz -k 15 --models 10 --seed 1 --model s1.npz --labels s1-labels.npy
manymeans predict s1.npz data/s1.txt.gz --labels again.npy
cmp s1-labels.npy again.npy # the fit's labels are those of its prototypes, always
manymeans info
