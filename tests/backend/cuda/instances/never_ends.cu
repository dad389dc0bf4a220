#include "never_ends.h"

#include <cuda_runtime.h>

namespace manymeans::test {
namespace {

__global__ void waits_for_ever(const volatile int* never) {
  while (*never == 0) {
  }
}

}  // namespace

void never_ends() {
  int* never = nullptr;
  cudaMalloc(&never, sizeof(int));
  cudaMemset(never, 0, sizeof(int));
  waits_for_ever<<<1, 1>>>(never);
  cudaDeviceSynchronize();
}

}  // namespace manymeans::test
