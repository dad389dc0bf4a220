// The product of matrices on one device: pack, screen, resolve (docs/developer/screens.md, "Products").
#include "backend/backend.h"
#include "backend/cuda/runtime/endless_kernel.h"
#include "backend/cuda/runtime/kept_memory.h"
#include "backend/cuda/runtime/kernel_memory.h"
#include "backend/cuda/runtime/on_device.h"
#include "backend/cuda/tensor/matrix_screen.h"
#include "core/environment.h"
#include "product/cuda/line_upload.h"
#include "product/cuda/product_plan.h"
#include "product/cuda/quick_proof.h"
#include "product/cuda/residue_screen.h"
#include "product/multiplier.h"
#include "product/product_bounds.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <vector>

namespace manymeans {
namespace cuda {
namespace {

constexpr int64_t kLittle = int64_t{1} << 30;  // bytes

ProductSize size_of_task(const ProductTask& task) {
  return {.rows = task.a.count,
          .columns = task.b.count,
          .depth = task.a.depth,
          .wide = task.type == DataType::kFloat64,
          .keeps_entries = task.out_place.on_host(),
          .multiprocessors = multiprocessors_here()};
}

bool has_byte_units() {
  int device = 0;
  check(cudaGetDevice(&device), "asking for the device");
  return matrix_unit_of(device) == MatrixUnit::kHopper;
}

ScreenWish wish_of(ScreenWish wish) {
  return possible_wish(wish, environment::cuda_product(), has_byte_units());
}

// Returns true if a product had more memory than the next one may find: a 16th of the device's memory.
bool is_much(int64_t bytes) {
  if (bytes <= kLittle) return false;
  DeviceMemory memory;
  check(ask_device_memory(&memory), "asking for the device's memory");
  return bytes > static_cast<int64_t>(memory.all / 16);
}

// The transpose, where rows of the product are neighbours in memory: kernels write columns.
ProductTask by_rows(const ProductTask& task) {
  if (task.column_stride == 1 || task.row_stride != 1) return task;
  ProductTask turned = task;
  std::swap(turned.a, turned.b);
  std::swap(turned.row_stride, turned.column_stride);
  return turned;
}

// The device memory for a product. Asking how much is free takes longer than a small product, which tries kLittle.
int64_t room_for(const ProductTask& task, const ProductWork& work) {
  const auto rows = static_cast<double>(task.a.count), columns = static_cast<double>(task.b.count);
  const double values = rows * columns + (rows + columns) * static_cast<double>(task.a.depth);
  const int64_t room = values < kLittle / 64 ? kLittle : free_device_memory() / 16 * 15;
  return work.device_memory > 0 ? std::min(room, work.device_memory) : room;
}

Patience patience_for(const ProductTask& task, const ThreadPool& pool) {
  constexpr double kProducts = 1e11, kBytes = 1e8;  // a second, of a slow device and a slow link
  const auto rows = static_cast<double>(task.a.count), columns = static_cast<double>(task.b.count);
  const auto depth = static_cast<double>(task.a.depth);
  const double seconds = rows * columns * depth / kProducts + (rows * columns + (rows + columns) * depth) * 8 / kBytes;
  return {Patience::Seconds(seconds), min_patience(), pool.abort(), nullptr};
}

// A factor, block after block of its lines.
class FactorSide {
 public:
  FactorSide(const ProductLines& lines, int64_t room, ThreadPool& pool) : lines_(lines) {
    constexpr int64_t kMaxBytes = int64_t{64} << 20;
    if (lines.place.on_host()) upload_.emplace(lines, std::min(kMaxBytes, room / 16), pool);
  }

  int64_t upload_bytes() const { return upload_ ? upload_->bytes(lines_.count) : 0; }
  void lay_out(const LineShape& shape, int64_t max_lines, MemoryCutter& from) {
    wide_ = shape.wide;
    packed_.lay_out(shape, max_lines, from);
  }
  void prepare(int64_t max_lines) {
    if (upload_) upload_->prepare(max_lines);
  }
  /// Packs these lines. For lines on the device it adds a task to `there`, which the caller packs.
  void begin(int64_t first, int64_t count, const Stream& stream, std::vector<PackTask>& there) {
    packed_.begin(count);
    if (upload_) return upload_->pack(first, packed_.lines(), wide_, stream);
    const auto* from = static_cast<const std::byte*>(lines_.data);
    if (from != nullptr) from += first * lines_.stride * static_cast<int64_t>(size_of(lines_.type));
    there.push_back({from, lines_.type, lines_.stride, lines_.step, 0, static_cast<int32_t>(count), 0, lines_.depth,
                     packed_.lines()});
  }
  const PackedLines& lines() const { return packed_.lines(); }

 private:
  ProductLines lines_;
  bool wide_ = false;
  std::optional<LineUpload> upload_;
  PackedFactor packed_;
};

class CudaProduct {
 public:
  /// `gives_up`: where residues prove too little.
  CudaProduct(const ProductTask& task, const ProductWork& work, ScreenWish wish, bool gives_up)
      : task_(by_rows(task)),
        gives_up_(gives_up),
        pool_(work.pool),
        size_(size_of_task(task_)),
        stream_(patience_for(task_, work.pool)),
        room_(room_for(task_, work)),
        a_(task_.a, room_, work.pool),
        b_(task_.b, room_, work.pool) {
    if (size_.keeps_entries) fetching_.emplace(runtime(), device::PieceBytes{}, pool_.size(), pool_.abort());
    plan_ = plan_product(size_, wish_of(wish), room_, a_.upload_bytes() + b_.upload_bytes());
    allocate();
  }
  CudaProduct(const CudaProduct&) = delete;
  CudaProduct& operator=(const CudaProduct&) = delete;

  /// Returns nullopt if residues leave too many entries to exact sums, and sums of binary64 should be tried.
  std::optional<ProductCounts> run();
  int64_t bytes() const { return plan_.bytes; }

 private:
  void allocate();
  void lay_out(MemoryCutter& from);
  void set_bounds();
  int64_t value_bytes() const { return size_.wide ? 8 : 4; }
  unsigned long long max_unproved() const;
  void multiply_block(int64_t row, int64_t column);
  void fetch(int64_t row, int64_t column);
  void scatter(const std::byte* from, std::byte* to) const;
  std::byte* place(int64_t row, int64_t column) const {
    return static_cast<std::byte*>(task_.out) + (row * task_.row_stride + column * task_.column_stride) * value_bytes();
  }

  const ProductTask task_;
  const bool gives_up_;
  ThreadPool& pool_;
  ProductSize size_;
  ProductPlan plan_{};
  const Stream stream_;
  int64_t room_;
  FactorSide a_, b_;
  std::optional<device::Staging> fetching_;
  DeviceBuffer<std::byte> memory_;  // of all that follows, and of both factors
  std::byte* entries_ = nullptr;
  std::span<std::byte> counted_;  // begins with zeros: counts of entries, the cells, measures of residues
  PinnedBuffer<unsigned long long> found_;
  bool resolved_by_screen_ = false;
  AlignedBuffer<std::byte> fetched_;
  ResidueScreen residues_;
  LineRounding rounding_{};
  ProductBlock block_;
};

void CudaProduct::allocate() {
  MemoryCutter sizes(nullptr);
  lay_out(sizes);
  memory_ = DeviceBuffer<std::byte>(static_cast<size_t>(sizes.bytes()), "the product");
  MemoryCutter cutter(memory_.data());
  lay_out(cutter);
  a_.prepare(plan_.rows);
  b_.prepare(plan_.columns);
  found_ = PinnedBuffer<unsigned long long>(2, "counts of a product");
  block_.unproved.found = found_.data();
  set_bounds();
}

void CudaProduct::lay_out(MemoryCutter& from) {
  constexpr int64_t kCountBytes = 32;
  Unproved& unproved = block_.unproved;
  a_.lay_out(plan_.shape, plan_.rows, from);
  b_.lay_out(plan_.shape, plan_.columns, from);
  if (size_.keeps_entries) entries_ = from.cut<std::byte>(plan_.rows * plan_.columns * value_bytes());
  if (plan_.by_residues()) residues_.lay_out(plan_, from);
  if (plan_.keeps_sums()) {
    block_.sums = from.cut<double>(plan_.parts() * padded_lines(plan_.rows) * padded_lines(plan_.columns));
  }
  unproved.list = from.cut<uint2>(plan_.unproved);
  int64_t counted_bytes = (kCountBytes + plan_.cells() + 15) / 16 * 16;
  const int64_t measures_at = counted_bytes;
  if (plan_.by_residues()) counted_bytes += residue_measures(plan_.rows, plan_.columns) * 8;
  counted_ = {from.cut<std::byte>(counted_bytes), static_cast<size_t>(counted_bytes)};
  unproved.counted = reinterpret_cast<unsigned long long*>(counted_.data());
  if (counted_.data() == nullptr) return;  // sizes alone
  unproved.settled = unproved.counted + 1;
  unproved.blocks_done = unproved.counted + 2;
  unproved.cells = reinterpret_cast<uint8_t*>(counted_.data() + kCountBytes);
  if (plan_.by_residues()) {
    residues_.measure_in(reinterpret_cast<unsigned long long*>(counted_.data() + measures_at));
  }
}

void CudaProduct::set_bounds() {
  const int64_t depth = size_.depth;
  const double gamma = gamma_of_roundings(roundings_of(plan_));
  rounding_.squares_up = 1 + static_cast<double>(depth + 8) * 0x1p-52;
  rounding_.factor_of_norm = std::sqrt(gamma * kQuickScale) * (1 + 0x1p-40);
  rounding_.first_slice = 1.5 * std::ldexp(1.0, 52 - slice_bits(depth));
  rounding_.second_slice = 1.5 * std::ldexp(1.0, 52 - 2 * slice_bits(depth));
  block_.wide = size_.wide;
  block_.exact_width = exact_width(depth);
  block_.gamma = gamma;
  const double again = gamma_of_roundings(depth / 32 + 64);
  block_.second_gamma = again * again;
  block_.error = sliced_error(depth, gamma);
  block_.splits = plan_.splits;
  block_.unproved.capacity = plan_.unproved;
}

std::optional<ProductCounts> CudaProduct::run() {
  Settled settled(stream_);
  ProductCounts counts{.entries = size_.rows * size_.columns, .screen = plan_.by_residues() ? "residues" : "sums"};
  for (int64_t j = 0; j < size_.columns; j += plan_.columns) {
    for (int64_t i = 0; i < size_.rows; i += plan_.rows) {
      check_abort(pool_.abort());
      multiply_block(i, j);
      stream_.synchronize("multiplying");
      if (found_[0] > block_.unproved.most) return std::nullopt;
      if (resolved_by_screen_ && found_[0] > 0) {
        resolve_product(block_, size_.multiprocessors, stream_);
        stream_.synchronize("multiplying");
      }
      if (size_.keeps_entries) fetch(i, j);
      counts.resolved += static_cast<int64_t>(found_[0] + found_[1]);
    }
  }
  if (!size_.keeps_entries) settled.already();
  counts.certified = counts.entries - counts.resolved;
  return counts;
}

// An entry that is summed exactly costs as much as some hundred sums of binary64.
unsigned long long CudaProduct::max_unproved() const {
  constexpr int64_t kShare = 64, kFew = 1 << 14;
  if (!plan_.by_residues() || !gives_up_) return std::numeric_limits<unsigned long long>::max();
  const int64_t entries = int64_t{block_.a.count} * block_.b.count;
  return static_cast<unsigned long long>(std::max(kFew, entries / kShare));
}

void CudaProduct::multiply_block(int64_t row, int64_t column) {
  std::vector<PackTask> there;
  std::vector<PackedLines> packed;
  if (row == 0) {  // columns stay for all rows
    b_.begin(column, std::min(plan_.columns, size_.columns - column), stream_, there);
    packed.push_back(b_.lines());
  }
  a_.begin(row, std::min(plan_.rows, size_.rows - row), stream_, there);
  packed.push_back(a_.lines());
  const bool together = there.size() == packed.size() && !size_.wide;
  if (!together || !pack_whole_lines(there, rounding_, counted_, stream_)) {
    if (!there.empty()) pack_lines(there, size_.wide, stream_);
    finish_lines(packed, rounding_, size_.wide, counted_, stream_);
  }
  block_.a = a_.lines();
  block_.b = b_.lines();
  block_.unproved.most = max_unproved();
  found_[1] = 0;  // where the screen resolves nothing
  block_.unproved.cells_across = (block_.columns() + kCellEntries - 1) / kCellEntries;
  block_.out = size_.keeps_entries ? entries_ : place(row, column);
  block_.row_stride = size_.keeps_entries ? block_.columns() : task_.row_stride;
  block_.column_stride = size_.keeps_entries ? 1 : task_.column_stride;
  if (plan_.by_residues()) {
    residues_.screen(block_, row == 0, size_.multiprocessors, stream_);
  } else {
    resolved_by_screen_ = screen_product(block_, size_.multiprocessors, stream_);
  }
  if (!resolved_by_screen_) resolve_product(block_, size_.multiprocessors, stream_);
}

// Into the host's memory.
void CudaProduct::fetch(int64_t row, int64_t column) {
  const int64_t rows = block_.rows(), columns = block_.columns();
  const auto row_bytes = static_cast<size_t>(columns * value_bytes());
  const bool by_rows = task_.column_stride == 1 || columns == 1;
  const bool dense = by_rows && (task_.row_stride == columns || rows == 1);
  const auto fetch_all = [&](std::byte* to) {
    fetching_->fetch(
        static_cast<size_t>(rows) * row_bytes, {&to, 1}, [&](size_t) { return address_of(entries_); }, stream_,
        "fetching the product");
  };
  if (dense) return fetch_all(place(row, column));
  if (by_rows && row_bytes >= 4096) {
    std::vector<std::byte*> to(static_cast<size_t>(rows));
    for (int64_t i = 0; i < rows; ++i) to[static_cast<size_t>(i)] = place(row + i, column);
    return fetching_->fetch(
        row_bytes, to, [&](size_t i) { return address_of(entries_ + i * row_bytes); }, stream_, "fetching the product");
  }
  const size_t bytes = static_cast<size_t>(rows) * row_bytes;
  if (fetched_.size() < bytes) fetched_ = AlignedBuffer<std::byte>(bytes);
  fetch_all(fetched_.data());
  pool_.for_each_range(rows, 1 + (1 << 16) / columns, [&](int, int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      scatter(fetched_.data() + static_cast<size_t>(i) * row_bytes, place(row + i, column));
    }
  });
}

// A row.
void CudaProduct::scatter(const std::byte* from, std::byte* to) const {
  const auto bytes = static_cast<size_t>(value_bytes());
  for (int64_t j = 0; j < block_.columns(); ++j) {
    std::memcpy(to + j * task_.column_stride * value_bytes(), from + j * value_bytes(), bytes);
  }
}

// Returns nullopt if the product is given up or has no memory, and another screen may be tried.
std::optional<ProductCounts> attempt(const ProductTask& task, const ProductWork& work, ScreenWish wish, bool gives_up,
                                     bool& much) {
  std::optional<CudaProduct> product;
  try {
    product.emplace(task, work, wish, gives_up);
  } catch (const Error& error) {
    if (!gives_up || error.code() != ErrorCode::kUnavailable) throw;
    return std::nullopt;
  }
  const std::optional<ProductCounts> counts = product->run();
  much = much || is_much(product->bytes());
  return counts;
}

// Residues, if they are best; sums, if these prove too little; residues after all, if sums do not fit.
ProductCounts multiply_by_any(const ProductTask& task, const ProductWork& work, bool& much) {
  if (const auto counts = attempt(task, work, ScreenWish::kBest, true, much)) return *counts;
  try {
    return *attempt(task, work, ScreenWish::kSums, false, much);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kUnavailable) throw;
  }
  return *attempt(task, work, ScreenWish::kResidues, false, much);
}

}  // namespace
}  // namespace cuda

ProductCounts multiply_on_cuda(const ProductTask& task, const ProductWork& work) {
  int devices = 0;
  const bool there = device::devices_answer_now() && cudaGetDeviceCount(&devices) == cudaSuccess;
  if (!there || work.device >= devices) {
    cudaGetLastError();
    BackendOptions options;
    options.threads = 1;
    options.device = work.device;
    make_backend("cuda", options);  // it says why not
  }
  const cuda::OnDevice here(work.device);
  bool much = false;
  const ProductCounts counts = cuda::multiply_by_any(task, work, much);
  if (much) cuda::trim_device_memory();
  return counts;
}

}  // namespace manymeans
