// Checks and times the tensor-core screen by itself: every label that it proves, and every list of candidates, against
// canonical distances of all prototypes, computed on the device in binary64 in the contract's order. A program of its
// own, so that it can be carried to a machine with a device:
//
//   manymeans_screen_check probe | small | tiny | ties | floors | fast | profile | big, any of them
//
// fall NUMBER before them: columns below floors are passed over, so far below the best score of a screen before.
// SCREEN_CHECK_SYNC=1: by mma.sync, as on devices that are not Hopper.
#include "backend/cuda/matrix_bounds.h"
#include "backend/cuda/ptx.cuh"
#include "backend/cuda/screen.h"
#include "backend/cuda/warp_product.cuh"
#include "backend/cuda/wgmma.cuh"
#include "core/distance.h"

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

namespace {

using namespace manymeans;
using namespace manymeans::cuda;

int failures = 0;
int64_t most_listed = 4'000'000;  // what does not fit into the list is marked
std::optional<float> fall;        // floors are so far below the best score of a screen before

#define CHECK_CUDA(call)                                                          \
  do {                                                                            \
    const cudaError_t status = (call);                                            \
    if (status != cudaSuccess) {                                                  \
      std::printf("%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status)); \
      std::exit(1);                                                               \
    }                                                                             \
  } while (false)

template <class T>
struct Device {
  T* data = nullptr;
  size_t size = 0;
  explicit Device(size_t count) : size(count) { CHECK_CUDA(cudaMalloc(&data, std::max<size_t>(1, count) * sizeof(T))); }
  explicit Device(const std::vector<T>& from) : Device(from.size()) { copy(from); }
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  ~Device() { cudaFree(data); }
  void copy(const std::vector<T>& from) {
    CHECK_CUDA(cudaMemcpy(data, from.data(), size * sizeof(T), cudaMemcpyHostToDevice));
  }
  void fill(int byte) { CHECK_CUDA(cudaMemset(data, byte, size * sizeof(T))); }
  std::vector<T> host() const {
    std::vector<T> out(size);
    CHECK_CUDA(cudaMemcpy(out.data(), data, size * sizeof(T), cudaMemcpyDeviceToHost));
    return out;
  }
};

// ---- Data: a function of (row, column), the same on host and device.

struct Data {
  int64_t rows;
  int d;
  int k;
  int models;
  int centres;   // of the mixture; 0: one
  int averaged;  // rows that a prototype is the mean of; 0: rows stand between two prototypes, a few units off
  uint32_t seed;
};

__host__ __device__ inline uint32_t mix(uint64_t v) {
  v ^= v >> 31;
  v *= 0x7fb5d329728ea185ULL;
  v ^= v >> 27;
  v *= 0x81dadef4bc2dd44dULL;
  return static_cast<uint32_t>(v >> 32);
}

// About N(0, 1): eight 16-bit numbers added.
__host__ __device__ inline float noise(uint32_t stream, int64_t row, int column) {
  int sum = 0;
  for (int part = 0; part < 4; ++part) {
    const uint32_t u = mix((static_cast<uint64_t>(stream) << 56) ^ (static_cast<uint64_t>(row) << 20) ^
                           (static_cast<uint64_t>(column) << 4) ^ static_cast<uint64_t>(part) ^ 0x9e3779b97f4a7c15ULL);
    sum += static_cast<int>(u & 0xFFFF) + static_cast<int>(u >> 16) - 0xFFFF;
  }
  return static_cast<float>(sum) * 0x1.39p-16F * 0.5F;
}

__host__ __device__ inline float plain_value(const Data& data, int64_t row, int column) {
  float x = noise(data.seed, row, column);
  if (data.centres > 0) {
    const int centre =
        static_cast<int>(mix(static_cast<uint64_t>(row) * 77 + data.seed) % static_cast<uint32_t>(data.centres));
    x += 1.5F * noise(data.seed + 1, centre, column);
  }
  return x;
}

std::vector<float> prototypes_of(const Data& data, int model) {
  std::vector<float> out(static_cast<size_t>(data.k) * static_cast<size_t>(data.d));
  const int averaged = std::max(1, data.averaged);
  for (int k = 0; k < data.k; ++k) {
    for (int j = 0; j < data.d; ++j) {
      float sum = 0;
      for (int i = 0; i < averaged; ++i) {
        const auto row = static_cast<int64_t>(mix(static_cast<uint64_t>((model * data.k + k) * averaged + i) + 12345) %
                                              static_cast<uint64_t>(data.rows));
        sum += data.averaged > 0 ? plain_value(data, row, j) : noise(data.seed + 2, k, j);
      }
      out[static_cast<size_t>(k) * static_cast<size_t>(data.d) + static_cast<size_t>(j)] =
          sum / static_cast<float>(averaged);
    }
  }
  // A few that repeat the first, and must never get a label.
  if (data.k >= 8) std::copy_n(out.begin(), data.d, out.end() - data.d);
  return out;
}

// Rows between two prototypes of the first model, moved towards one by some part of a unit in float32.
__global__ void fill_ties(Data data, const float* prototypes, float* out) {
  const int64_t row = blockIdx.x;
  const int a = static_cast<int>(mix(static_cast<uint64_t>(row) * 3 + 1) % static_cast<uint32_t>(data.k));
  const int b = static_cast<int>(mix(static_cast<uint64_t>(row) * 3 + 2) % static_cast<uint32_t>(data.k));
  const float off = ldexpf(static_cast<float>(row % 17 - 8), -static_cast<int>(row % 19) - 4);
  for (int j = static_cast<int>(threadIdx.x); j < data.d; j += static_cast<int>(blockDim.x)) {
    const float u = prototypes[static_cast<int64_t>(a) * data.d + j];
    const float v = prototypes[static_cast<int64_t>(b) * data.d + j];
    out[row * data.d + j] = 0.5F * (u + v) + off * (u - v) + 0.05F * noise(data.seed + 5, row, j);
  }
}

__global__ void fill_rows(Data data, float* out) {
  const int64_t row = static_cast<int64_t>(blockIdx.x) * 4 + threadIdx.y;
  if (row >= data.rows) return;
  for (int j = static_cast<int>(threadIdx.x); j < data.d; j += 32) out[row * data.d + j] = plain_value(data, row, j);
}

// ---- Packing, as plain as it can be. The centre is 0.

constexpr double kScale = 0x1p11;

__global__ void pack_rows(const float* x, int64_t rows, int d, int padded, double ratio, __half* values, float* radii,
                          float* norms) {
  const int64_t row = static_cast<int64_t>(blockIdx.x) * 4 + threadIdx.y;
  if (row >= rows) return;
  double square = 0;
  double rest = 0;
  for (int j = static_cast<int>(threadIdx.x); j < padded; j += 32) {
    const double y = j < d ? static_cast<double>(x[row * d + j]) * kScale : 0.0;
    const __half h = __double2half(y);
    values[row * padded + j] = h;
    const double off = y - static_cast<double>(__half2float(h));
    square += y * y;
    rest += off * off;
  }
  for (int step = 16; step > 0; step /= 2) {
    square += __shfl_xor_sync(~0U, square, step);
    rest += __shfl_xor_sync(~0U, rest, step);
  }
  if (threadIdx.x != 0) return;
  const double norm = sqrt(square) * (1 + 0x1p-20);
  norms[row] = __double2float_ru(norm);
  radii[row] = __double2float_ru(fmax(sqrt(rest) * (1 + 0x1p-20), ratio * norm));
}

struct Columns {
  std::vector<__half> values;
  std::vector<float> offsets, slopes, errors;
  std::vector<uint32_t> order;
  std::vector<ColumnRange> ranges;
};

float up(double v) {
  const auto f = static_cast<float>(v);
  return f < v ? std::nextafter(f, std::numeric_limits<float>::infinity()) : f;
}

void pack_model(const Data& data, const std::vector<float>& prototypes, int model, int tile, int padded, double ratio,
                double scale, bool by_number, Columns& out) {
  std::vector<double> squares(static_cast<size_t>(data.k));
  std::vector<uint32_t> order;
  for (int k = 0; k < data.k; ++k) {
    const float* c = &prototypes[static_cast<size_t>(k) * static_cast<size_t>(data.d)];
    for (int j = 0; j < data.d; ++j) squares[static_cast<size_t>(k)] += std::pow(static_cast<double>(c[j]) * kScale, 2);
    bool repeats = false;  // only the last one can
    if (k > 0 && k == data.k - 1) repeats = std::equal(c, c + data.d, prototypes.begin());
    if (!repeats) order.push_back(static_cast<uint32_t>(k));
  }
  if (!by_number) {
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return squares[a] < squares[b]; });
  }
  const size_t first = out.order.size();
  const size_t count =
      (order.size() + static_cast<size_t>(tile) - 1) / static_cast<size_t>(tile) * static_cast<size_t>(tile);
  const size_t end = first + count;
  out.values.resize(end * static_cast<size_t>(padded), __half(0.0F));
  out.offsets.resize(end, kNeverWins);
  out.slopes.resize(end, 0);
  out.errors.resize(end, 0);
  out.order.resize(end, ~0U);
  for (size_t i = 0; i < order.size(); ++i) {
    const float* c = &prototypes[static_cast<size_t>(order[i]) * static_cast<size_t>(data.d)];
    double rest = 0;
    for (int j = 0; j < data.d; ++j) {
      const double z = static_cast<double>(c[j]) * kScale;
      const __half h = __double2half(z);
      out.values[(first + i) * static_cast<size_t>(padded) + static_cast<size_t>(j)] = h;
      rest += std::pow(z - static_cast<double>(__half2float(h)), 2);
    }
    const double square = squares[order[i]];
    const MatrixBound bound =
        matrix_bound(std::sqrt(square) * (1 + 0x1p-20), std::sqrt(rest) * (1 + 0x1p-20), data.d, ratio);
    out.offsets[first + i] = static_cast<float>(-square / 2);
    out.slopes[first + i] = up(scale * bound.slope);
    out.errors[first + i] = up(scale * bound.error);
    out.order[first + i] = order[i];
  }
  ColumnRange range;
  range.slot = model;
  range.first = static_cast<int32_t>(first);
  range.count = static_cast<int32_t>(count);
  range.slack = up(scale * matrix_slack(data.d));
  range.underflow = 0x1p-100F;
  out.ranges.push_back(range);
}

// ---- The truth.

constexpr int kTruthRows = 4;

// prototypes: (d, k), transposed. Rows 0, stride, 2 stride, ...
__global__ void true_labels(const float* x, const float* prototypes, int64_t rows, int64_t stride, int d, int k,
                            uint32_t* out) {
  extern __shared__ double values[];  // (d, kTruthRows)
  const int64_t first = static_cast<int64_t>(blockIdx.x) * kTruthRows;
  for (int i = static_cast<int>(threadIdx.x); i < d * kTruthRows; i += static_cast<int>(blockDim.x)) {
    const int64_t row = (first + i % kTruthRows) * stride;
    values[i] = row < rows ? static_cast<double>(x[row * d + i / kTruthRows]) : 0.0;
  }
  __syncthreads();
  double best[kTruthRows];
  uint32_t label[kTruthRows];
  for (int r = 0; r < kTruthRows; ++r) {
    best[r] = INFINITY;
    label[r] = ~0U;
  }
  for (int c = static_cast<int>(threadIdx.x); c < k; c += static_cast<int>(blockDim.x)) {
    double p[kTruthRows][8] = {};
    for (int j0 = 0; j0 < d; j0 += 8) {
#pragma unroll
      for (int l = 0; l < 8; ++l) {
        if (j0 + l < d) {
          const auto z = static_cast<double>(prototypes[static_cast<int64_t>(j0 + l) * k + c]);
#pragma unroll
          for (int r = 0; r < kTruthRows; ++r) {
            const double t = values[(j0 + l) * kTruthRows + r] - z;
            p[r][l] = __fma_rn(t, t, p[r][l]);
          }
        }
      }
    }
#pragma unroll
    for (int r = 0; r < kTruthRows; ++r) {
      const double d2 = ((p[r][0] + p[r][4]) + (p[r][2] + p[r][6])) + ((p[r][1] + p[r][5]) + (p[r][3] + p[r][7]));
      if (d2 < best[r]) {
        best[r] = d2;
        label[r] = static_cast<uint32_t>(c);
      }
    }
  }
  __shared__ double least[256];
  __shared__ uint32_t labels[256];
  for (int r = 0; r < kTruthRows; ++r) {
    __syncthreads();
    least[threadIdx.x] = best[r];
    labels[threadIdx.x] = label[r];
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
      if (static_cast<int>(threadIdx.x) < half) {
        const double there = least[threadIdx.x + half];
        const uint32_t its = labels[threadIdx.x + half];
        if (there < least[threadIdx.x] || (there == least[threadIdx.x] && its < labels[threadIdx.x])) {
          least[threadIdx.x] = there;
          labels[threadIdx.x] = its;
        }
      }
      __syncthreads();
    }
    if (threadIdx.x == 0 && (first + r) * stride < rows) out[first + r] = labels[0];
  }
}

struct Outcome {
  double certified = 0;  // share
  double listed = 0;
  double open = 0;
  double marked = 0;
  double candidates = 0;  // per listed row
  int64_t wrong = 0;      // among the rows looked at
  int64_t looked_at = 0;
  double ms = 0;
};

Outcome run(const Data& data, double bound_scale, int repeats, double most_work) {
  const int padded = (data.d + 15) / 16 * 16;
  const char* forced = std::getenv("SCREEN_CHECK_TILE");
  const MatrixUnit unit = std::getenv("SCREEN_CHECK_SYNC") != nullptr ? MatrixUnit::kSync : MatrixUnit::kHopper;
  const int tile = forced != nullptr && data.d <= 128 ? std::atoi(forced) : matrix_tile_columns(unit, padded, data.k);
  const int64_t padded_rows = (data.rows + kRowBlock - 1) / kRowBlock * kRowBlock;
  std::vector<std::vector<float>> prototypes;
  for (int model = 0; model < data.models; ++model) prototypes.push_back(prototypes_of(data, model));

  Device<float> x(static_cast<size_t>(data.rows * data.d));
  if (data.averaged > 0) {
    fill_rows<<<static_cast<unsigned>((data.rows + 3) / 4), dim3(32, 4)>>>(data, x.data);
  } else {
    Device<float> first(prototypes[0]);
    fill_ties<<<static_cast<unsigned>(data.rows), 32>>>(data, first.data, x.data);
    CHECK_CUDA(cudaDeviceSynchronize());
  }
  const double ratio = 0x1p-12;                      // r / n is about 2^-12.3
  const bool by_number = tile == kOneTile && !fall;  // as the backend has them; else by norm
  Columns columns;
  for (int model = 0; model < data.models; ++model) {
    pack_model(data, prototypes[static_cast<size_t>(model)], model, tile, padded, ratio, bound_scale, by_number,
               columns);
  }
  Device<__half> values(static_cast<size_t>(padded_rows * padded));
  values.fill(0);
  Device<float> radii(static_cast<size_t>(padded_rows)), norms(static_cast<size_t>(padded_rows));
  radii.fill(0);
  norms.fill(0);
  pack_rows<<<static_cast<unsigned>((data.rows + 3) / 4), dim3(32, 4)>>>(x.data, data.rows, data.d, padded, ratio,
                                                                         values.data, radii.data, norms.data);
  CHECK_CUDA(cudaDeviceSynchronize());

  Device<__half> column_values(columns.values);
  Device<float> offsets(columns.offsets), slopes(columns.slopes), errors(columns.errors);
  Device<uint32_t> order(columns.order);
  Device<ColumnRange> ranges(columns.ranges);
  Device<float> terms(static_cast<size_t>(matrix_terms(static_cast<int64_t>(columns.order.size()), tile)));
  Device<uint32_t> labels(static_cast<size_t>(data.rows * data.models));
  const int64_t mark_stride = (data.rows + 31) / 32;
  Device<uint32_t> marks(static_cast<size_t>(mark_stride * data.models));
  const auto capacity = static_cast<uint32_t>(std::min(data.rows * data.models, most_listed));
  Device<Unproved> list(capacity);
  Device<uint32_t> listed(1);

  const auto models = static_cast<size_t>(data.models);
  OpenRows open;
  open.capacity = 64 * kOpenBlock;
  Device<OpenRow> open_rows(models * open.capacity);
  Device<uint32_t> open_counts(models), open_found(models * open.capacity);
  Device<uint32_t> open_prototypes(models * open.capacity * kMostCollected);
  Device<__half> open_values(models * open.capacity * static_cast<size_t>(padded));
  open.rows = open_rows.data;
  open.counts = open_counts.data;
  open.values = open_values.data;
  open.found = open_found.data;
  open.prototypes = open_prototypes.data;

  PackedRows packed;
  packed.values = values.data;
  packed.radii = radii.data;
  packed.norms = norms.data;
  packed.rows = data.rows;
  packed.padded_rows = padded_rows;
  packed.padded_columns = padded;
  PackedColumns wanted;
  wanted.values = column_values.data;
  wanted.offsets = offsets.data;
  wanted.slopes = slopes.data;
  wanted.errors = errors.data;
  wanted.order = order.data;
  wanted.columns = static_cast<int32_t>(columns.order.size());
  wanted.ranges = ranges.data;
  wanted.models = data.models;
  wanted.unit = unit;
  wanted.tile_columns = tile;
  wanted.by_number = by_number;
  wanted.terms = terms.data;
  ScreenOutput output;
  output.labels = {labels.data, data.rows, 4};
  output.list = list.data;
  output.listed = listed.data;
  output.capacity = capacity;
  output.marks = marks.data;
  output.mark_stride = mark_stride;
  output.open = open;

  Device<float> lowers(static_cast<size_t>(data.rows * data.models));
  const Device<Fall> falls(std::vector<Fall>(models, Fall{fall.value_or(0), 0}));
  const Device<float> moves(std::vector<float>(columns.order.size(), 1));
  std::vector<uint32_t> before(static_cast<size_t>(data.rows * data.models));
  lowers.fill(0);
  if (fall) {
    labels.fill(0);
    marks.fill(0);
    listed.fill(0);
    open_counts.fill(0);
    output.floors.lowers = lowers.data;
    output.floors.stride = data.rows;
    gather_tile_terms(wanted, nullptr);
    matrix_screen(packed, wanted, output, nullptr);
    CHECK_CUDA(cudaDeviceSynchronize());
    output.floors.falls = falls.data;
    before = labels.host();  // any would do; those of rows that are not proved are wrong
  }
  const std::vector<float> kept_lowers = lowers.host();
  const Device<uint32_t> old_labels(before);
  output.floors.labels = {old_labels.data, data.rows, 4};
  output.floors.moves = moves.data;

  cudaEvent_t from;
  cudaEvent_t to;
  CHECK_CUDA(cudaEventCreate(&from));
  CHECK_CUDA(cudaEventCreate(&to));
  std::vector<float> times;
  for (int repeat = 0; repeat < repeats + 1; ++repeat) {
    labels.fill(0xFF);
    marks.fill(0);
    listed.fill(0);
    open_counts.fill(0);
    lowers.copy(kept_lowers);
    CHECK_CUDA(cudaEventRecord(from));
    gather_tile_terms(wanted, nullptr);
    matrix_screen(packed, wanted, output, nullptr);
    CHECK_CUDA(cudaEventRecord(to));
    CHECK_CUDA(cudaDeviceSynchronize());
    float ms = 0;
    CHECK_CUDA(cudaEventElapsedTime(&ms, from, to));
    times.push_back(ms);
  }
  matrix_collect(packed, wanted, output, nullptr);
  CHECK_CUDA(cudaDeviceSynchronize());
  if (repeats > 0) times.erase(times.begin());
  std::sort(times.begin(), times.end());
  Outcome outcome;
  outcome.ms = static_cast<double>(times[times.size() / 2]);

  // Every row of every model is proved, listed, open or marked, once.
  const std::vector<uint32_t> got = labels.host();
  const std::vector<uint32_t> marked = marks.host();
  const uint32_t places = std::min(listed.host()[0], capacity);
  uint32_t entries = 0;
  std::vector<Unproved> unproved = list.host();
  const int64_t all = data.rows * data.models;
  std::vector<std::vector<uint32_t>> candidates;
  std::vector<int32_t> entry_of(static_cast<size_t>(all), -1);
  const auto enter = [&](int model, int64_t row, const uint32_t* first, uint32_t count) {
    int32_t& entry = entry_of[static_cast<size_t>(model * data.rows + row)];
    if (entry >= 0) ++outcome.wrong;
    entry = static_cast<int32_t>(candidates.size());
    candidates.emplace_back(first, first + count);
  };
  for (uint32_t i = 0; i < places; ++i) {
    const Unproved& entry = unproved[i];
    if (entry.count == 0) continue;
    ++entries;
    if (entry.count < 1 || entry.count > kMostCandidates) ++outcome.wrong;
    enter(entry.range, entry.row, entry.candidates, static_cast<uint32_t>(entry.count));
    outcome.candidates += entry.count;
  }
  const std::vector<OpenRow> open_row = open_rows.host();
  const std::vector<uint32_t> found = open_found.host();
  const std::vector<uint32_t> collected = open_prototypes.host();
  const std::vector<uint32_t> counts = open_counts.host();
  int64_t opened = 0;
  for (int model = 0; model < data.models; ++model) {
    for (uint32_t i = 0; i < std::min(counts[static_cast<size_t>(model)], open.capacity); ++i) {
      const size_t at = static_cast<size_t>(model) * open.capacity + i;
      ++opened;
      // With more, every prototype is looked at.
      const uint32_t* first = &collected[at * kMostCollected];
      if (found[at] <= kMostCollected) {
        enter(model, open_row[at].row, first, found[at]);
      } else {
        enter(model, open_row[at].row, nullptr, 0);
        candidates.back().push_back(~0U);
      }
    }
  }
  int64_t certified = 0;
  int64_t marks_set = 0;
  for (int64_t at = 0; at < all; ++at) {
    const int64_t row = at % data.rows;
    const bool is_marked = marked[static_cast<size_t>(at / data.rows * mark_stride + row / 32)] >> (row % 32) & 1;
    const bool is_listed = entry_of[static_cast<size_t>(at)] >= 0;
    const bool is_proved = got[static_cast<size_t>(at)] != ~0U;
    if (is_marked + is_listed + is_proved != 1) ++outcome.wrong;
    certified += is_proved;
    marks_set += is_marked;
  }
  outcome.certified = static_cast<double>(certified) / static_cast<double>(all);
  outcome.listed = entries / static_cast<double>(all);
  outcome.open = static_cast<double>(opened) / static_cast<double>(all);
  outcome.marked = static_cast<double>(marks_set) / static_cast<double>(all);
  outcome.candidates /= std::max(1U, entries);

  const double work = static_cast<double>(all) * data.k * data.d;
  const auto stride = static_cast<int64_t>(std::ceil(work / most_work));
  const int64_t looked_at = (data.rows + stride - 1) / stride;
  Device<uint32_t> truth(static_cast<size_t>(looked_at));
  for (int model = 0; model < data.models; ++model) {
    const std::vector<float>& c = prototypes[static_cast<size_t>(model)];
    std::vector<float> transposed(c.size());
    for (int k = 0; k < data.k; ++k) {
      for (int j = 0; j < data.d; ++j) {
        transposed[static_cast<size_t>(j) * static_cast<size_t>(data.k) + static_cast<size_t>(k)] =
            c[static_cast<size_t>(k) * static_cast<size_t>(data.d) + static_cast<size_t>(j)];
      }
    }
    Device<float> on_device(transposed);
    const size_t shared = static_cast<size_t>(data.d) * kTruthRows * sizeof(double);
    CHECK_CUDA(cudaFuncSetAttribute(true_labels, cudaFuncAttributeMaxDynamicSharedMemorySize, 200 * 1024));
    true_labels<<<static_cast<unsigned>((looked_at + kTruthRows - 1) / kTruthRows), 256, shared>>>(
        x.data, on_device.data, data.rows, stride, data.d, data.k, truth.data);
    CHECK_CUDA(cudaGetLastError());
    CHECK_CUDA(cudaDeviceSynchronize());
    const std::vector<uint32_t> right = truth.host();
    for (int64_t i = 0; i < looked_at; ++i) {
      const auto at = static_cast<size_t>(model * data.rows + i * stride);
      const uint32_t want = right[static_cast<size_t>(i)];
      bool good = true;
      if (got[at] != ~0U) {
        good = got[at] == want;
      } else if (entry_of[at] >= 0) {
        const std::vector<uint32_t>& entry = candidates[static_cast<size_t>(entry_of[at])];
        good = entry == std::vector<uint32_t>{~0U} || std::find(entry.begin(), entry.end(), want) != entry.end();
      }
      if (!good && ++outcome.wrong <= 3) {
        std::printf("  row %lld model %d: label %d, not %u\n", static_cast<long long>(i * stride), model,
                    static_cast<int>(got[at]), want);
      }
    }
    outcome.looked_at += looked_at;
    // The truth itself, against the reference's distance.
    std::vector<float> row(static_cast<size_t>(data.d));
    for (int64_t i = 0; i < std::min<int64_t>(looked_at, 3); ++i) {
      CHECK_CUDA(cudaMemcpy(row.data(), x.data + i * stride * data.d, row.size() * 4, cudaMemcpyDeviceToHost));
      int best = 0;
      double least = std::numeric_limits<double>::infinity();
      for (int k = 0; k < data.k; ++k) {
        const double d2 =
            canonical_distance(row.data(), &c[static_cast<size_t>(k) * static_cast<size_t>(data.d)], data.d);
        if (d2 < least) {
          least = d2;
          best = k;
        }
      }
      if (static_cast<uint32_t>(best) != right[static_cast<size_t>(i)]) {
        std::printf("  the check itself is wrong at row %lld\n", static_cast<long long>(i * stride));
        ++outcome.wrong;
      }
    }
  }
  CHECK_CUDA(cudaEventDestroy(from));
  CHECK_CUDA(cudaEventDestroy(to));
  return outcome;
}

void print(const Data& data, const Outcome& o, double scale = 1) {
  const double operations = 2.0 * static_cast<double>(data.rows) * data.d * data.k * data.models;
  std::printf(
      "N=%-8lld D=%-4d K=%-6d M=%-3d %-8s scale %.2f  %9.4f ms %7.1f TFLOP/s  certified %.5f listed %.5f (%.2f) open "
      "%.5f marked %.6f  wrong %lld of %lld\n",
      static_cast<long long>(data.rows), data.d, data.k, data.models,
      data.averaged == 0 ? "ties"
      : data.centres > 0 ? "mixture"
                         : "noise",
      scale, o.ms, operations / o.ms * 1e-9, o.certified, o.listed, o.candidates, o.open, o.marked,
      static_cast<long long>(o.wrong), static_cast<long long>(o.looked_at));
  std::fflush(stdout);
}

void expect_right(const Data& data, int repeats, double most_work) {
  const Outcome outcome = run(data, 1, repeats, most_work);
  print(data, outcome);
  if (outcome.wrong != 0) ++failures;
}

// ---- Does the matrix unit add as the bound assumes?

struct Probe {
  __half a[64][16];
  __half b[64][16];
};

__device__ inline int swizzled(int row, int column) {  // of a panel of halves, 64 wide
  return row * 64 + ((column / 8) ^ (row % 8)) * 8 + column % 8;
}

// sums += a b' for the 16 rows of a warp, eight columns at a time; the elements of wgmma's fragments.
__device__ void multiply_by_warps(const __half* a, const __half* b, float (&sums)[32]) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  const auto two = [](const __half* matrix, int row, int column) {
    return *reinterpret_cast<const uint32_t*>(matrix + swizzled(row, column));
  };
  const int row = static_cast<int>(threadIdx.x) / 32 * 16 + lane / 4;
  const int column = lane % 4 * 2;
  const uint32_t left[4] = {two(a, row, column), two(a, row + 8, column), two(a, row, column + 8),
                            two(a, row + 8, column + 8)};
  for (int t = 0; t < 8; ++t) {
    float four[4] = {sums[4 * t], sums[4 * t + 1], sums[4 * t + 2], sums[4 * t + 3]};
    multiply_add(four, left, two(b, t * 8 + lane / 4, column), two(b, t * 8 + lane / 4, column + 8));
    for (int e = 0; e < 4; ++e) sums[4 * t + e] = four[e];
  }
}

// Each block makes `rounds` products of 64 x 64 x 16 from random numbers of several kinds and keeps the largest error,
// in units of 2^-22 of the largest magnitude.
template <bool kSmall>
__global__ void probe_sums(int rounds, uint32_t seed, double* worst) {
  __shared__ __align__(1024) __half a[64 * 64];
  __shared__ __align__(1024) __half b[64 * 64];
  double most = 0;
  for (int round = 0; round < rounds; ++round) {
    const uint64_t base =
        (static_cast<uint64_t>(seed) << 48) + (static_cast<uint64_t>(blockIdx.x) * rounds + round) * 8192;
    const int kind = round % 8;
    const auto value = [&](uint32_t u) {
      const int spread = kind == 0 ? 1 : kind == 1 ? 4 : kind == 2 ? 12 : 24;
      const float mantissa = 1.0F + static_cast<float>(kind == 7 ? 1023 : u & 0x3FF) * 0x1p-10F;
      const int exponent = static_cast<int>(u >> 10) % spread - spread / 2;
      const float v = ldexpf(mantissa, exponent);
      return kind < 4 && (u >> 20 & 1) ? -v : v;
    };
    __syncthreads();
    for (int i = static_cast<int>(threadIdx.x); i < 64 * 16; i += 128) {
      a[swizzled(i / 16, i % 16)] = __float2half(value(mix(base + i)));
      b[swizzled(i / 16, i % 16)] = __float2half(value(mix(base + 1024 + i)));
    }
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    float sums[32];
    float before[32];
    const int c_exponent = static_cast<int>(mix(base + 5000) % 40U) - 20;
    for (int i = 0; i < 32; ++i) {
      const uint32_t u = mix(base + 2048 + static_cast<uint64_t>(i) * 128 + threadIdx.x);
      const float c = ldexpf(1.0F + static_cast<float>(u & 0x7FFFFF) * 0x1p-23F, c_exponent);
      before[i] = sums[i] = kind == 6 ? 0.0F : (u >> 24 & 1) ? -c : c;
    }
    if constexpr (kSmall) {
      multiply_by_warps(a, b, sums);
    } else {
      pin(sums);
      wgmma_fence();
      wgmma<64>(sums, panel_descriptor(a), panel_descriptor(b), 1);
      wgmma_commit();
      wgmma_wait<0>();
      pin(sums);
    }
    const int lane = static_cast<int>(threadIdx.x % 32);
    for (int i = 0; i < 32; ++i) {
      const int row = static_cast<int>(threadIdx.x) / 32 * 16 + lane / 4 + (i % 4 / 2) * 8;
      const int column = i / 4 * 8 + lane % 4 * 2 + i % 2;
      double exact = before[i];
      double largest = fmax(fabs(exact), fabs(static_cast<double>(sums[i])));
      for (int j = 0; j < 16; ++j) {
        const double product = static_cast<double>(__half2float(a[swizzled(row, j)])) *
                               static_cast<double>(__half2float(b[swizzled(column, j)]));
        exact += product;  // exact but for 2^-53 of the largest, far below what is looked for
        largest = fmax(largest, fabs(product));
      }
      most = fmax(most, fabs(static_cast<double>(sums[i]) - exact) / (largest * kProductUnit));
    }
  }
  atomicMax(reinterpret_cast<unsigned long long*>(worst), static_cast<unsigned long long>(__double_as_longlong(most)));
}

// kSmall: by the instruction of a warp (ptx.cuh), else by that of four.
template <bool kSmall>
void probe_one() {
  Device<double> worst(1);
  worst.fill(0);
  const int rounds = 400;
  const int blocks = 132 * 8;
  probe_sums<kSmall><<<blocks, 128>>>(rounds, 1, worst.data);
  CHECK_CUDA(cudaGetLastError());
  CHECK_CUDA(cudaDeviceSynchronize());
  const double most = worst.host()[0];
  std::printf("probe of %s: %.3g sums; the worst is off by %.4f units of 2^-22 of the largest magnitude; assumed %d\n",
              kSmall ? "mma.sync" : "wgmma", static_cast<double>(rounds) * blocks * 64 * 64, most, kProductRoundings);
  if (!(most <= kProductRoundings) || most == 0) ++failures;
}

void probe() {
  probe_one<false>();
  probe_one<true>();
}

void small() {
  const auto one = [](int64_t rows, int d, int k, int models, int centres, int averaged) {
    expect_right(Data{rows, d, k, models, centres, averaged, 3}, 0, 1e13);
  };
  one(1000, 16, 5, 1, 0, 8);
  one(129, 1, 3, 1, 0, 1);
  one(70001, 128, 1000, 1, 0, 8);
  one(70001, 128, 1024, 1, 50, 8);
  one(50001, 100, 300, 3, 0, 4);
  one(50001, 90, 200, 2, 20, 4);
  one(50001, 64, 130, 2, 0, 4);
  one(50001, 54, 64, 7, 0, 20);
  one(50001, 41, 64, 1, 9, 20);
  one(140001, 54, 64, 5, 0, 20);
  one(200001, 30, 47, 2, 7, 20);
  one(131072, 9, 64, 3, 0, 20);
  one(131073, 64, 64, 9, 0, 20);  // many models: entries are reserved in pieces
  one(131071, 64, 64, 9, 0, 20);
  one(50001, 65, 64, 12, 0, 20);
  one(1000, 1, 1, 8, 0, 8);
  one(50001, 20, 40, 5, 0, 20);
  one(50001, 130, 1000, 1, 0, 8);
  one(20001, 256, 1000, 2, 0, 8);
  one(20001, 300, 100, 3, 0, 8);
  one(20001, 500, 50, 3, 0, 8);
  one(20001, 512, 2000, 1, 0, 8);
  one(20001, 768, 1000, 1, 10, 8);
  one(20001, 784, 10, 3, 0, 8);
  one(10001, 1500, 100, 2, 0, 8);
  one(10001, 3072, 700, 1, 0, 8);
}

// For a memory checker: every kernel, few rows.
void tiny() {
  for (const int d : {16, 30, 60, 90, 128, 200, 500, 600}) {
    for (const int k : {60, 120, 600}) {
      expect_right(Data{700, d, k, 2, 0, 4, 3}, 0, 1e13);
    }
  }
  most_listed = 5;
  expect_right(Data{7000, 128, 600, 2, 0, 4, 3}, 0, 1e13);
  most_listed = 40;  // ends in the middle of a piece
  expect_right(Data{7000, 50, 60, 9, 0, 4, 3}, 0, 1e13);
  most_listed = 4'000'000;
}

void ties() {
  for (const int d : {2, 16, 48, 128, 384, 768}) {
    for (const int k : {60, 64, 200}) expect_right(Data{300000, d, k, 1, 0, 0, 11}, 0, 1e13);
  }
  // With a quarter of every bound wrong labels must appear.
  int64_t wrong = 0;
  for (const int d : {1, 2, 4, 16}) {
    const Data data{1000000, d, 60, 1, 0, 0, 12};
    const Outcome outcome = run(data, 0.25, 0, 1e13);
    print(data, outcome, 0.25);
    wrong += outcome.wrong;
  }
  if (wrong == 0) {
    std::printf("ties: a quarter of the bounds went unnoticed\n");
    ++failures;
  }
}

void big() {
  for (const int centres : {0, 2000}) {
    expect_right(Data{8'000'000, 128, 1024, 1, centres, 8, 5}, 7, 3e11);
  }
  expect_right(Data{1'000'000, 128, 65536, 1, 0, 2, 5}, 3, 1e11);
  expect_right(Data{1'000'000, 512, 8192, 1, 0, 4, 5}, 5, 1e11);
  expect_right(Data{1'000'000, 768, 4096, 1, 0, 8, 5}, 5, 1e11);
  expect_right(Data{2'000'000, 256, 16384, 1, 0, 8, 5}, 3, 1e11);
  expect_right(Data{500'000, 54, 64, 1, 0, 100, 5}, 9, 1e11);
  expect_right(Data{500'000, 54, 64, 64, 0, 100, 5}, 9, 1e11);
  expect_right(Data{2'000'000, 41, 64, 1, 30, 100, 5}, 9, 1e11);
  expect_right(Data{1'000'000, 64, 64, 1, 0, 100, 5}, 9, 1e11);
}

// With floors that are far below the best score, near it, and above it for some rows or all.
void floors() {
  for (const float below : {1e30F, 2.0F, 0.1F, 0.0F, -0.2F}) {
    fall = below;
    std::printf("floors %g below the best score of a pass before:\n", static_cast<double>(below));
    small();
    tiny();
  }
  fall = 0.5F;
  ties();
  fall.reset();
}

// A few shapes, for comparing versions.
void fast() {
  for (const Data& data : {Data{8'000'000, 128, 1024, 1, 0, 8, 5}, Data{1'000'000, 128, 65536, 1, 0, 2, 5},
                           Data{2'000'000, 256, 16384, 1, 0, 8, 5}, Data{1'000'000, 512, 8192, 1, 0, 4, 5},
                           Data{1'000'000, 768, 4096, 1, 0, 8, 5}, Data{500'000, 54, 64, 1, 0, 100, 5},
                           Data{500'000, 54, 64, 64, 0, 100, 5}, Data{2'000'000, 41, 64, 1, 30, 100, 5},
                           Data{1'000'000, 64, 64, 1, 0, 100, 5}}) {
    if (std::getenv("SCREEN_CHECK_TILE") != nullptr && data.d != 128) continue;
    expect_right(data, 7, 1e10);
  }
}

// For a profiler.
void profile() {
  expect_right(Data{2'000'000, 128, 1024, 1, 0, 8, 5}, 0, 1e10);
  expect_right(Data{500'000, 54, 64, 64, 0, 100, 5}, 0, 1e10);
  expect_right(Data{500'000, 256, 4096, 1, 0, 8, 5}, 0, 1e10);
}

}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string what = argv[i];
    if (what == "probe") probe();
    if (what == "small") small();
    if (what == "tiny") tiny();
    if (what == "ties") ties();
    if (what == "floors") floors();
    if (what == "fall" && i + 1 < argc) fall = std::strtof(argv[++i], nullptr);
    if (what == "big") big();
    if (what == "fast") fast();
    if (what == "profile") profile();
  }
  std::printf(failures == 0 ? "screen_check: all right\n" : "screen_check: %d FAILED\n", failures);
  return failures == 0 ? 0 : 1;
}
