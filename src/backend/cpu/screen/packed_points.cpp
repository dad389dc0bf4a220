#include "backend/cpu/screen/packed_points.h"

#include "core/data_type.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace manymeans {
namespace {

// Values of row i of a tile from slot `first` on. Where it is even, pairs of them are neighbours.
void place(const MatrixLayout& layout, const std::vector<uint16_t>& parts, int64_t first, int64_t i,
           std::byte* values) {
  const auto d = static_cast<int64_t>(parts.size()) - 1;
  int64_t j = 0;
  if (layout.part_bytes() == 1) {
    for (; j + 3 < d; j += 4) {  // four are neighbours
      uint32_t word = 0;
      for (int64_t b = 0; b < 4; ++b) word |= (parts[static_cast<size_t>(j + b)] & 0xffU) << (8 * b);
      std::memcpy(values + layout.tile_offset(first + j, i), &word, sizeof word);
    }
    for (; j < d; ++j) values[layout.tile_offset(first + j, i)] = static_cast<std::byte>(parts[static_cast<size_t>(j)]);
    return;
  }
  if (first % 2 == 0) {
    for (; j + 1 < d; j += 2) {
      std::memcpy(values + layout.tile_offset(first + j, i), parts.data() + j, 2 * sizeof(uint16_t));
    }
  }
  for (; j < d; ++j) {
    std::memcpy(values + layout.tile_offset(first + j, i), parts.data() + j, sizeof(uint16_t));
  }
}

// Integers of kInt8Pair reach kReach times as far as the values of nine rows of ten. Larger values are cut off, and
// their rows left unproved. The largest value of all would be a matter of chance where columns have long tails.
constexpr double kReach = 1.5;
constexpr double kReachedShare = 0.9;
constexpr double kLargestInteger = 32639;  // 256 * 127 + 127

}  // namespace

PackedPoints::PackedPoints(const Input& input, const CpuKernels& kernels, const PointsPlan& plan, ThreadPool& pool)
    : input_(&input),
      kernels_(&kernels),
      screen_(plan.screen),
      frame_(plan.frame ? *plan.frame : find_frame(input)),
      values_bytes_(values_bytes(*plan.screen, input.points.d)),
      tile_bytes_(tile_bytes(*plan.screen, input.points.d)),
      tiles_((input.points.n + plan.screen->tile_rows - 1) / plan.screen->tile_rows) {
  if (screen_->format != ScreenFormat::kFloat32) {
    layout_ = MatrixLayout(*screen_, input.points.d);
    if (screen_->format == ScreenFormat::kInt8Pair) find_unit();
    find_ratio();
  }
  if (!plan.packed) return;
  AlignedBuffer<std::byte> copy(static_cast<size_t>(tiles_) * tile_bytes_);
  const int64_t p = tile_rows();
  RowPass pass(input.memory.window, 0, input.points.n);
  pool.for_each_range(tiles_, 16, [&](int, int64_t first, int64_t last) {
    for (int64_t t = first; t < last; ++t) {
      pass.begin(t * p);
      pack(t, copy.data() + static_cast<size_t>(t) * tile_bytes_);
      pass.done(t * p, std::min(input.points.n, (t + 1) * p));
    }
  });
  copy_ = std::move(copy);
}

PackedPoints PackedPoints::of_others(const Input& input) const {
  PackedPoints others;
  others.input_ = &input;
  others.kernels_ = kernels_;
  others.screen_ = screen_;
  others.frame_ = frame_;
  others.layout_ = layout_;
  others.ratio_ = ratio_;
  others.unit_ = unit_;
  others.values_bytes_ = values_bytes_;
  others.tile_bytes_ = tile_bytes_;
  others.tiles_ = (input.points.n + tile_rows() - 1) / tile_rows();
  return others;
}

size_t PackedPoints::values_bytes(const ScreenKernels& screen, int64_t d) {
  if (screen.format != ScreenFormat::kFloat32) return MatrixLayout(screen, d).tile_bytes();
  const auto floats = static_cast<size_t>(screen.tile_rows) * static_cast<size_t>(d);
  return (floats * sizeof(float) + 63) / 64 * 64;
}

size_t PackedPoints::tile_bytes(const ScreenKernels& screen, int64_t d) {
  const size_t per_row = (screen.format == ScreenFormat::kFloat32 ? 1 : 2) * sizeof(float);
  return (values_bytes(screen, d) + static_cast<size_t>(screen.tile_rows) * per_row + 63) / 64 * 64;
}

int64_t PackedPoints::bytes(const ScreenKernels& screen, const PointsView& points) {
  const int64_t tiles = (points.n + screen.tile_rows - 1) / screen.tile_rows;
  return tiles * static_cast<int64_t>(tile_bytes(screen, points.d));
}

Tile PackedPoints::tile(int64_t t, std::byte* scratch) const {
  const int64_t first = t * tile_rows();
  const std::byte* values = copy_.data() + static_cast<size_t>(t) * tile_bytes_;
  if (copy_.size() == 0) {
    pack(t, scratch);
    values = scratch;
  }
  return tile_at(values, std::min<int64_t>(tile_rows(), input_->points.n - first));
}

Tile PackedPoints::tile_at(const std::byte* values, int64_t rows) const {
  const auto* norms = reinterpret_cast<const float*>(values + values_bytes_);
  return {values, norms, screen_->format == ScreenFormat::kFloat32 ? norms : norms + tile_rows(), rows};
}

void PackedPoints::gather(std::span<const Tile> tiles, std::span<const uint32_t> rows, std::byte* to,
                          std::vector<Tile>& gathered) const {
  const int64_t p = tile_rows();
  const bool rounded = screen_->format != ScreenFormat::kFloat32;
  const bool lanes = screen_->layout == ScreenLayout::kLanes;
  GatherTask task{};
  task.tile_rows = static_cast<int>(p);
  task.run = lanes ? task.tile_rows : 16;
  task.lines = lanes ? words() : 16;
  task.blocks = lanes ? 1 : layout_.steps().x_steps;
  task.to = reinterpret_cast<uint32_t*>(to);
  task.to_tile = static_cast<int64_t>(tile_bytes_ / sizeof(float));
  const auto rows_in_tile = static_cast<uint32_t>(p);
  float* norms = nullptr;
  float* radii = nullptr;
  gathered.clear();
  for (size_t i = 0; i < rows.size();) {
    const uint32_t first = rows[i] / rows_in_tile * rows_in_tile;
    const Tile& from = tiles[first / rows_in_tile];
    task.from = static_cast<const uint32_t*>(from.values);
    task.at = static_cast<int64_t>(i);
    for (task.rows = 0; i < rows.size() && rows[i] - first < rows_in_tile; ++i) {
      if (i == gathered.size() * rows_in_tile) {
        std::byte* values = to + gathered.size() * tile_bytes_;
        gathered.push_back(tile_at(values, 0));
        norms = reinterpret_cast<float*>(values + values_bytes_);
        radii = rounded ? norms + p : norms;
      }
      const uint32_t lane = rows[i] - first;
      task.rows |= uint64_t{1} << lane;
      *norms++ = from.norms[lane];
      *radii++ = from.radii[lane];
      ++gathered.back().rows;
    }
    kernels_->gather(task);
  }
}

void PackedPoints::pack(int64_t t, std::byte* out) const {
  const PointsView& points = input_->points;
  const int64_t first = t * tile_rows();
  const int64_t rows = std::min<int64_t>(tile_rows(), points.n - first);
  auto* norms = reinterpret_cast<float*>(out + values_bytes_);
  if (screen_->format != ScreenFormat::kFloat32) return pack_matrix(first, rows, out, norms, norms + tile_rows());
  const PackTask task{rows, points.d, frame_.centre.data(), frame_.scale,
                      frame_.scales.empty() ? nullptr : frame_.scales.data()};
  auto* values = reinterpret_cast<float*>(out);
  if (points.type == DataType::kFloat64) {
    kernels_->pack_f64(static_cast<const double*>(points.data) + first * points.d, task, values, norms);
    return;
  }
  std::vector<float> wide(points.type == DataType::kFloat32 ? 0 : static_cast<size_t>(rows * points.d));
  kernels_->pack_f32(rows_as<float>(points, first, rows, wide.data()), task, values, norms);
}

std::span<const std::byte> PackedPoints::ahead(int64_t first, int64_t count) const {
  if (copy_.size() == 0 || first >= tiles_) return {};
  const auto tiles = static_cast<size_t>(std::min(count, tiles_ - first));
  return {copy_.data() + static_cast<size_t>(first) * tile_bytes_, tiles * tile_bytes_};
}

namespace {

// y = (x - centre) * scale in float32; returns |y|^2. Sums of four, so that additions need not wait for each other.
template <class T>
double centre_into(const T* x, const Frame& frame, float* y) {
  const double* centre = frame.centre.data();
  const auto d = static_cast<int64_t>(frame.centre.size());
  double sums[4] = {};
  for (int64_t j = 0; j < d; ++j) {
    const double value = (static_cast<double>(x[j]) - centre[j]) * frame.scale;
    y[j] = static_cast<float>(value);
    sums[j % 4] += value * value;
  }
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

}  // namespace

float PackedPoints::fine_row(int64_t row, float* y) const {
  const PointsView& points = input_->points;
  double square = 0;
  if (points.type == DataType::kFloat64) {
    square = centre_into(static_cast<const double*>(points.data) + row * points.d, frame_, y);
  } else if (points.type == DataType::kFloat32) {
    square = centre_into(static_cast<const float*>(points.data) + row * points.d, frame_, y);
  } else {
    std::vector<float> wide(static_cast<size_t>(points.d));
    square = centre_into(rows_as<float>(points, row, 1, wide.data()), frame_, y);
  }
  return static_cast<float>(std::sqrt(square) * (1 + 0x1p-20));
}

// `wide` has room for a row of a narrow type.
void PackedPoints::round_row(int64_t row, RoundedRow& rounded, float* wide) const {
  const PointsView& points = input_->points;
  const PackTask task{1, points.d, frame_.centre.data(), frame_.scale};
  if (points.type == DataType::kFloat64) {
    kernels_->round_f64(static_cast<const double*>(points.data) + row * points.d, task, rounded);
  } else {
    kernels_->round_f32(rows_as<float>(points, row, 1, wide), task, rounded);
  }
}

// Rows of kBfloat16 that a kernel packs together; how many these are.
int64_t PackedPoints::pack_pairs(int64_t first, int64_t rows, std::byte* values, double* squares,
                                 double* rest_squares) const {
  if (screen_->format != ScreenFormat::kBfloat16) return 0;
  const PointsView& points = input_->points;
  const bool lanes = screen_->layout == ScreenLayout::kLanes;
  const auto p = static_cast<int>(tile_rows());
  const PackTask task{rows, points.d, frame_.centre.data(), frame_.scale};
  const PairTile tile{
      reinterpret_cast<uint32_t*>(values), p, lanes ? p : 16, lanes ? words() : 16, squares, rest_squares};
  if (points.type == DataType::kFloat64) {
    return kernels_->pack_pairs_f64(static_cast<const double*>(points.data) + first * points.d, task, tile);
  }
  std::vector<float> wide(points.type == DataType::kFloat32 ? 0 : static_cast<size_t>(rows * points.d));
  return kernels_->pack_pairs_f32(rows_as<float>(points, first, rows, wide.data()), task, tile);
}

void PackedPoints::pack_matrix(int64_t first, int64_t rows, std::byte* values, float* norms, float* radii) const {
  std::fill_n(values, values_bytes_, std::byte{0});
  std::fill_n(norms, tile_rows(), 0.0F);
  std::fill_n(radii, tile_rows(), 0.0F);
  constexpr int kMaxTileRows = 64;
  double squares[kMaxTileRows], rest_squares[kMaxTileRows];
  int64_t i = pack_pairs(first, rows, values, squares, rest_squares);
  const size_t d = i < rows ? static_cast<size_t>(input_->points.d) : 0;
  std::vector<uint16_t> high(d + 1), low(d + 1);  // an even number: pairs are copied
  std::vector<float> wide(d);
  RoundedRow rounded{screen_->format == ScreenFormat::kBfloat16Pair, high.data(), low.data(), 0, 0, unit_};
  for (; i < rows; ++i) {
    round_row(first + i, rounded, wide.data());
    for (const MatrixLayout::Copy& copy : layout_.tile_copies()) {
      place(layout_, copy.low ? low : high, copy.first, i, values);
    }
    squares[i] = rounded.square;
    rest_squares[i] = rounded.rest_square;
  }
  // The factors cover the roundings of the sums, of the roots and of the conversions; the last term covers the rounding
  // of y.
  for (i = 0; i < rows; ++i) {
    const double norm = std::sqrt(squares[i]) * (1 + 0x1p-20);
    const double distance = std::sqrt(rest_squares[i]) * (1 + 0x1p-20) + norm * 0x1p-50;
    norms[i] = static_cast<float>(norm);
    radii[i] = static_cast<float>(std::max(distance, ratio_ * norm) * (1 + 0x1p-20));
  }
}

// Calls use(row) for some rows, evenly spread.
template <class Use>
void PackedPoints::for_each_of_sample(Use&& use) const {
  const int64_t n = input_->points.n;
  const int64_t rows = std::min<int64_t>(n, 257);
  for (int64_t i = 0; i < rows; ++i) {
    const auto row = static_cast<int64_t>(static_cast<__int128>(i) * n / rows);
    use(row);
    input_->memory.window.visited(row);
  }
}

// The size of the last bit of kInt8Pair.
void PackedPoints::find_unit() {
  std::vector<float> y(static_cast<size_t>(input_->points.d));
  std::vector<float> largest;
  for_each_of_sample([&](int64_t row) {
    fine_row(row, y.data());
    largest.push_back(0);
    for (const float value : y) largest.back() = std::max(largest.back(), std::fabs(value));
  });
  const auto most = largest.begin() + static_cast<std::ptrdiff_t>(kReachedShare * static_cast<double>(largest.size()));
  std::nth_element(largest.begin(), most, largest.end());
  // A float, so that products with integers of 16 bits are exact; never so small that it would be a denormal number.
  unit_ = static_cast<float>(std::max(static_cast<double>(*most) * kReach / kLargestInteger, 0x1p-40));
}

// The usual distance of a row from its rounded copy, relative to its norm: the median of a sample.
void PackedPoints::find_ratio() {
  constexpr double kMin = 0x1p-20;  // rows that bfloat16 holds exactly
  const auto d = static_cast<size_t>(input_->points.d);
  std::vector<uint16_t> high(d), low(d);
  std::vector<float> wide(d);
  RoundedRow rounded{screen_->format == ScreenFormat::kBfloat16Pair, high.data(), low.data(), 0, 0, unit_};
  std::vector<double> ratios;
  for_each_of_sample([&](int64_t row) {
    round_row(row, rounded, wide.data());
    if (rounded.square > 0) ratios.push_back(std::sqrt(rounded.rest_square / rounded.square));
  });
  ratio_ = kMin;
  if (ratios.empty()) return;
  const auto middle = ratios.begin() + static_cast<std::ptrdiff_t>(ratios.size() / 2);
  std::nth_element(ratios.begin(), middle, ratios.end());
  ratio_ = std::max(kMin, *middle);
}

}  // namespace manymeans
