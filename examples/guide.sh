#!/usr/bin/env bash
# The commands of the pages by task in docs/user; needs manymeans in PATH and the folder data/ of this repository.
set -euo pipefail

# choose-k.md
manymeans fit data/s1.txt.gz -k 10..20 --models 20 --seed 1 # 220 models; the table has the best of each k
manymeans choose data/s1.txt.gz -k 10..20 --seed 1 --model s1-chosen.npz

# report.md
manymeans choose data/s1.txt.gz -k 2..20 --report s1.html
manymeans fit data/bike_sharing.csv.gz -k 6 --models 5 --numeric-only --scale standard --report bikes.html
manymeans search data/s1.txt.gz -k 30 --rounds 20 --report search.html

# prepare-a-table.md
manymeans describe data/bike_sharing.csv.gz # columns, ranges, gaps, text
manymeans fit data/bike_sharing.csv.gz -k 4 --columns hr,workingday,temp,hum,cnt --scale standard \
  --models 10 --seed 1 --model hours.npz --labels hours.csv
manymeans predict hours.npz data/bike_sharing.csv.gz --labels again.csv
cmp hours.csv again.csv

# more-data-than-memory.md
manymeans convert data/kddcup99_10percent.csv.gz kdd.npy --columns 1-41 --numeric-only --dtype float64
manymeans fit kdd.npy -k 16 --seed 1 --memory 64MiB --threads 2 # the points are 150 MB
rm kdd.npy

# which-algorithm.md
manymeans fit data/s1.txt.gz -k 15 --seed 1 --algorithm kdtree
manymeans fit data/s1.txt.gz -k 15 --seed 1 --algorithm brute # the same digest
