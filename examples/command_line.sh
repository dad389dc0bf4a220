#!/usr/bin/env bash
# Fits, labels and asks, as the README shows; needs manymeans in PATH and the folder data/ of this repository.
set -euo pipefail

manymeans fit data/s1.txt.gz -k 15 --models 10 --seed 1 --model s1.npz --labels s1-labels.npy
manymeans predict s1.npz data/s1.txt.gz --labels again.npy
cmp s1-labels.npy again.npy # the fit's labels are those of its prototypes, always
manymeans info

manymeans regress data/bike_sharing.csv.gz --target cnt --columns temp -k 3 --models 8 --model bikes.npz
manymeans describe bikes.npz
manymeans predict bikes.npz data/bike_sharing.csv.gz --predictions rentals.csv --gating prior
