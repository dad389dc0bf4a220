#include "backend/cpu/screen/matrix_layout.h"

#include <bit>
#include <cmath>

namespace manymeans {
namespace {

constexpr int64_t kStepValues = 32;
constexpr float kFlushed = 0x1p-100F;  // far above what the units flush

}  // namespace

uint16_t to_bfloat16(float v) {
  if (std::fabs(v) < kFlushed) return 0;
  const auto bits = std::bit_cast<uint32_t>(v);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

float from_bfloat16(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

void MatrixLayout::add_product(int x, int z) {
  tile_products_.push_back(x);
  span_products_.push_back(z);
}

// Products of high bytes first.
void MatrixLayout::lay_out_bytes(int64_t d) {
  constexpr int64_t kValues = 2 * kStepValues;
  part_bytes_ = 1;
  if (2 * d <= kValues) {  // the tile's only step holds both parts
    tile_steps_ = 1;
    span_steps_ = 2;
    tile_copies_ = {{false, 0}, {true, kValues / 2}};
    span_copies_ = {{false, 0}, {true, kValues}, {false, kValues + kValues / 2}};
    add_product(0, 0);
    add_product(0, 1);
    whole_ = 1;
    return;
  }
  whole_ = static_cast<int>((d + kValues - 1) / kValues);
  tile_steps_ = span_steps_ = 2 * whole_;
  tile_copies_ = span_copies_ = {{false, 0}, {true, kValues * whole_}};
  for (int s = 0; s < whole_; ++s) add_product(s, s);
  for (int s = 0; s < whole_; ++s) {
    add_product(s, whole_ + s);
    add_product(whole_ + s, s);
  }
}

MatrixLayout::MatrixLayout(const ScreenKernels& screen, int64_t d)
    : tile_rows_(screen.tile_rows), block_columns_(screen.block_columns) {
  const ScreenFormat format = screen.format;
  const auto steps = static_cast<int>((d + kStepValues - 1) / kStepValues);
  const auto product = [&](int x, int z) { add_product(x, z); };
  if (screen.layout == ScreenLayout::kLanes) {
    words_ = (d + 1) / 2;
    tile_copies_ = span_copies_ = {{false, 0}};
  } else if (format == ScreenFormat::kInt8Pair) {
    lay_out_bytes(d);
  } else if (format == ScreenFormat::kBfloat16) {
    tile_steps_ = span_steps_ = steps;
    tile_copies_ = span_copies_ = {{false, 0}};
    for (int s = 0; s < steps; ++s) product(s, s);
  } else if (3 * d <= kStepValues) {  // all three products in one step
    tile_steps_ = span_steps_ = 1;
    tile_copies_ = {{false, 0}, {true, d}, {false, 2 * d}};
    span_copies_ = {{false, 0}, {false, d}, {true, 2 * d}};
    product(0, 0);
  } else if (2 * d <= kStepValues) {  // the tile's only step holds both parts
    tile_steps_ = 1;
    span_steps_ = 2;
    tile_copies_ = {{false, 0}, {true, 16}};
    span_copies_ = {{false, 0}, {false, 16}, {true, kStepValues}};
    product(0, 0);
    product(0, 1);
  } else {
    tile_steps_ = span_steps_ = 2 * steps;
    tile_copies_ = span_copies_ = {{false, 0}, {true, kStepValues * steps}};
    for (int s = 0; s < steps; ++s) {
      product(s, s);
      product(s, steps + s);
      product(steps + s, s);
    }
  }
}

size_t MatrixLayout::tile_bytes() const {
  if (words_ == 0) return static_cast<size_t>(tile_steps_ * kStepBytes);
  return (static_cast<size_t>(words_ * tile_rows_) * 4 + 63) / 64 * 64;
}

size_t MatrixLayout::span_bytes() const {
  return static_cast<size_t>(words_ > 0 ? words_ * kSpanColumns * 4 : span_steps_ * kStepBytes);
}

MatrixSteps MatrixLayout::steps() const {
  return {tile_steps_, span_steps_,           static_cast<int>(tile_products_.size()),
          whole_,      tile_products_.data(), span_products_.data()};
}

}  // namespace manymeans
