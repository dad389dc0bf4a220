#!/bin/sh
# Runs the CUDA programs of studies 2, 3 and 5 at the studies' shapes. Prints a line of JSON for each measurement.
#
#   bench/founding/on_gpu.sh build/release/bin > lines.json      (the folder of the programs; meant to take 2 minutes)
#
# Exit code: 0, or 1 if a program failed or found a wrong answer.
programs=$1
failed=0
measure() {
  program=$1
  shift
  "$programs/$program" "$@" || failed=1
}

# Study 2, tables 1 to 3: kmeans01 to kmeans04, with the study's iterations.
measure plain_cuda_kmeans --judge cpu --clusters 3 --rows 351 --columns 34 --iterations 7
measure plain_cuda_kmeans --judge cpu --clusters 3 --rows 7089 --columns 4 --iterations 7
measure plain_cuda_kmeans --judge cpu --clusters 3 --rows 191681 --columns 22 --iterations 4
measure plain_cuda_kmeans --judge cpu --clusters 3 --rows 488565 --columns 8 --iterations 14
for size in 5 8 10 32 33 1000; do measure plain_product --rows $size; done # tables 4

# Study 3, tables 4.1 and 4.2: 50 labellings. Table 4.3: one.
for columns in 2 4 6 8 10 12 14 16 18 20 22; do
  measure low_dimensional --judge cpu --rows 1000000 --clusters 100 --columns $columns --iterations 50 --repeats 1
done
measure read_overhead --judge cpu --rows 819200 --columns 34 --clusters 32 --iterations 1

# Study 5, figures 4 to 6 and table 1.
for rows in 10000 100000 1000000; do
  measure plane_kmeans --judge cpu --rows $rows --clusters 16 --iterations 100
done
for clusters in 2 4 8 32 64 128; do
  measure plane_kmeans --judge cpu --rows 100000 --clusters $clusters --iterations 100
done
for block in 32 64 128 512 1024; do
  measure plane_kmeans --judge cpu --rows 100000 --clusters 16 --iterations 100 --block $block
done
exit $failed
