// One kernel computes all canonical distances of the rows. A session takes ten times as long to begin.
#include "backend/cuda/queries/cuda_labeller.h"

#include "backend/cuda/queries/label_rows.h"
#include "backend/cuda/runtime/device_memory.h"
#include "backend/cuda/runtime/on_device.h"
#include "core/memory_space.h"

#include <cmath>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace manymeans::cuda {
namespace {

constexpr double kMaxTerms = 2e9;  // of distances: less than a millisecond on a Hopper

class CudaLabeller final : public Labeller {
 public:
  CudaLabeller(std::shared_ptr<const Matrix> prototypes, int device)
      : prototypes_(std::move(prototypes)), device_(device) {}
  CudaLabeller(const CudaLabeller&) = delete;
  CudaLabeller& operator=(const CudaLabeller&) = delete;
  ~CudaLabeller() override {
    const CurrentDevice back;
    cudaSetDevice(device_);  // where it is gone, so is its memory
    there_ = {};
    found_ = {};
    refused_ = {};
  }

  // The largest distance of points that are not float64 is far below infinity: values need no limit.
  bool answers(const PointsView& points, Wanted wanted) const override {
    const double terms = static_cast<double>(points.n) * static_cast<double>(prototypes_->rows() * points.d);
    return wanted == Wanted::kLabels && points.place.space == "cuda" && points.place.device == device_ &&
           points.type != DataType::kFloat64 && prototypes_->type() == DataType::kFloat32 && terms <= kMaxTerms;
  }
  bool label(const PointsView& points, const LabelCall& call, Labels& labels, double* d2) const override;
  std::optional<bool> store(const PointsView& points, const LabelCall& call) const override;
  bool transform(const PointsView&, const LabelCall&, Matrix&) const override { return false; }

 private:
  // Labels the rows, and waits for them. The caller holds the mutex and has made the device the thread's.
  void label_all(const PointsView& points, const LabelledRows& out, const Stream& stream) const;

  std::shared_ptr<const Matrix> prototypes_;
  int device_;
  mutable std::mutex mutex_;
  mutable DeviceBuffer<float> there_;  // the prototypes
  mutable DeviceBuffer<SliceNearest> found_;
  mutable PinnedBuffer<uint32_t> refused_;
};

void CudaLabeller::label_all(const PointsView& points, const LabelledRows& out, const Stream& stream) const {
  DeviceBuffer<float> first;  // kept when the copy has arrived
  const Settled settled(stream);
  const auto values = prototypes_->values<float>();
  if (there_.empty()) {
    first = DeviceBuffer<float>(values.size(), "the prototypes");
    copy_to_device(first.data(), values.data(), values.size(), stream, "the prototypes");
  }
  PassRange range;
  range.k = prototypes_->rows();
  range.prototypes = there_.empty() ? first.data() : there_.data();
  label_rows({points.data, points.type, points.n, points.d}, range, out, stream);
  stream.synchronize("labelling rows");
  if (there_.empty()) there_ = std::move(first);
}

std::optional<bool> CudaLabeller::store(const PointsView& points, const LabelCall& call) const {
  if (call.room.place.space != points.place.space || call.room.place.device != device_) return std::nullopt;
  const OnDevice here(device_);
  memory_space(points).await(points);
  const std::lock_guard lock(mutex_);
  const Stream stream;
  refused_.reserve(1, "whether rows are refused");
  *refused_.data() = 0;
  label_all(points, {nullptr, static_cast<int32_t*>(call.room.data), refused_.data()}, stream);
  return *refused_.data() == 0;
}

bool CudaLabeller::label(const PointsView& points, const LabelCall& /*call*/, Labels& labels, double* d2) const {
  const OnDevice here(device_);
  memory_space(points).await(points);
  const std::lock_guard lock(mutex_);
  const Stream stream;
  std::vector<SliceNearest> found(static_cast<size_t>(points.n));
  found_.reserve(found.size(), "the labels");
  label_all(points, {found_.data()}, stream);
  read_back(found.data(), found_.data(), found.size(), stream, "labelling rows");
  std::vector<uint32_t> own;
  own.reserve(found.size());
  for (const SliceNearest& row : found) {
    if (row.k == prototypes_->rows() || !(row.distance < HUGE_VAL)) return false;
    own.push_back(static_cast<uint32_t>(row.k));
    if (d2 != nullptr) *d2++ = row.distance;
  }
  labels.write(0, points.n, own.data());
  return true;
}

}  // namespace

std::unique_ptr<Labeller> make_labeller(const std::shared_ptr<const Matrix>& prototypes, int device) {
  return std::make_unique<CudaLabeller>(prototypes, device);
}

}  // namespace manymeans::cuda
