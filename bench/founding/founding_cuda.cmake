# The plain CUDA programs. Each tests itself at a tiny shape and is skipped where there is no device.

# founding_cuda_program(name option...): the options are those of its test.
function(founding_cuda_program name)
  add_executable(${name} ${name}.cu)
  target_link_libraries(${name} PRIVATE founding)
  target_compile_options(${name} PRIVATE -Xcompiler=-Wall,-Wextra,-Wno-unknown-pragmas)
  add_test(NAME founding/${name} COMMAND ${name} ${ARGN})
  set_tests_properties(founding/${name} PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77)
endfunction()

founding_cuda_program(plain_cuda_kmeans --rows 1001 --columns 5 --clusters 7 --iterations 4)
founding_cuda_program(plane_kmeans --rows 1001 --clusters 7 --iterations 4)
founding_cuda_program(low_dimensional --rows 1001 --columns 7 --clusters 10 --iterations 2)
founding_cuda_program(read_overhead --rows 1001 --columns 34 --clusters 19 --iterations 2)
founding_cuda_program(plain_product --rows 67 --depth 50 --columns 70)
