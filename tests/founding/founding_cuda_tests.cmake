# The plain CUDA programs check themselves at small shapes. Without a device they exit with 77, which skips the test.
function(manymeans_founding_cuda_test program)
  add_test(NAME founding/${program} COMMAND ${program} --repeats 1 ${ARGN})
  set_tests_properties(founding/${program} PROPERTIES TIMEOUT 60 SKIP_RETURN_CODE 77)
endfunction()

manymeans_founding_cuda_test(plain_cuda_kmeans --rows 3001 --columns 5 --clusters 7 --iterations 6)
manymeans_founding_cuda_test(plane_kmeans --rows 3001 --clusters 7 --iterations 6)
manymeans_founding_cuda_test(low_dimensional --rows 3001 --columns 7 --clusters 10 --iterations 2)
manymeans_founding_cuda_test(read_overhead --rows 3001 --columns 34 --clusters 19 --iterations 2)
manymeans_founding_cuda_test(plain_product --rows 67 --depth 50 --columns 70)
