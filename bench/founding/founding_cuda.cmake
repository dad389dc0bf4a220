# The plain CUDA programs. Kernels may fuse a product and a sum, as CUDA does by default; the library's flags forbid it.
foreach(
  program
  plain_cuda_kmeans
  plane_kmeans
  low_dimensional
  read_overhead
  plain_product
)
  add_executable(${program} ${program}.cu)
  target_link_libraries(${program} PRIVATE founding)
  target_compile_options(${program} PRIVATE -Xcompiler=-Wall,-Wextra,-Wno-unknown-pragmas)
endforeach()
