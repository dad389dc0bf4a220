// The tensor-core screen for Hopper: all scores of all rows, the best two of each kept in registers. docs/screens.md,
// "Tensor cores", has the proof; screen.h what goes in and out.
//
// Two kernels, both persistent, with one warp that copies (TMA, a ring of barriers) and groups of four warps that
// multiply. In cycles of a multiprocessor's quarter and for 32 scores the product takes D / 16, the epilogue five
// instructions, four of them on a pipe of half rate.
//
//   narrow (D <= 128): 256 rows a block, whose fp16 values stay in registers for all columns. With 128 columns a tile
//     a group owns 128 rows as two halves of 64, and the products of one half run while it is in the epilogue of the
//     other; column tiles are read once for 256 rows, since at 128 the second cache would have to deliver 32 bytes a
//     cycle. With 64 columns, small models: four groups of 64 rows.
//   wide: 128 rows a block, 64 a group; the groups are some panels apart, so that one multiplies while the other is in
//     its epilogue. The points stay in shared memory up to D = 512; beyond, they stream in together with the columns.
//
// Rows with more possible columns than fit into a list entry are copied together and go through the same kernels once
// more, with another epilogue that notes all of them (matrix_collect.cuh).
//
// What was tried, and what limits it: bench/results/h200/tensor_screen.md.
#include <manymeans/error.h>

#include "backend/cuda/matrix_collect.cuh"
#include "backend/cuda/matrix_finish.cuh"
#include "backend/cuda/ptx.cuh"
#include "backend/cuda/screen.h"
#include "backend/cuda/top_two.cuh"
#include "backend/cuda/wgmma.cuh"

#include <cuda.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <string>
#include <type_traits>

namespace manymeans::cuda {
namespace {

constexpr int kPanel = 64;           // halves in 128 bytes, what one swizzled row holds
constexpr int kGroup = 128;          // threads that issue a product together
constexpr int kMostShared = 232448;  // of a block on compute capability 9.0

// A position in a ring of buffers, and the parity of the phase it is in.
struct Ring {
  int at = 0;
  uint32_t parity = 0;

  template <int kLength>
  __device__ __forceinline__ void next() {
    if (++at == kLength) {
      at = 0;
      parity ^= 1;
    }
  }
};

// One group waits here until the other has come by.
constexpr int kMeeting = 1;  // a barrier; 0 is that of __syncthreads
__device__ __forceinline__ void await_meeting() {
  asm volatile("bar.sync %0, %1;" ::"n"(kMeeting), "n"(2 * kGroup) : "memory");
}
__device__ __forceinline__ void pass_meeting() {
  asm volatile("bar.arrive %0, %1;" ::"n"(kMeeting), "n"(2 * kGroup) : "memory");
}

__device__ __forceinline__ void release(uint64_t* barrier) {
  __syncwarp();
  if (threadIdx.x % 32 == 0) barrier_arrive(barrier);
}

// ---------------------------------------------------------------------------------------------------------------------

// kSteps: of 16 values a row. kGroups of threads own kHalves * 64 rows each.
template <int kSteps_, int kColumns_, int kGroups_, int kHalves_>
struct Narrow {
  static constexpr int kSteps = kSteps_;
  static constexpr int kColumns = kColumns_;
  static constexpr int kGroups = kGroups_;
  static constexpr int kHalves = kHalves_;
  static constexpr int kThreads = (kGroups + 1) * kGroup;
  // What is left of the block's registers when the copying group keeps 24 a thread: 168, 128 or 96 a thread at first.
  static constexpr int kRegisters = kGroups == 2 ? 240 : kGroups == 3 ? 160 : 112;
  static constexpr int kRows = kGroups * kHalves * 64;
  static constexpr int kBoxRows = std::min(kRows, 64 * kHalves);
  static constexpr int kPanels = (kSteps + 3) / 4;
  static constexpr int kPointBuffers = kPanels == 1 ? 2 : 1;
  static constexpr int kStages = kPanels == 1 || kColumns == 64 ? 6 : 4;
  static constexpr int kPointBytes = kPanels * kRows * kPanel * 2;
  static constexpr int kTileBytes = kPanels * kColumns * kPanel * 2;
  static constexpr int kTermBytes = tile_floats(kColumns) * 4;

  struct Shared {
    alignas(1024) unsigned char points[kPointBuffers][kPointBytes];
    alignas(1024) unsigned char tiles[kStages][kTileBytes];
    alignas(16) float terms[kStages][tile_floats(kColumns)];
    uint64_t points_full[kPointBuffers];
    uint64_t points_empty[kPointBuffers];
    uint64_t tile_full[kStages];
    uint64_t tile_empty[kStages];
  };
  static_assert(sizeof(Shared) <= kMostShared);
};

// Half of the rows of a thread group: 64, of which a thread shares two.
template <int kSteps, class Epilogue>
struct Half {
  uint32_t values[kSteps][4];
  Epilogue epilogue;
};

template <class Shape, class Work, class Epilogue>
__device__ __forceinline__ void load_half(const MatrixTask& task, const Work& work, Half<Shape::kSteps, Epilogue>& half,
                                          const unsigned char* points, int row) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  const int row_of_lane = row + lane % 16;
#pragma unroll
  for (int step = 0; step < Shape::kSteps; ++step) {
    const int chunk = (step % 4 * 2 + lane / 16) ^ (row_of_lane % 8);
    load_blocks(half.values[step],
                shared_address(points) + step / 4 * (Shape::kRows * 128) + row_of_lane * 128 + chunk * 16);
  }
  half.epilogue.begin(task, work.range(), static_cast<int64_t>(work.row_tile()) * Shape::kRows + row + lane / 4);
}

template <class Shape>
__device__ __forceinline__ void multiply(const uint32_t (&values)[Shape::kSteps][4], const unsigned char* tile,
                                         float (&sums)[Shape::kColumns / 2]) {
  pin(sums);
  wgmma_fence();
#pragma unroll
  for (int step = 0; step < Shape::kSteps; ++step) {
    const uint64_t b = panel_descriptor(tile + step / 4 * (Shape::kColumns * 128)) + step % 4 * kDescriptorStep;
    wgmma<Shape::kColumns>(sums, values[step], b, step == 0 ? 0 : 1);
  }
  wgmma_commit();
}

template <class Shape, class Epilogue>
__device__ __forceinline__ void finish_tile(const MatrixTask& task, Epilogue& epilogue,
                                            const float (&sums)[Shape::kColumns / 2], const float* terms,
                                            int32_t tile) {
  const auto* order = reinterpret_cast<const uint32_t*>(terms + Shape::kColumns + kTermFloats);
  epilogue.template take_tile<Shape::kColumns>(task, sums, terms, order, tile);
}

template <class Shape, class Work>
__device__ __forceinline__ void narrow_copy(const MatrixTask& task, const CUtensorMap* points,
                                            const CUtensorMap* columns, typename Shape::Shared& shared) {
  constexpr int kColumns = Shape::kColumns;
  Ring tile_ring;
  Ring point_ring;
  for (Work work(task); work.more(); work.next()) {
    barrier_wait(&shared.points_empty[point_ring.at], point_ring.parity ^ 1);
    uint64_t* points_full = &shared.points_full[point_ring.at];
    barrier_arrive_expect(points_full, Shape::kPointBytes);
    for (int panel = 0; panel < Shape::kPanels; ++panel) {
      for (int row = 0; row < Shape::kRows; row += Shape::kBoxRows) {
        copy_box(shared.points[point_ring.at] + (panel * Shape::kRows + row) * 128, points, panel * kPanel,
                 work.row_tile() * Shape::kRows + row, points_full);
      }
    }
    point_ring.template next<Shape::kPointBuffers>();
    for (int tile = work.first_tile(); tile < work.last_tile(); ++tile) {
      barrier_wait(&shared.tile_empty[tile_ring.at], tile_ring.parity ^ 1);
      uint64_t* full = &shared.tile_full[tile_ring.at];
      barrier_arrive_expect(full, Shape::kTileBytes + Shape::kTermBytes);
      for (int panel = 0; panel < Shape::kPanels; ++panel) {
        copy_box(shared.tiles[tile_ring.at] + panel * kColumns * 128, columns, panel * kPanel, tile * kColumns, full);
      }
      copy_bytes(shared.terms[tile_ring.at], task.columns.terms + tile * tile_floats(kColumns), Shape::kTermBytes,
                 full);
      tile_ring.template next<Shape::kStages>();
    }
  }
}

template <class Shape, class Work, class Epilogue>
__device__ __forceinline__ void narrow_compute(const MatrixTask& task, typename Shape::Shared& shared) {
  constexpr int kHalves = Shape::kHalves;
  Half<Shape::kSteps, Epilogue> halves[kHalves];
  float sums[kHalves][Shape::kColumns / 2];
  const int group = static_cast<int>(threadIdx.x) / kGroup;
  const int row = static_cast<int>(threadIdx.x) % kGroup / 32 * 16 + group * kHalves * 64;
  Ring tile_ring;
  Ring point_ring;
  for (Work work(task); work.more(); work.next()) {
    barrier_wait(&shared.points_full[point_ring.at], point_ring.parity);
#pragma unroll
    for (int h = 0; h < kHalves; ++h) {
      load_half<Shape>(task, work, halves[h], shared.points[point_ring.at], row + h * 64);
    }
    release(&shared.points_empty[point_ring.at]);
    for (int32_t tile = work.first_tile(); tile < work.last_tile(); ++tile) {
      const int stage = tile_ring.at;
      barrier_wait(&shared.tile_full[stage], tile_ring.parity);
#pragma unroll
      for (int h = 0; h < kHalves; ++h) multiply<Shape>(halves[h].values, shared.tiles[stage], sums[h]);
      if constexpr (kHalves == 2) {
        wgmma_wait<1>();
        pin(sums[0]);
        finish_tile<Shape>(task, halves[0].epilogue, sums[0], shared.terms[stage], tile);
      }
      wgmma_wait<0>();
      pin(sums[kHalves - 1]);
      finish_tile<Shape>(task, halves[kHalves - 1].epilogue, sums[kHalves - 1], shared.terms[stage], tile);
      release(&shared.tile_empty[stage]);
      tile_ring.template next<Shape::kStages>();
    }
    point_ring.template next<Shape::kPointBuffers>();
  }
}

template <class Shape, class Work, class Epilogue>
__global__ void __launch_bounds__(Shape::kThreads, 1)
    narrow_screen(const __grid_constant__ MatrixTask task, const __grid_constant__ CUtensorMap points,
                  const __grid_constant__ CUtensorMap columns) {
  extern __shared__ __align__(1024) unsigned char memory[];
  auto& shared = *reinterpret_cast<typename Shape::Shared*>(memory);
  if (threadIdx.x == 0) {
    for (int i = 0; i < Shape::kPointBuffers; ++i) {
      barrier_init(&shared.points_full[i], 1);
      barrier_init(&shared.points_empty[i], 4 * Shape::kGroups);
    }
    for (int i = 0; i < Shape::kStages; ++i) {
      barrier_init(&shared.tile_full[i], 1);
      barrier_init(&shared.tile_empty[i], 4 * Shape::kGroups);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  if (threadIdx.x >= Shape::kGroups * kGroup) {
    fewer_registers<24>();
    if (threadIdx.x == Shape::kGroups * kGroup) narrow_copy<Shape, Work>(task, &points, &columns, shared);
  } else {
    more_registers<Shape::kRegisters>();
    narrow_compute<Shape, Work, Epilogue>(task, shared);
  }
}

// ---------------------------------------------------------------------------------------------------------------------

// kResident: panels of points that stay in shared memory; 0: they are streamed with the columns.
template <int kColumns, int kResident>
struct Wide {
  static constexpr int kThreads = 3 * kGroup;
  static constexpr int kRows = 128;
  static constexpr int kBoxRows = kRows;
  static constexpr bool kStreamed = kResident == 0;
  static constexpr int kPointBytes = kRows * kPanel * 2;
  static constexpr int kTileBytes = kColumns * kPanel * 2;
  static constexpr int kStageBytes = kTileBytes + (kStreamed ? kPointBytes : 0);
  static constexpr int kResidentBytes = kResident * kPointBytes;
  static constexpr int kStages = std::min(8, (kMostShared - kResidentBytes - 3 * 1024) / kStageBytes);
  static constexpr int kTermStages = 2;
  static constexpr int kTermBytes = (kColumns + kTermFloats) * 4;

  struct Shared {
    alignas(1024) unsigned char points[kStreamed ? kStages : kResident][kPointBytes];
    alignas(1024) unsigned char tiles[kStages][kTileBytes];
    alignas(16) float terms[kTermStages][kColumns + kTermFloats];
    uint64_t points_full[std::max(1, kResident)];
    uint64_t points_empty[std::max(1, kResident)];
    uint64_t terms_full[kTermStages];
    uint64_t terms_empty[kTermStages];
    uint64_t full[kStages];
    uint64_t empty[kStages];
  };
  static_assert(sizeof(Shared) <= kMostShared);
};

template <int kColumns, int kResident, class Work>
__device__ __forceinline__ void wide_copy(const MatrixTask& task, const CUtensorMap* points, const CUtensorMap* columns,
                                          typename Wide<kColumns, kResident>::Shared& shared) {
  using Shape = Wide<kColumns, kResident>;
  Ring ring;
  Ring term_ring;
  uint32_t point_parity = 0;
  for (Work work(task); work.more(); work.next()) {
    const int row = work.row_tile() * Shape::kRows;
    for (int tile = work.first_tile(); tile < work.last_tile(); ++tile) {
      barrier_wait(&shared.terms_empty[term_ring.at], term_ring.parity ^ 1);
      barrier_arrive_expect(&shared.terms_full[term_ring.at], Shape::kTermBytes);
      copy_bytes(shared.terms[term_ring.at], task.columns.terms + tile * tile_floats(kColumns), Shape::kTermBytes,
                 &shared.terms_full[term_ring.at]);
      term_ring.template next<Shape::kTermStages>();
      for (int panel = 0; panel < task.panels; ++panel) {
        if (!Shape::kStreamed && tile == work.first_tile()) {
          barrier_wait(&shared.points_empty[panel], point_parity ^ 1);
          barrier_arrive_expect(&shared.points_full[panel], Shape::kPointBytes);
          copy_box(shared.points[panel], points, panel * kPanel, row, &shared.points_full[panel]);
        }
        barrier_wait(&shared.empty[ring.at], ring.parity ^ 1);
        uint64_t* full = &shared.full[ring.at];
        barrier_arrive_expect(full, Shape::kStageBytes);
        if (Shape::kStreamed) copy_box(shared.points[ring.at], points, panel * kPanel, row, full);
        copy_box(shared.tiles[ring.at], columns, panel * kPanel, tile * kColumns, full);
        ring.template next<Shape::kStages>();
      }
    }
    point_parity ^= 1;
  }
}

template <int kColumns, int kResident, class Work, class Epilogue>
__device__ __forceinline__ void wide_compute(const MatrixTask& task,
                                             typename Wide<kColumns, kResident>::Shared& shared) {
  using Shape = Wide<kColumns, kResident>;
  float sums[kColumns / 2];
  const int group = static_cast<int>(threadIdx.x) / kGroup;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int row = static_cast<int>(threadIdx.x) / 32 * 16 + lane / 4;
  Ring ring;
  Ring term_ring;
  uint32_t point_parity = 0;
  // The second group starts every tile some panels after the first, so that their epilogues do not coincide. The first
  // cannot come by twice before the second: the ring is too short for that, or there is no lag.
  int lag = min(task.panels, Shape::kStages) - 1;
  if (task.panels + lag < Shape::kStages) lag = 0;
  for (Work work(task); work.more(); work.next()) {
    Epilogue epilogue;
    epilogue.begin(task, work.range(), static_cast<int64_t>(work.row_tile()) * Shape::kRows + row);
    for (int32_t tile = work.first_tile(); tile < work.last_tile(); ++tile) {
      int before = -1;
      for (int panel = 0; panel < task.panels; ++panel) {
        if (lag > 0 && group == 0 && panel == lag) pass_meeting();
        if (lag > 0 && group == 1 && panel == 0) await_meeting();
        if (!Shape::kStreamed && tile == work.first_tile()) barrier_wait(&shared.points_full[panel], point_parity);
        barrier_wait(&shared.full[ring.at], ring.parity);
        const unsigned char* of_points = shared.points[Shape::kStreamed ? ring.at : panel] + group * 64 * 128;
        const uint64_t a = panel_descriptor(of_points);
        const uint64_t b = panel_descriptor(shared.tiles[ring.at]);
        pin(sums);
        wgmma_fence();
#pragma unroll
        for (int step = 0; step < 4; ++step) {
          wgmma<kColumns>(sums, a + step * kDescriptorStep, b + step * kDescriptorStep, panel + step == 0 ? 0 : 1);
        }
        wgmma_commit();
        if (before >= 0) {
          wgmma_wait<1>();
          release(&shared.empty[before]);
          if (!Shape::kStreamed && tile == work.last_tile() - 1) release(&shared.points_empty[panel - 1]);
        }
        before = ring.at;
        ring.template next<Shape::kStages>();
      }
      wgmma_wait<0>();
      pin(sums);
      release(&shared.empty[before]);
      if (!Shape::kStreamed && tile == work.last_tile() - 1) release(&shared.points_empty[task.panels - 1]);

      barrier_wait(&shared.terms_full[term_ring.at], term_ring.parity);
      const float* terms = shared.terms[term_ring.at];
      const uint32_t* order = task.columns.order + static_cast<int64_t>(tile) * kColumns;
      epilogue.template take_tile<kColumns>(task, sums, terms, order, tile);
      release(&shared.terms_empty[term_ring.at]);
      term_ring.template next<Shape::kTermStages>();
    }
    point_parity ^= 1;
  }
}

template <int kColumns, int kResident, class Work, class Epilogue>
__global__ void __launch_bounds__(3 * kGroup, 1)
    wide_screen(const __grid_constant__ MatrixTask task, const __grid_constant__ CUtensorMap points,
                const __grid_constant__ CUtensorMap columns) {
  using Shape = Wide<kColumns, kResident>;
  extern __shared__ __align__(1024) unsigned char memory[];
  auto& shared = *reinterpret_cast<typename Shape::Shared*>(memory);
  if (threadIdx.x == 0) {
    for (int i = 0; i < kResident; ++i) {
      barrier_init(&shared.points_full[i], 1);
      barrier_init(&shared.points_empty[i], 8);
    }
    for (int i = 0; i < Shape::kTermStages; ++i) {
      barrier_init(&shared.terms_full[i], 1);
      barrier_init(&shared.terms_empty[i], 8);
    }
    for (int i = 0; i < Shape::kStages; ++i) {
      barrier_init(&shared.full[i], 1);
      barrier_init(&shared.empty[i], 8);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  if (threadIdx.x >= 2 * kGroup) {
    fewer_registers<24>();
    if (threadIdx.x == 2 * kGroup) wide_copy<kColumns, kResident, Work>(task, &points, &columns, shared);
  } else {
    more_registers<240>();
    wide_compute<kColumns, kResident, Work, Epilogue>(task, shared);
  }
}

// ---------------------------------------------------------------------------------------------------------------------

// One block a tile: offsets in the order of the epilogue, the largest slope and error, and the model.
__global__ void gather_terms(PackedColumns columns) {
  const int tile = static_cast<int>(blockIdx.x);
  const int column = static_cast<int>(threadIdx.x);
  const int width = columns.tile_columns;
  float* out = columns.terms + tile * tile_floats(width);
  const int64_t from = static_cast<int64_t>(tile) * width + column;
  out[offset_place(column)] = columns.offsets[from];
  reinterpret_cast<uint32_t*>(out)[width + kTermFloats + column] = columns.order[from];

  __shared__ float slopes[256];
  __shared__ float errors[256];
  slopes[column] = columns.slopes[from];
  errors[column] = columns.errors[from];
  __syncthreads();
  for (int half = width / 2; half > 0; half /= 2) {
    if (column < half) {
      slopes[column] = fmaxf(slopes[column], slopes[column + half]);
      errors[column] = fmaxf(errors[column], errors[column + half]);
    }
    __syncthreads();
  }
  if (column != 0) return;
  auto& terms = *reinterpret_cast<TileTerms*>(out + width);
  terms = TileTerms{slopes[0], errors[0], 0, 0, -1, 0, {}};
  for (int model = 0; model < columns.models; ++model) {
    const ColumnRange& range = columns.ranges[model];
    if (from < range.first || from >= range.first + range.count) continue;
    terms.slack = range.slack;
    terms.underflow = range.underflow;
    terms.slot = range.slot;
    if (from + width >= range.first + range.count) terms.range = model;
  }
}

void check(cudaError_t status, const char* what) {
  if (status != cudaSuccess) {
    throw Error(ErrorCode::kUnavailable, "cuda", std::string(what) + ": " + cudaGetErrorString(status));
  }
}

// The driver's function that describes a matrix to the copy engine, found at run time: nothing is linked against it.
using EncodeTiled = CUresult (*)(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*, const cuuint64_t*,
                                 const cuuint64_t*, const cuuint32_t*, const cuuint32_t*, CUtensorMapInterleave,
                                 CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill);
EncodeTiled encode_tiled() {
  static const EncodeTiled function = [] {
    void* found = nullptr;
    cudaDriverEntryPointQueryResult result{};
    check(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000, cudaEnableDefault, &result),
          "cuTensorMapEncodeTiled");
    if (found == nullptr) throw Error(ErrorCode::kUnavailable, "cuda", "the driver has no cuTensorMapEncodeTiled");
    return reinterpret_cast<EncodeTiled>(found);
  }();
  return function;
}

// rows x columns halves, in boxes of box_rows x 64.
CUtensorMap describe(const void* values, int64_t rows, int64_t columns, int box_rows) {
  CUtensorMap map;
  const cuuint64_t sizes[2] = {static_cast<cuuint64_t>(columns), static_cast<cuuint64_t>(rows)};
  const cuuint64_t pitch[1] = {static_cast<cuuint64_t>(columns) * 2};
  const cuuint32_t box[2] = {kPanel, static_cast<cuuint32_t>(box_rows)};
  const cuuint32_t step[2] = {1, 1};
  const CUresult result = encode_tiled()(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, const_cast<void*>(values), sizes,
                                         pitch, box, step, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                                         CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS) {
    throw Error(ErrorCode::kUnavailable, "cuda", "cuTensorMapEncodeTiled: error " + std::to_string(result));
  }
  return map;
}

template <class Shape, class Kernel>
void launch(Kernel kernel, MatrixTask& task, const PackedRows& rows, cudaStream_t stream) {
  int device = 0;
  int processors = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  check(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device), "cudaDeviceGetAttribute");
  constexpr int kShared = sizeof(typename Shape::Shared);
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kShared), "cudaFuncSetAttribute");
  task.row_tiles = static_cast<int32_t>((rows.rows + Shape::kRows - 1) / Shape::kRows);
  const CUtensorMap points = describe(rows.values, rows.padded_rows, rows.padded_columns, Shape::kBoxRows);
  const CUtensorMap columns =
      describe(task.columns.values, task.columns.columns, rows.padded_columns, task.columns.tile_columns);
  const int blocks = std::min(processors, task.row_tiles);
  kernel<<<blocks, Shape::kThreads, kShared, stream>>>(task, points, columns);
  check(cudaGetLastError(), "the matrix screen");
}

// The two things that the kernels can do.
struct Prove {
  template <int kRows>
  using Work = AllRows<kRows>;
  using Epilogue = ProveRows;
};
struct Collect {
  template <int kRows>
  using Work = OpenTiles<kRows>;
  using Epilogue = CollectRows;
};

template <class Purpose, int kSteps, int kColumns>
void launch_steps(MatrixTask& task, const PackedRows& rows, cudaStream_t stream) {
  // 64 columns are little work for the tensor cores: more groups hide the latencies of the rest.
  using Shape = std::conditional_t<kColumns == 64, Narrow<kSteps, 64, 4, 1>, Narrow<kSteps, kColumns, 2, 2>>;
  using Work = typename Purpose::template Work<Shape::kRows>;
  launch<Shape>(narrow_screen<Shape, Work, typename Purpose::Epilogue>, task, rows, stream);
}

template <class Purpose, int kColumns>
void launch_narrow(MatrixTask& task, const PackedRows& rows, cudaStream_t stream) {
  const int steps = task.points.padded_columns / 16;
  if (steps <= 1) return launch_steps<Purpose, 1, kColumns>(task, rows, stream);
  if (steps <= 2) return launch_steps<Purpose, 2, kColumns>(task, rows, stream);
  if (steps <= 4) return launch_steps<Purpose, 4, kColumns>(task, rows, stream);
  if (steps <= 6) return launch_steps<Purpose, 6, kColumns>(task, rows, stream);
  launch_steps<Purpose, 8, kColumns>(task, rows, stream);
}

template <class Purpose, int kColumns, int kResident>
void launch_resident(MatrixTask& task, const PackedRows& rows, cudaStream_t stream) {
  using Shape = Wide<kColumns, kResident>;
  using Work = typename Purpose::template Work<Shape::kRows>;
  launch<Shape>(wide_screen<kColumns, kResident, Work, typename Purpose::Epilogue>, task, rows, stream);
}

template <class Purpose, int kColumns>
void launch_wide(MatrixTask& task, const PackedRows& rows, cudaStream_t stream) {
  if (task.panels <= 4) return launch_resident<Purpose, kColumns, 4>(task, rows, stream);
  if (task.panels <= 8) return launch_resident<Purpose, kColumns, 8>(task, rows, stream);
  launch_resident<Purpose, kColumns, 0>(task, rows, stream);
}

constexpr int kNarrowColumns = 128;  // of points

// `rows`: what is read through the copy engine; `points` those whose numbers the epilogue knows.
template <class Purpose>
void screen_for(const PackedRows& points, const PackedRows& rows, const PackedColumns& columns,
                const ScreenOutput& output, cudaStream_t stream) {
  MatrixTask task{};
  task.points = points;
  task.columns = columns;
  task.output = output;
  task.tiles = columns.columns / columns.tile_columns;
  task.panels = (points.padded_columns + kPanel - 1) / kPanel;
  task.place_mask = ~static_cast<uint32_t>(columns.tile_columns / 4 - 1);
  if (rows.rows == 0 || task.tiles == 0) return;
  const bool narrow = points.padded_columns <= kNarrowColumns;
  switch (columns.tile_columns) {
    case 64:
      return narrow ? launch_narrow<Purpose, 64>(task, rows, stream) : launch_wide<Purpose, 64>(task, rows, stream);
    case 128:
      return narrow ? launch_narrow<Purpose, 128>(task, rows, stream) : launch_wide<Purpose, 128>(task, rows, stream);
    case 256:
      if (!narrow) return launch_wide<Purpose, 256>(task, rows, stream);
      break;
    default: break;
  }
  throw Error(ErrorCode::kInternal, "cuda",
              "the matrix screen has no tiles of " + std::to_string(columns.tile_columns) + " columns for " +
                  std::to_string(points.padded_columns) + " values a row");
}

// A warp an open row; blockIdx.y is the range.
__global__ void gather_rows(PackedRows points, OpenRows open) {
  const uint32_t count = min(open.counts[blockIdx.y], open.capacity);
  const int pieces = points.padded_columns / 8;  // of 16 bytes
  const uint32_t warps = blockDim.x / 32;
  for (uint32_t i = blockIdx.x * warps + threadIdx.x / 32; i < count; i += gridDim.x * warps) {
    const int64_t place = static_cast<int64_t>(blockIdx.y) * open.capacity + i;
    const auto* from = static_cast<const uint4*>(points.values) + static_cast<int64_t>(open.rows[place].row) * pieces;
    auto* to = static_cast<uint4*>(open.values) + place * pieces;
    for (int piece = static_cast<int>(threadIdx.x % 32); piece < pieces; piece += 32) to[piece] = from[piece];
    if (threadIdx.x % 32 == 0) open.found[place] = 0;
  }
}

}  // namespace

int matrix_tile_columns(int32_t padded_columns, int64_t largest_model) {
  if (largest_model <= 64) return 64;
  if (padded_columns <= kNarrowColumns || largest_model <= 128) return 128;
  return 256;
}

int64_t matrix_terms(int64_t columns, int tile_columns) {
  return columns / tile_columns * tile_floats(tile_columns);
}

bool matrix_screen_available(int device) {
  int major = 0;
  return cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) == cudaSuccess && major == 9;
}

void matrix_screen(const PackedRows& points, const PackedColumns& columns, const ScreenOutput& output,
                   cudaStream_t stream) {
  if (points.rows == 0 || columns.columns == 0) return;
  gather_terms<<<static_cast<unsigned>(columns.columns / columns.tile_columns),
                 static_cast<unsigned>(columns.tile_columns), 0, stream>>>(columns);
  check(cudaGetLastError(), "gather_terms");
  screen_for<Prove>(points, points, columns, output, stream);
}

void matrix_collect(const PackedRows& points, const PackedColumns& columns, const OpenRows& open, cudaStream_t stream) {
  if (open.capacity == 0 || columns.columns == 0) return;
  gather_rows<<<dim3(256, static_cast<unsigned>(columns.models)), 256, 0, stream>>>(points, open);
  check(cudaGetLastError(), "gathering open rows");
  PackedRows gathered = points;
  gathered.values = open.values;
  gathered.rows = gathered.padded_rows = static_cast<int64_t>(columns.models) * open.capacity;
  ScreenOutput output;
  output.open = open;
  screen_for<Collect>(points, gathered, columns, output, stream);
}

}  // namespace manymeans::cuda
