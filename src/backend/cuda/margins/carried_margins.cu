#include "backend/cuda/device/pass_device.cuh"
#include "backend/cuda/exact/label_changes.cuh"
#include "backend/cuda/margins/carried_margins.h"
#include "backend/cuda/runtime/device_memory.h"

#include <algorithm>

namespace manymeans::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / 32;
constexpr int kTogether = 4;  // rows of a thread
constexpr int kChunk = kThreads * kTogether;

// Returns true in the last block of the grid to come here, which then sees what the others wrote.
__device__ bool last_block(uint32_t* tickets) {
  __shared__ bool last;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    last = atomicAdd(tickets, 1U) + 1 == gridDim.x;
    if (last) *tickets = 0;
  }
  __syncthreads();
  if (last) __threadfence();
  return last;
}

// The max distance that a prototype moved since the pass before; by a warp. Its first thread knows. Everything of a
// step is loaded before anything is stored.
template <class T>
__device__ double shift_of(const MarginTask& task, const PassRange& range, int64_t k) {
  constexpr int kStep = 4;
  const T* now = static_cast<const T*>(range.prototypes) + k * task.d;
  T* kept = static_cast<T*>(task.previous) + k * task.d;
  double sum = 0;
  bool any = false;
  for (int64_t first = threadIdx.x % 32; first < task.d; first += 32 * kStep) {
    T values[kStep] = {};
    T before[kStep] = {};
#pragma unroll
    for (int i = 0; i < kStep; ++i) {
      if (first + i * 32 >= task.d) break;
      values[i] = now[first + i * 32];
      before[i] = kept[first + i * 32];
    }
#pragma unroll
    for (int i = 0; i < kStep; ++i) {
      if (first + i * 32 >= task.d) break;
      kept[first + i * 32] = values[i];
      const double t = __dsub_rn(static_cast<double>(values[i]), static_cast<double>(before[i]));
      any = any || t != 0;
      sum = __fma_rn(t, t, sum);
    }
  }
  sum = warp_sum(sum);
  if (__ballot_sync(~0U, any) == 0) return 0;
  return task.bound_scale * (sqrt(sum) * task.scale + task.underflow) * (1 + 0x1p-20);
}

// The farthest two.
struct Farthest {
  float first = 0, second = 0;
  int32_t which = -1;

  __device__ void take(const Farthest& other) {
    second = fmaxf(fmaxf(second, other.second), fminf(first, other.first));
    which = other.first > first ? other.which : which;
    first = fmaxf(first, other.first);
  }
};

// Computes the losses of each label's rows: its own shift, and the longest of the others'. By a block.
__device__ void find_losses(const MarginTask& task, int64_t k) {
  __shared__ Farthest of_warps[kWarps];
  const volatile float* shifts = task.shifts;
  Farthest mine;
  for (int64_t c = threadIdx.x; c < k; c += kThreads) mine.take({shifts[c], 0, static_cast<int32_t>(c)});
  for (int step = 16; step > 0; step /= 2) {
    mine.take({__shfl_xor_sync(~0U, mine.first, step), __shfl_xor_sync(~0U, mine.second, step),
               __shfl_xor_sync(~0U, mine.which, step)});
  }
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = mine;
  __syncthreads();
  Farthest all;
  for (const Farthest& of_warp : of_warps) all.take(of_warp);
  for (int64_t c = threadIdx.x; c < k; c += kThreads) {
    // Its factor also pays for the canonical slack's growth with the row's distance.
    const float own = __fmul_ru(shifts[c], 1 + 0x1p-20F);
    task.losses[c] = __fadd_ru(own, c == all.which ? all.second : all.first);
  }
}

// A warp a prototype; the last block has the losses.
__global__ void __launch_bounds__(kThreads) follow_kernel(MarginTask task) {
  if (stopped(task.ranges)) return;
  const PassRange range = task.ranges.at[0];
  const int64_t k = static_cast<int64_t>(blockIdx.x) * kWarps + threadIdx.x / 32;
  if (k < range.k) {
    const double shift = task.ranges.float64 ? shift_of<double>(task, range, k) : shift_of<float>(task, range, k);
    // Not a number where the prototype before was none: then no margin is known.
    if (threadIdx.x % 32 == 0) task.shifts[k] = __double2float_ru(shift);
  }
  if (last_block(&task.state->followed)) find_losses(task, range.k);
}

// Stores the numbers of a chunk's rows that are left, in their order; `mine`: a bit for each of the thread's rows.
__device__ void store_left(const MarginTask& task, int64_t first_row, uint32_t mine) {
  __shared__ uint32_t of_warps[kWarps];
  __shared__ uint32_t base;
  const auto count = static_cast<uint32_t>(__popc(mine));
  const uint32_t inclusive = warp_inclusive_sum(count);
  if (threadIdx.x % 32 == 31) of_warps[threadIdx.x / 32] = inclusive;
  __syncthreads();
  uint32_t before = inclusive - count;
  uint32_t all = 0;
#pragma unroll
  for (unsigned w = 0; w < kWarps; ++w) {
    if (w < threadIdx.x / 32) before += of_warps[w];
    all += of_warps[w];
  }
  if (threadIdx.x == 0) base = all == 0 ? 0 : atomicAdd(&task.state->left, all);
  __syncthreads();
  int64_t at = static_cast<int64_t>(base) + before;
  for (uint32_t rows = mine; rows != 0 && at < task.max_left; rows &= rows - 1, ++at) {
    task.row_numbers[at] = static_cast<uint32_t>(first_row + __ffs(static_cast<int>(rows)) - 1);
  }
}

// Updates four rows of a thread: margins, and the labels of kept rows. Returns a bit for each row that is left.
__device__ uint32_t keep_rows(const MarginTask& task, int32_t slot, int64_t first) {
  uint32_t labels[kTogether];
  load_four(task.current, slot, first, labels);
  float4& stored = *reinterpret_cast<float4*>(task.margins + first);
  const float4 before = stored;
  float margins[kTogether] = {before.x, before.y, before.z, before.w};
  uint32_t left = 0;
#pragma unroll
  for (int r = 0; r < kTogether; ++r) {
    if (first + r >= task.rows) break;  // no label there
    margins[r] = __fadd_rd(margins[r], -task.losses[labels[r]]);
    if (margins[r] > 0) {  // false for what is not known
      store_label(task.next, slot, first + r, labels[r]);
    } else {
      margins[r] = NAN;
      left |= 1U << r;
    }
  }
  stored = make_float4(margins[0], margins[1], margins[2], margins[3]);
  return left;
}

// Chooses the rows to screen, once all rows are counted; by one thread.
__device__ void choose_rows(const MarginTask& task, bool knows, bool far) {
  MarginState& state = *task.state;
  const int64_t left = *static_cast<volatile uint32_t*>(&state.left);
  const bool on_their_own = knows && left <= task.max_left;
  state.left = 0;
  // With a prototype that cannot be screened every row gets canonical distances.
  state.skip_all = far || on_their_own ? 1 : 0;
  state.skip_left = on_their_own ? 0 : 1;
  state.all_rows = static_cast<uint32_t>(task.rows);
  for (int p = 0; p < kMaxPieces; ++p) {
    const int64_t rows = min(task.piece_rows, max(int64_t{0}, left - p * task.piece_rows));
    state.piece_rows[p] = on_their_own ? static_cast<uint32_t>(rows) : 0;
  }
  if (on_their_own) task.ranges.counters[0].kept = static_cast<unsigned long long>(task.rows - left);
}

__global__ void __launch_bounds__(kThreads) keep_kernel(MarginTask task) {
  if (stopped(task.ranges)) {
    if (blockIdx.x == 0 && threadIdx.x == 0) task.state->skip_all = task.state->skip_left = 1;
    return;
  }
  const PassRange range = task.ranges.at[0];
  const bool far = *task.far != 0;
  const bool knows = task.known && !far && !in_first_pass(task.ranges, range);
  for (int64_t chunk = int64_t{blockIdx.x} * kChunk; chunk < task.rows; chunk += int64_t{gridDim.x} * kChunk) {
    const int64_t first = chunk + static_cast<int64_t>(threadIdx.x) * kTogether;
    uint32_t left = 0;
    if (first < task.rows) {
      if (knows) {
        left = keep_rows(task, range.slot, first);
      } else {
        *reinterpret_cast<float4*>(task.margins + first) = make_float4(NAN, NAN, NAN, NAN);
      }
    }
    if (!knows) continue;
    store_left(task, first, left);
    __syncthreads();  // before what the threads share is written again
  }
  if (last_block(&task.state->kept) && threadIdx.x == 0) choose_rows(task, knows, far);
}

// A thread for every 16 bytes of a row.
__global__ void __launch_bounds__(kThreads) gather_kernel(MarginTask task, PackedRows points, int piece) {
  if (task.state->skip_left != 0) return;
  const uint32_t rows = task.state->piece_rows[piece];
  const uint32_t* numbers = task.row_numbers + piece * task.piece_rows;
  const auto parts = static_cast<uint32_t>(points.padded_columns / 8);
  const auto* from = static_cast<const uint4*>(points.values);
  auto* to = static_cast<uint4*>(const_cast<void*>(task.piece.values));
  const uint64_t all = uint64_t{rows} * parts;
  const uint64_t threads = uint64_t{gridDim.x} * kThreads;
  const uint64_t thread = uint64_t{blockIdx.x} * kThreads + threadIdx.x;
#pragma unroll 4
  for (uint64_t i = thread; i < all; i += threads) {
    to[i] = __ldcs(from + uint64_t{numbers[i / parts]} * parts + i % parts);
  }
  for (uint64_t i = thread; i < rows; i += threads) {
    const_cast<float*>(task.piece.radii)[i] = points.radii[numbers[i]];
    const_cast<float*>(task.piece.norms)[i] = points.norms[numbers[i]];
  }
}

}  // namespace

void follow_prototypes(const MarginTask& task, cudaStream_t stream) {
  const int64_t blocks = (task.ranges.max_clusters + kWarps - 1) / kWarps;
  follow_kernel<<<static_cast<unsigned>(blocks), kThreads, 0, stream>>>(task);
  check_launch("following the prototypes");
}

void keep_labels(const MarginTask& task, int multiprocessors, cudaStream_t stream) {
  const int64_t blocks = std::min<int64_t>((task.rows + kChunk - 1) / kChunk, int64_t{8} * multiprocessors);
  keep_kernel<<<static_cast<unsigned>(blocks), kThreads, 0, stream>>>(task);
  check_launch("keeping labels");
}

void gather_left(const MarginTask& task, const PackedRows& points, int piece, int multiprocessors,
                 cudaStream_t stream) {
  gather_kernel<<<static_cast<unsigned>(8 * multiprocessors), kThreads, 0, stream>>>(task, points, piece);
  check_launch("gathering the rows left");
}

}  // namespace manymeans::cuda
