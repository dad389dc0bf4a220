// The product of matrices by screen and resolve (docs/developer/screens.md, "Products").
#include "backend/cpu/kernels/instruction_set.h"
#include "product/cpu/product_panels.h"
#include "product/multiplier.h"
#include "product/product_bounds.h"
#include "product/product_certify.h"
#include "product/product_sum.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <span>
#include <vector>

namespace manymeans {
namespace {

constexpr int64_t kBlockDepth = 192;  // values of a line that are summed in registers
// With their sums and the columns' panels, rows take 0.8 MB by AVX-512, which a second level's cache of 1 MiB holds.
// Slices take four times the room, and a product of few groups gives work to more threads by smaller ones.
constexpr int64_t kGroupRows = 128, kFewGroupRows = 64;
constexpr int64_t kGroupColumns = 240, kSlicedGroupColumns = 72;
constexpr int64_t kCachedValues = 1 << 19;  // 4 MiB
// Packed at a time: rows of a thread that stay in its caches, and columns for which packing the rows again is next to
// nothing. Buffers smaller than whole factors need not be cleared in every call.
constexpr int64_t kPackedRowBytes = 1 << 21, kPackedColumnBytes = 1 << 25;
constexpr int64_t kPackedColumns = 17 * kGroupColumns;

// Slices that are multiplied with each other, and the part of the sums that they go to: high, middle, low.
struct SliceProduct {
  int a, b, part;
};
constexpr SliceProduct kWhole[] = {{0, 0, 0}};
constexpr SliceProduct kSliced[] = {{0, 0, 0}, {0, 1, 1}, {1, 0, 1}, {0, 2, 2}, {2, 0, 2}, {3, 3, 2}};

int64_t quotient_up(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

// How much is packed at a time.
struct ProductPlan {
  int64_t rows, columns, depth;
};

class CpuProduct {
 public:
  CpuProduct(const ProductTask& task, const ProductWork& work);
  ProductCounts run();

 private:
  struct Place {
    int64_t i, j;
  };
  struct Worker {
    AlignedBuffer<double> sums;
    std::vector<Place> failed;
    std::vector<double> a, b;
    int64_t row = -1, column = -1;  // whose values a and b are
    ProductCounts counts;
  };
  // Panels of rows and columns that one thread works on.
  struct Group {
    int64_t first_a, last_a, first_b, last_b;
    double* sums;

    int64_t tiles() const { return (last_a - first_a) * (last_b - first_b); }
  };

  bool sliced() const { return slice_bits_ > 0; }
  int parts() const { return sliced() ? 3 : 1; }
  int64_t tile_size() const {
    return sliced() ? int64_t{parts()} * kMaxProductTile : int64_t{kernels_.rows} * kernels_.columns;
  }
  int64_t choose_rows_of_group() const;
  int64_t group_rows() const { return rows_of_group_ / kernels_.rows; }  // in panels
  int64_t group_columns() const { return (sliced() ? kSlicedGroupColumns : kGroupColumns) / kernels_.columns; }
  int64_t group_size() const { return group_rows() * group_columns() * tile_size(); }
  bool whole_lines() const { return plan_.depth >= task_.a.depth; }
  int64_t bytes_of(const ProductPlan& plan) const;
  void pack_less(ProductPlan& plan) const;
  ProductPlan make_plan(int64_t memory) const;
  void multiply_block();
  void work_on_groups(int64_t from, int64_t to);
  void add(const Group& group, int64_t from, int64_t to) const;
  void finish(const Group& group, Worker& worker);
  template <class T>
  void finish_tile(const double* sums, int64_t panel_a, int64_t panel_b, Worker& worker);
  ProductScreen screen_of(const double* sums, int64_t panel_a, int64_t panel_b) const;
  template <class T>
  void resolve(Worker& worker);
  bool proves_again(const Place& place, const Worker& worker, float& entry) const;
  template <class T>
  T* place(int64_t i, int64_t j) const {
    return static_cast<T*>(task_.out) + i * task_.row_stride + j * task_.column_stride;
  }

  const ProductTask& task_;
  ThreadPool& pool_;
  const ProductKernels& kernels_;
  int slice_bits_ = 0;  // 0: float32
  double exact_width_ = 0, error_ = 0;
  double second_bound_ = 0;  // of a compensated sum, times the lines' bounds
  ProductPanels a_, b_;
  int64_t rows_of_group_;
  ProductPlan plan_{};
  AlignedBuffer<double> all_sums_;  // where lines are packed piece by piece
  std::vector<Worker> workers_;
};

constexpr int kSecondLanes = 8;

// The sum of products that are exact, with the error of every sum kept, in some lanes for the processor's vectors.
SumAndRest compensated_sum(std::span<const double> a, std::span<const double> b) {
  double sums[kSecondLanes] = {}, rests[kSecondLanes] = {};
  size_t l = 0;
  for (; l + kSecondLanes <= a.size(); l += kSecondLanes) {
    for (size_t lane = 0; lane < kSecondLanes; ++lane) {
      const SumAndRest next = two_sum(sums[lane], a[l + lane] * b[l + lane]);
      sums[lane] = next.sum;
      rests[lane] += next.rest;
    }
  }
  SumAndRest all = {0, 0};
  const auto add = [&all](double more, double rest) {
    const SumAndRest next = two_sum(all.sum, more);
    all = {next.sum, all.rest + (next.rest + rest)};
  };
  for (; l < a.size(); ++l) add(a[l] * b[l], 0);
  for (size_t lane = 0; lane < kSecondLanes; ++lane) add(sums[lane], rests[lane]);
  return all;
}

// n u / (1 - n u), rounded up, for the maximal number n of roundings of a product on its way into a sum. They are its
// own, the roundings of a block, and one for each block of each product of slices.
double gamma_of(int64_t depth, int products) {
  return gamma_of_roundings(std::min(depth, kBlockDepth) + products * quotient_up(depth, kBlockDepth) + 2);
}

CpuProduct::CpuProduct(const ProductTask& task, const ProductWork& work)
    : task_(task),
      pool_(work.pool),
      kernels_(choose_kernels(work.instruction_set).product),
      slice_bits_(task.type == DataType::kFloat64 ? slice_bits(task.a.depth) : 0),
      exact_width_(exact_width(task.a.depth)),
      a_(task.a, {kernels_.rows, kernels_.measure_rows, kernels_.slice_rows, gamma_of(task.a.depth, 1)}, slice_bits_),
      b_(task.b, {kernels_.columns, kernels_.measure_columns, kernels_.slice_columns, 1}, slice_bits_),
      rows_of_group_(choose_rows_of_group()),
      plan_(make_plan(work.memory)),
      workers_(static_cast<size_t>(work.pool.size())) {
  if (sliced()) error_ = sliced_error(task.a.depth, gamma_of(task.a.depth, 3));
  const double again = gamma_of_roundings(task.a.depth / kSecondLanes + 4 * kSecondLanes);
  second_bound_ = again * again / gamma_of(task.a.depth, 1) * (1 + 0x1p-40);
}

int64_t CpuProduct::choose_rows_of_group() const {
  const int64_t groups = quotient_up(task_.a.count, kGroupRows) * quotient_up(task_.b.count, kGroupColumns);
  return sliced() || groups < pool_.size() ? kFewGroupRows : kGroupRows;
}

int64_t CpuProduct::bytes_of(const ProductPlan& plan) const {
  const int64_t slices = sliced() ? ProductPanels::kSlices : 1;
  const int64_t packed = (plan.rows + plan.columns) * plan.depth * slices;
  const bool pieces = plan.depth < task_.a.depth;
  return 8 * (packed + (pieces ? plan.rows * plan.columns * parts() : 0));
}

// Of whole lines.
void CpuProduct::pack_less(ProductPlan& plan) const {
  const int64_t bytes = plan.depth * 8 * (sliced() ? ProductPanels::kSlices : 1);
  const int64_t rows = std::max<int64_t>(kPackedRowBytes / bytes / rows_of_group_, 1) * rows_of_group_;
  const int64_t columns = std::max(kPackedColumnBytes / bytes / kGroupColumns * kGroupColumns, kPackedColumns);
  plan.rows = std::min(plan.rows, rows * pool_.size());  // all threads have some
  plan.columns = std::min(plan.columns, columns);
}

// As much as fits: long lines before many, unless there are enough lines for whole lines to be worth less.
ProductPlan CpuProduct::make_plan(int64_t memory) const {
  constexpr int64_t kManyLines = 1024, kLongLines = 8 * kBlockDepth;
  ProductPlan plan{task_.a.count, task_.b.count, std::max<int64_t>(task_.a.depth, 1)};
  const auto halve = [](int64_t& count, int64_t unit) { count = quotient_up(quotient_up(count, 2), unit) * unit; };
  while (bytes_of(plan) > memory) {
    int64_t& lines = plan.rows >= plan.columns ? plan.rows : plan.columns;
    const int64_t unit = plan.rows >= plan.columns ? rows_of_group_ : kGroupColumns;
    const bool few_lines = lines <= kManyLines;
    if (plan.depth > kLongLines && few_lines) {
      halve(plan.depth, kBlockDepth);
    } else if (lines > unit) {
      halve(lines, unit);
    } else if (plan.depth > kBlockDepth) {
      halve(plan.depth, kBlockDepth);
    } else {
      break;
    }
  }
  if (plan.depth >= task_.a.depth) pack_less(plan);
  return plan;
}

ProductCounts CpuProduct::run() {
  for (int64_t j = 0; j < task_.b.count; j += plan_.columns) {
    b_.begin(j, std::min(plan_.columns, task_.b.count - j), pool_);
    if (whole_lines()) b_.pack(0, task_.b.depth, pool_);
    for (int64_t i = 0; i < task_.a.count; i += plan_.rows) {
      a_.begin(i, std::min(plan_.rows, task_.a.count - i), pool_);
      multiply_block();
    }
  }
  ProductCounts counts{.entries = task_.a.count * task_.b.count, .screen = "sums"};
  for (const Worker& worker : workers_) counts.resolved += worker.counts.resolved;
  counts.certified = counts.entries - counts.resolved;
  return counts;
}

void CpuProduct::multiply_block() {
  const int64_t depth = task_.a.depth;
  for (int64_t from = 0; from < std::max<int64_t>(depth, 1); from += plan_.depth) {
    const int64_t to = std::min(from + plan_.depth, depth);
    a_.pack(from, to, pool_);
    if (!whole_lines()) b_.pack(from, to, pool_);
    work_on_groups(from, to);
  }
}

void CpuProduct::work_on_groups(int64_t from, int64_t to) {
  const int64_t step_a = group_rows(), step_b = group_columns();
  const int64_t down = quotient_up(a_.panels(), step_a), across = quotient_up(b_.panels(), step_b);
  // Columns that stay in the caches are read for each group of rows. Otherwise rows are read for each group of columns,
  // because there are fewer such groups.
  const bool by_rows = b_.panels() * kernels_.columns * (to - from) * b_.slices() <= kCachedValues;
  const auto size = static_cast<size_t>(group_size());
  const auto needed = static_cast<size_t>(down * across) * size;
  if (!whole_lines() && all_sums_.size() < needed) all_sums_ = AlignedBuffer<double>(needed);
  pool_.for_each_range(down * across, 1, [&](int number, int64_t first, int64_t last) {
    Worker& worker = workers_[static_cast<size_t>(number)];
    if (whole_lines() && worker.sums.size() == 0) worker.sums = AlignedBuffer<double>(size);
    for (int64_t g = first; g < last; ++g) {
      const int64_t row = (by_rows ? g / across : g % down) * step_a;
      const int64_t column = (by_rows ? g % across : g / down) * step_b;
      double* sums = whole_lines() ? worker.sums.data() : all_sums_.data() + g * group_size();
      const Group group{row, std::min(row + step_a, a_.panels()), column, std::min(column + step_b, b_.panels()), sums};
      if (from == 0) std::fill_n(sums, group.tiles() * tile_size(), 0.0);
      add(group, from, to);
      if (to == task_.a.depth) finish(group, worker);
    }
  });
}

// The next values of a panel of columns, or its first ones for the next rows, come from the third level's cache. Each
// panel of rows fetches a part of them. Slices fill the second level's cache without them.
void CpuProduct::add(const Group& group, int64_t from, int64_t to) const {
  const std::span<const SliceProduct> products = sliced() ? std::span(kSliced) : std::span<const SliceProduct>(kWhole);
  const int64_t parts = group.last_a - group.first_a;
  for (int64_t l = from; l < to; l += kBlockDepth) {
    const int64_t depth = std::min(kBlockDepth, to - l);
    const int64_t next = l + depth < to ? l + depth : from;
    const int64_t part = sliced() ? 0 : std::min(kBlockDepth, to - next) * kernels_.columns / parts;
    const int64_t step = part * static_cast<int64_t>(sizeof(double)) / depth;
    double* tile = group.sums;
    for (int64_t a = group.first_a; a < group.last_a; ++a) {
      for (int64_t b = group.first_b; b < group.last_b; ++b, tile += tile_size()) {
        const ProductAhead ahead{b_.values(b, 0, sliced() ? l : next) + (a - group.first_a) * part, step};
        for (const SliceProduct& product : products) {
          kernels_.add(a_.values(a, product.a, l), b_.values(b, product.b, l), depth,
                       tile + product.part * kMaxProductTile, ahead);
        }
      }
    }
  }
}

void CpuProduct::finish(const Group& group, Worker& worker) {
  const double* tile = group.sums;
  for (int64_t a = group.first_a; a < group.last_a; ++a) {
    for (int64_t b = group.first_b; b < group.last_b; ++b, tile += tile_size()) {
      if (sliced()) {
        finish_tile<double>(tile, a, b, worker);
      } else {
        finish_tile<float>(tile, a, b, worker);
      }
    }
  }
  if (sliced()) {
    resolve<double>(worker);
  } else {
    resolve<float>(worker);
  }
}

ProductScreen CpuProduct::screen_of(const double* sums, int64_t panel_a, int64_t panel_b) const {
  const LineBounds &a = a_.bounds(), &b = b_.bounds();
  const int64_t row = panel_a * kernels_.rows, column = panel_b * kernels_.columns;
  return {sums,
          a.bounds.data() + row,
          b.bounds.data() + column,
          a.widths.data() + row,
          b.widths.data() + column,
          exact_width_,
          error_};
}

template <class T>
void CpuProduct::finish_tile(const double* sums, int64_t panel_a, int64_t panel_b, Worker& worker) {
  alignas(64) T tile[kMaxProductTile];
  uint32_t failed[8];
  const ProductScreen screen = screen_of(sums, panel_a, panel_b);
  if constexpr (sizeof(T) == 8) {
    kernels_.certify_f64(screen, tile, failed);
  } else {
    kernels_.certify_f32(screen, tile, failed);
  }
  const int64_t row = a_.first() + panel_a * kernels_.rows, column = b_.first() + panel_b * kernels_.columns;
  const int64_t rows = std::min<int64_t>(kernels_.rows, a_.first() + a_.count() - row);
  const int64_t columns = std::min<int64_t>(kernels_.columns, b_.first() + b_.count() - column);
  for (int64_t r = 0; r < rows; ++r) {
    const T* from = tile + r * kernels_.columns;
    T* to = place<T>(row + r, column);
    if (task_.column_stride == 1) {
      std::copy_n(from, columns, to);
    } else {
      for (int64_t c = 0; c < columns; ++c) to[c * task_.column_stride] = from[c];
    }
    for (uint32_t left = failed[r]; left != 0; left &= left - 1) {
      const int c = std::countr_zero(left);
      if (c < columns) worker.failed.push_back({row + r, column + c});
    }
  }
}

// Of float32: whose products are exact, so that next to nothing is left to be summed as a long integer.
bool CpuProduct::proves_again(const Place& place, const Worker& worker, float& entry) const {
  const double row = a_.bounds().bounds[static_cast<size_t>(place.i - a_.first())];
  const double column = b_.bounds().bounds[static_cast<size_t>(place.j - b_.first())];
  const SumAndRest sum = compensated_sum(worker.a, worker.b);
  return certify_float(sum.sum + sum.rest, row * column * second_bound_, false, entry);
}

// Sums exactly what was not proved.
template <class T>
void CpuProduct::resolve(Worker& worker) {
  worker.a.resize(static_cast<size_t>(task_.a.depth));
  worker.b.resize(static_cast<size_t>(task_.b.depth));
  for (const Place& entry : worker.failed) {
    check_abort(pool_.abort());
    if (entry.i != worker.row) a_.read(worker.row = entry.i, worker.a.data());
    if (entry.j != worker.column) b_.read(worker.column = entry.j, worker.b.data());
    if constexpr (sizeof(T) == 4) {
      if (proves_again(entry, worker, *place<T>(entry.i, entry.j))) continue;
    }
    ProductSum sum;
    for (size_t l = 0; l < worker.a.size(); ++l) sum.add(worker.a[l], worker.b[l]);
    *place<T>(entry.i, entry.j) = sum.rounded<T>();
  }
  worker.counts.resolved += static_cast<int64_t>(worker.failed.size());
  worker.failed.clear();
}

}  // namespace

ProductCounts multiply_on_cpu(const ProductTask& task, const ProductWork& work) {
  return CpuProduct(task, work).run();
}

}  // namespace manymeans
