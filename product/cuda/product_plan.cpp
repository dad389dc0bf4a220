#include "product/cuda/product_plan.h"

#include <manymeans/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace manymeans::cuda {
namespace {

constexpr double kMaxProducts = 0x1p43;  // of one launch: a quarter of a second on a Hopper, and the caller may stop
constexpr double kMaxEntries = 0x1p40;   // tiles are numbered in 32 bits

int64_t residue_bytes(const ProductPlan& plan) {
  const int64_t down = residue_row_tiles(plan.rows), across = residue_column_tiles(plan.columns);
  const int64_t of_tile = residue_depth_blocks(plan.shape.depth) * kTileBytes * plan.basis.count +
                          kResidueLines * 2 * static_cast<int64_t>(sizeof(float));
  return (down + across) * of_tile + down * across * kResidueLines * kResidueLines * plan.basis.count +
         residue_measures(plan.rows, plan.columns) * 8;
}

void measure(const ProductSize& size, ProductPlan& plan, int64_t more) {
  plan.splits = product_splits(plan.rows, plan.columns, size.depth, size.multiprocessors);
  const int64_t entries = plan.rows * plan.columns;
  plan.unproved = static_cast<uint32_t>(std::clamp<int64_t>(entries / 256, 1 << 12, 1 << 24));
  constexpr int64_t kArrays = 16;  // that are cut from one
  plan.bytes = more + kArrays * MemoryCutter::kAligned + plan.shape.bytes(plan.rows) + plan.shape.bytes(plan.columns);
  plan.bytes += int64_t{plan.unproved} * static_cast<int64_t>(sizeof(uint2)) + plan.cells();
  if (size.keeps_entries) plan.bytes += entries * (size.wide ? 8 : 4);
  if (plan.by_residues()) plan.bytes += residue_bytes(plan);
  if (plan.keeps_sums()) plan.bytes += plan.parts() * padded_lines(plan.rows) * padded_lines(plan.columns) * 8;
}

// Halves blocks until they fit; whether they do.
bool fit(const ProductSize& size, ProductPlan& plan, int64_t room, int64_t more) {
  const auto halve = [](int64_t& lines) { lines = padded_lines((lines + 1) / 2); };
  const auto too_large = [&] {
    const double entries = static_cast<double>(plan.rows) * static_cast<double>(plan.columns);
    if (entries > kMaxEntries || entries * static_cast<double>(size.depth) > kMaxProducts) return true;
    measure(size, plan, more);
    return plan.bytes > room;
  };
  while (too_large()) {
    int64_t& lines = plan.rows >= plan.columns ? plan.rows : plan.columns;
    if (lines <= kLinePadding) break;  // more products than wanted, or too many bytes
    halve(lines);
  }
  measure(size, plan, more);
  return plan.bytes <= room;
}

ProductPlan whole_product(const ProductSize& size, bool by_residues) {
  ProductPlan plan = {size.rows, size.columns, 1, 0, 0, {size.depth, size.wide, size.wide && !by_residues}};
  if (by_residues) plan.basis = residue_basis(size.wide, size.depth);
  return plan;
}

// Seconds of a plan, measured on an H100 (bench/results/h200/residues). They are for a multiply-add, an entry, a packed
// value, the beginning, and a term of an exact sum. Longer lines have more such terms. Rows are packed again for every
// block of columns.
struct ScreenCost {
  double product, entry, value, beginning, exact;

  double of(const ProductSize& size, const ProductPlan& plan) const {
    constexpr double kKept = 0x1p32, kByte = 2.5e-12;  // memory that is taken from the driver in every call
    const auto rows = static_cast<double>(size.rows), columns = static_cast<double>(size.columns);
    const auto depth = static_cast<double>(size.depth);
    const double blocks = std::ceil(columns / static_cast<double>(plan.columns));
    const double taken = std::max(0.0, static_cast<double>(plan.bytes) - kKept) * kByte;
    const double of_entry = entry + depth * (product + exact * std::sqrt(depth));
    return rows * columns * of_entry + (rows * blocks + columns) * depth * value + beginning + taken;
  }
};

bool is_faster(const ProductSize& size, const ProductPlan& residues, const ProductPlan& sums) {
  constexpr ScreenCost kFloatSums = {4.3e-14, 2e-12, 0, 0, 1.2e-16},
                       kFloatResidues = {2.4e-14, 1.4e-11, 8e-12, 1e-5, 0};
  constexpr ScreenCost kDoubleSums = {2.9e-13, 1e-11, 4e-12, 0, 0},
                       kDoubleResidues = {3.8e-14, 3e-11, 1.4e-11, 1e-5, 0};
  const ScreenCost& of_residues = size.wide ? kDoubleResidues : kFloatResidues;
  return of_residues.of(size, residues) < (size.wide ? kDoubleSums : kFloatSums).of(size, sums);
}

}  // namespace

int64_t ProductPlan::cells() const {
  const auto across = [](int64_t entries) { return (entries + kCellEntries - 1) / kCellEntries; };
  return across(rows) * across(columns);
}

ScreenWish possible_wish(ScreenWish wish, std::string_view asked, bool byte_units) {
  if (wish == ScreenWish::kSums || asked == "sums" || !byte_units) return ScreenWish::kSums;
  return asked == "residues" ? ScreenWish::kResidues : wish;
}

ProductPlan plan_product(const ProductSize& size, ScreenWish wish, int64_t room, int64_t more) {
  ProductPlan sums = whole_product(size, false);
  const bool sums_fit = fit(size, sums, room, more);
  if (wish != ScreenWish::kSums) {
    ProductPlan residues = whole_product(size, true);
    const bool wanted = wish == ScreenWish::kResidues || !sums_fit;
    if (fit(size, residues, room, more) && (wanted || is_faster(size, residues, sums))) return residues;
  }
  if (sums_fit) return sums;
  throw Error(ErrorCode::kUnavailable, "cuda device memory",
              fmt::format("{} lines of {} values of each factor need {} bytes, and {} can be had; use --backend cpu",
                          kLinePadding, size.depth, sums.bytes, room));
}

int64_t roundings_of(const ProductPlan& plan) {
  const int64_t values = plan.shape.chunks() * (kChunkBytes / (plan.shape.wide ? 8 : 4)) * (plan.shape.wide ? 3 : 1);
  return std::min<int64_t>(values, kSumsDepth) + (values + kSumsDepth - 1) / kSumsDepth + 2 * plan.splits + 2;
}

}  // namespace manymeans::cuda
