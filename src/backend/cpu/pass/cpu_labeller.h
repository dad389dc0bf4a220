// Labels and distances of points that come once, to prototypes that are prepared once: predict and transform.
#pragma once

#include "backend/backend.h"
#include "backend/cpu/kernels/kernels.h"
#include "backend/cpu/pass/cpu_screen.h"
#include "core/aligned_buffer.h"

#include <memory>
#include <mutex>

namespace manymeans {

/// Two ways lead to a label. Canonical distances to panels of prototypes need only the widened prototypes. Their rate
/// is half of the float32 screen's, so they are faster for few prototypes or columns. The screen needs the points
/// packed, and pays for many. transform() returns the roots of canonical distances.
class CpuLabeller final : public Labeller {
 public:
  CpuLabeller(std::shared_ptr<const Matrix> prototypes, const CpuKernels& kernels, const BackendOptions& options);
  ~CpuLabeller() override;
  CpuLabeller(const CpuLabeller&) = delete;
  CpuLabeller& operator=(const CpuLabeller&) = delete;

  /// Returns whether it supports these options.
  static bool serves(const Matrix& prototypes, const BackendOptions& options);

  bool label(const PointsView& points, const LabelCall& call, Labels& labels, double* d2) const override;
  bool transform(const PointsView& points, const LabelCall& call, Matrix& distances) const override;

 private:
  // The prototypes as a screen sees them; their rows serve as the points of its sample.
  struct Screen {
    Input input;
    PointsPlan plan;
    PackedPoints frame;
    PassTarget target;
  };

  PrototypePanels panels() const { return {panels_.data(), prototypes_->rows(), prototypes_->columns()}; }
  double panel_ns() const;
  bool screen_pays(int64_t rows) const;
  const Screen& screen() const;
  PointsPlan plan_screen(const Input& input) const;
  bool label_by_screen(const PointsView& points, const LabelCall& call, Labels& labels, double* d2) const;
  int threads_for(int64_t rows, const LabelCall& call) const;
  template <class Body>
  bool for_each_wide_block(const PointsView& points, const LabelCall& call, Body&& body) const;

  std::shared_ptr<const Matrix> prototypes_;
  const CpuKernels& kernels_;
  BackendOptions options_;
  AlignedBuffer<double> panels_;
  mutable std::once_flag screen_made_;
  mutable std::unique_ptr<const Screen> screen_;
};

}  // namespace manymeans
