// The product of matrices on a device: sums in binary64 there, the proof and exact sums on the host
// (docs/developer/screens.md, "Products").
#include <manymeans/error.h>

#include "backend/multiplier.h"
#include "backend/opencl/kernels/kernel_sources.h"
#include "backend/opencl/product/host_lines.h"
#include "backend/opencl/runtime/device_check.h"
#include "backend/opencl/runtime/kernel_launch.h"
#include "backend/product_bounds.h"
#include "backend/product_certify.h"
#include "core/product_sum.h"

#include <algorithm>
#include <atomic>
#include <span>

namespace manymeans {
namespace opencl {
namespace {

constexpr int kTileRows = 4, kTileColumns = 8;
constexpr int64_t kBlockDepth = 192;                        // values that are summed by themselves
constexpr int64_t kBlockRows = 1024, kBlockColumns = 1024;  // of the product, at a time
constexpr int64_t kPieceDepth = 8 * kBlockDepth;            // of the factors, at a time

// Slices that are multiplied with each other, and the part of the sums that they go to: high, middle, low.
struct SliceProduct {
  int a, b, part;
};
constexpr SliceProduct kWhole[] = {{0, 0, 0}};
constexpr SliceProduct kSliced[] = {{0, 0, 0}, {0, 1, 1}, {1, 0, 1}, {0, 2, 2}, {2, 0, 2}, {3, 3, 2}};

const OpenClDevice& device_for_products(int index) {
  const OpenClDevice& device = open_device(index);
  if (device.facts().binary64 && computes_doubles(device)) return device;
  throw Error(ErrorCode::kUnavailable, "backend opencl",
              device.facts().name + " has no binary64 as IEEE 754 asks, which products take; use --backend cpu");
}

double gamma_of(int64_t depth, int products) {
  const int64_t blocks = (depth + kBlockDepth - 1) / kBlockDepth;
  return gamma_of_roundings(std::min(depth, kBlockDepth) + products * blocks + 2);
}

Kernel make_kernel(const OpenClDevice& device) {
  const std::string options =
      "-cl-std=CL1.2 -w -DTILE_ROWS=" + std::to_string(kTileRows) + " -DBLOCK_DEPTH=" + std::to_string(kBlockDepth);
  return {device.program(kMatrixProductSource, options), "add_products"};
}

class OpenClProduct {
 public:
  OpenClProduct(const ProductTask& task, const ProductWork& work)
      : task_(task),
        pool_(work.pool),
        device_(device_for_products(work.device)),
        kernel_(make_kernel(device_)),
        a_(task.a, kTileRows, wide()),
        b_(task.b, kTileColumns, wide()) {
    Patience patience;
    patience.usual = Patience::Seconds(1);
    patience.abort = work.pool.abort();
    queue_ = device_.make_queue(patience);
    exact_width_ = exact_width(task.a.depth);
    gamma_ = gamma_of(task.a.depth, wide() ? 3 : 1);
    if (wide()) error_ = sliced_error(task.a.depth, gamma_);
  }

  ProductCounts run();

 private:
  bool wide() const { return task_.type == DataType::kFloat64; }
  int parts() const { return wide() ? 3 : 1; }
  int64_t tiles() const { return a_.panels() * b_.panels(); }
  size_t part_bytes() const { return static_cast<size_t>(tiles() * kTileRows * kTileColumns) * sizeof(double); }
  void sum_block();
  void sum_piece(int64_t from, int64_t to);
  void finish_rows(int64_t first, int64_t last);
  template <class T>
  bool certify(int64_t row, int64_t column, T& entry) const;
  template <class T>
  void finish_row(int64_t row);

  const ProductTask& task_;
  ThreadPool& pool_;
  const OpenClDevice& device_;
  Kernel kernel_;
  HostLines a_, b_;
  double exact_width_ = 0, gamma_ = 0, error_ = 0;
  std::unique_ptr<device::Queue> queue_;
  device::Buffer device_a_, device_b_, device_sums_[3];
  AlignedBuffer<double> sums_;
  std::atomic<int64_t> resolved_ = 0;
};

ProductCounts OpenClProduct::run() {
  for (int64_t j = 0; j < task_.b.count; j += kBlockColumns) {
    b_.begin(j, std::min(kBlockColumns, task_.b.count - j), pool_);
    for (int64_t i = 0; i < task_.a.count; i += kBlockRows) {
      a_.begin(i, std::min(kBlockRows, task_.a.count - i), pool_);
      sum_block();
      pool_.for_each_range(a_.count(), 4, [&](int, int64_t first, int64_t last) { finish_rows(first, last); });
    }
  }
  const int64_t entries = task_.a.count * task_.b.count;
  return {entries, entries - resolved_, resolved_};
}

void OpenClProduct::sum_block() {
  const Settled settled(*queue_);
  for (int part = 0; part < parts(); ++part) {
    device_sums_[part].reserve(device_, part_bytes(), "sums of a product");
    queue_->fill(device_sums_[part].at(), std::byte{0}, part_bytes(), "sums of a product");
  }
  for (int64_t l = 0; l < task_.a.depth; l += kPieceDepth) {
    check_abort(pool_.abort());
    sum_piece(l, std::min(l + kPieceDepth, task_.a.depth));
  }
  const size_t values = part_bytes() / sizeof(double);
  if (sums_.size() < values * static_cast<size_t>(parts())) {
    sums_ = AlignedBuffer<double>(values * static_cast<size_t>(parts()));
  }
  for (int part = 0; part < parts(); ++part) {
    queue_->read_back(sums_.data() + static_cast<size_t>(part) * values, device_sums_[part].at(), part_bytes(),
                      "sums of a product");
  }
}

// Values [from, to) of the lines.
void OpenClProduct::sum_piece(int64_t from, int64_t to) {
  const int64_t depth = to - from;
  a_.pack(from, to, pool_);
  b_.pack(from, to, pool_);
  const size_t slice_a = a_.slice_bytes(depth), slice_b = b_.slice_bytes(depth);
  device_a_.reserve(device_, slice_a, "rows of a product");
  device_b_.reserve(device_, slice_b, "columns of a product");
  const size_t group = device_.facts().processor ? 1 : 64;
  const Grid grid{(static_cast<size_t>(tiles()) + group - 1) / group * group, 1, group};
  const std::span<const SliceProduct> products = wide() ? std::span(kSliced) : std::span<const SliceProduct>(kWhole);
  for (const SliceProduct& product : products) {
    const auto* a = reinterpret_cast<const std::byte*>(a_.packed()) + static_cast<size_t>(product.a) * slice_a;
    const auto* b = reinterpret_cast<const std::byte*>(b_.packed()) + static_cast<size_t>(product.b) * slice_b;
    queue_->copy_to_device(device_a_.at(), a, slice_a, "rows of a product");
    queue_->copy_to_device(device_b_.at(), b, slice_b, "columns of a product");
    kernel_(*queue_, grid, device_a_.at(), device_b_.at(), device_sums_[product.part].at(),
            static_cast<cl_long>(tiles()), static_cast<cl_long>(b_.panels()), static_cast<cl_long>(depth));
  }
  queue_->synchronize("multiplying");  // what was packed may be packed over
}

template <class T>
bool OpenClProduct::certify(int64_t row, int64_t column, T& entry) const {
  const bool exact = a_.width(row) + b_.width(column) <= exact_width_;
  const int64_t tile = row / kTileRows * b_.panels() + column / kTileColumns;
  const int64_t at = (tile * kTileRows + row % kTileRows) * kTileColumns + column % kTileColumns;
  const double* sums = sums_.data() + at;
  if constexpr (sizeof(T) == 4) {
    return certify_float(*sums, gamma_ * a_.bound(row) * b_.bound(column), exact, entry);
  } else {
    const auto part = static_cast<int64_t>(part_bytes() / sizeof(double));
    return certify_double({sums[0], sums[part], sums[2 * part]}, a_.bound(row) * b_.bound(column), error_, exact,
                          entry);
  }
}

void OpenClProduct::finish_rows(int64_t first, int64_t last) {
  for (int64_t row = first; row < last; ++row) wide() ? finish_row<double>(row) : finish_row<float>(row);
}

template <class T>
void OpenClProduct::finish_row(int64_t row) {
  std::vector<double> a, b;
  int64_t resolved = 0;
  T* to = static_cast<T*>(task_.out) + (a_.first() + row) * task_.row_stride;
  for (int64_t column = 0; column < b_.count(); ++column) {
    T entry = 0;
    if (!certify(row, column, entry)) {
      check_abort(pool_.abort());
      if (resolved++ == 0) a_.read(row, a);
      b_.read(column, b);
      ProductSum sum;
      for (size_t l = 0; l < a.size(); ++l) sum.add(a[l], b[l]);
      entry = sum.rounded<T>();
    }
    to[(b_.first() + column) * task_.column_stride] = entry;
  }
  resolved_ += resolved;
}

}  // namespace
}  // namespace opencl

ProductCounts multiply_on_opencl(const ProductTask& task, const ProductWork& work) {
  return opencl::OpenClProduct(task, work).run();
}

}  // namespace manymeans
