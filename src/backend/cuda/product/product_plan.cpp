#include "backend/cuda/product/product_plan.h"

#include <manymeans/error.h>

#include <fmt/format.h>

#include <algorithm>

namespace manymeans::cuda {
namespace {

constexpr double kMostProducts = 0x1p43;  // of one launch: a quarter of a second on a Hopper, and the caller may stop
constexpr double kMostEntries = 0x1p40;   // tiles are numbered in 32 bits

void measure(const ProductSize& size, ProductPlan& plan, int64_t more) {
  plan.splits = product_splits(plan.rows, plan.columns, size.depth, size.multiprocessors);
  const int64_t entries = plan.rows * plan.columns;
  plan.unproved = static_cast<uint32_t>(std::clamp<int64_t>(entries / 256, 1 << 12, 1 << 24));
  constexpr int64_t kArrays = 16;  // that are cut from one
  plan.bytes = more + kArrays * MemoryCutter::kAligned + plan.shape.bytes(plan.rows) + plan.shape.bytes(plan.columns);
  plan.bytes += int64_t{plan.unproved} * static_cast<int64_t>(sizeof(uint2)) + plan.cells();
  if (size.keeps_entries) plan.bytes += entries * (size.wide ? 8 : 4);
  if (plan.keeps_sums()) plan.bytes += plan.parts() * padded_lines(plan.rows) * padded_lines(plan.columns) * 8;
}

}  // namespace

int64_t ProductPlan::cells() const {
  const auto across = [](int64_t entries) { return (entries + kCellEntries - 1) / kCellEntries; };
  return across(rows) * across(columns);
}

ProductPlan plan_product(const ProductSize& size, int64_t room, int64_t more) {
  ProductPlan plan = {size.rows, size.columns, 1, 0, 0, {size.depth, size.wide}};
  const auto halve = [](int64_t& lines) { lines = padded_lines((lines + 1) / 2); };
  const auto too_large = [&] {
    const double entries = static_cast<double>(plan.rows) * static_cast<double>(plan.columns);
    if (entries > kMostEntries || entries * static_cast<double>(size.depth) > kMostProducts) return true;
    measure(size, plan, more);
    return plan.bytes > room;
  };
  while (too_large()) {
    int64_t& lines = plan.rows >= plan.columns ? plan.rows : plan.columns;
    if (lines > kLinePadding) {
      halve(lines);
      continue;
    }
    measure(size, plan, more);
    if (plan.bytes <= room) break;  // more products than wanted
    throw Error(ErrorCode::kUnavailable, "cuda device memory",
                fmt::format("{} lines of {} values of each factor need {} bytes, and {} can be had; use --backend cpu",
                            kLinePadding, size.depth, plan.bytes, room));
  }
  return plan;
}

int64_t roundings_of(const ProductPlan& plan) {
  const int64_t values = plan.shape.chunks() * (kChunkBytes / (plan.shape.wide ? 8 : 4)) * (plan.shape.wide ? 3 : 1);
  return std::min<int64_t>(values, kSumsDepth) + (values + kSumsDepth - 1) / kSumsDepth + 2 * plan.splits + 2;
}

}  // namespace manymeans::cuda
