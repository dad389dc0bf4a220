// Thin names for the instructions of Hopper that C++ has no words for: barriers in shared memory, the copy engine, and
// the order of asynchronous products.
#pragma once

#include "backend/cuda/runtime/wait_point.cuh"

#include <cuda.h>

#include <cstdint>
#include <utility>

namespace manymeans::cuda {

__device__ __forceinline__ uint32_t shared_address(const void* p) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}

// ---- Barriers: a phase ends when `arrivals` have come and all announced bytes are there.

__device__ __forceinline__ void barrier_init(uint64_t* barrier, uint32_t arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(arrivals) : "memory");
}

__device__ __forceinline__ void barrier_arrive(uint64_t* barrier) {
  wait_point();
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier)) : "memory");
}

__device__ __forceinline__ void barrier_arrive_expect(uint64_t* barrier, uint32_t bytes) {
  wait_point();
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes)
               : "memory");
  wait_point();
}

/// Waits until the phase of this parity has ended.
__device__ __forceinline__ void barrier_wait(uint64_t* barrier, uint32_t parity) {
  wait_point();
  asm volatile(
      "{\n.reg .pred p;\n"
      "again:\nmbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n"
      "@p bra done;\nbra again;\ndone:\n}\n" ::"r"(shared_address(barrier)),
      "r"(parity)
      : "memory");
  wait_point();
}

/// After barrier_init() of all, before the block synchronises: threads and the copy engine find them begun.
__device__ __forceinline__ void barriers_are_begun() {
  asm volatile("fence.mbarrier_init.release.cluster;\nfence.proxy.async.shared::cta;" ::: "memory");
}

// ---- The copy engine.

/// Orders this thread's accesses of shared memory before accesses by the copy engine and the matrix units after a later
/// arrival. The PTX manual calls these units another proxy.
__device__ __forceinline__ void fence_proxies() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/// A box of a matrix, its first element at (row, column), into shared memory; its bytes count for `barrier`.
__device__ __forceinline__ void copy_tile(void* to, const CUtensorMap* map, int column, int row, uint64_t* barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
          shared_address(to)),
      "l"(map), "r"(column), "r"(row), "r"(shared_address(barrier))
      : "memory");
}

/// `bytes` of memory, a multiple of 16, both sides aligned to 16.
__device__ __forceinline__ void copy_bytes(void* to, const void* from, uint32_t bytes, uint64_t* barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                   shared_address(to)),
               "l"(from), "r"(bytes), "r"(shared_address(barrier))
               : "memory");
}

// ---- Matrix products.

/// A panel in shared memory, aligned to 1024: rows of 64 halves (128 bytes). Their 16-byte chunks are permuted by the
/// row modulo 8, as the copy engine writes them with CU_TENSOR_MAP_SWIZZLE_128B.
__device__ __forceinline__ uint64_t panel_descriptor(const void* panel) {
  constexpr uint64_t kEightRows = 1024 >> 4;
  constexpr uint64_t kSwizzle128 = 1;
  return (shared_address(panel) & 0x3FFFF) >> 4 | uint64_t{1} << 16 | kEightRows << 32 | kSwizzle128 << 62;
}
constexpr uint64_t kDescriptorStep = 32 >> 4;  ///< 16 halves on

__device__ __forceinline__ void wgmma_fence() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
__device__ __forceinline__ void wgmma_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

/// Until at most kPending groups are under way.
template <int kPending>
__device__ __forceinline__ void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
  wait_point();
}

/// Keeps the compiler from moving uses of the register across.
__device__ __forceinline__ void pin(float& value) {
  asm volatile("" : "+f"(value)::"memory");
}
__device__ __forceinline__ void pin(int32_t& value) {
  asm volatile("" : "+r"(value)::"memory");
}
template <class Value, int kCount, int... kAt>
__device__ __forceinline__ void pin_each(Value (&values)[kCount], std::integer_sequence<int, kAt...> /*places*/) {
  (pin(values[kAt]), ...);
}
template <class Value, int kCount>
__device__ __forceinline__ void pin(Value (&values)[kCount]) {
  pin_each(values, std::make_integer_sequence<int, kCount>());
}

/// Four 8 x 8 blocks of halves: a 16 x 16 left side of a product.
__device__ __forceinline__ void load_blocks(uint32_t (&to)[4], uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(address)
               : "memory");
}

// ---- Registers move from the warps that copy to those that compute.

template <int kRegisters>
__device__ __forceinline__ void fewer_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}
template <int kRegisters>
__device__ __forceinline__ void more_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

}  // namespace manymeans::cuda
