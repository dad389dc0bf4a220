# The CUDA language, for -DMANYMEANS_CUDA=ON. Machine code for Ampere (80) and Hopper (90a: with its matrix units).
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 80 90a)
endif()
find_program(CMAKE_CUDA_COMPILER nvcc HINTS /usr/local/cuda/bin)
enable_language(CUDA)
# CMake 3.25 knows the flag of C++17 only.
if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
endif()

# What the contract asks, for device and host code.
target_compile_options(
  manymeans_flags
  INTERFACE
    $<$<COMPILE_LANGUAGE:CUDA>:-fmad=false;-Xcompiler=-Wall,-Wextra,-Wno-unknown-pragmas,-Wno-unknown-pragmas,-ffp-contract=off,-frounding-math>
)
