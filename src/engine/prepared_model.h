// The prototypes of a Predictor, and what was made of them.
#pragma once

#include <manymeans/fit.h>
#include <manymeans/points.h>

#include "backend/labeller.h"
#include "backend/tuning.h"

#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace manymeans {

class PreparedModel {
 public:
  /// Throws Error for no or too many prototypes, and for values that are none.
  explicit PreparedModel(const PointsView& prototypes);

  int64_t clusters() const { return given_->rows(); }
  int64_t columns() const { return given_->columns(); }
  bool holds(const PointsView& prototypes) const;

  /// The needs of a call: the prototypes in the type of its points, and a labeller unless a session has to answer.
  struct Ready {
    std::shared_ptr<const Matrix> prototypes;
    std::shared_ptr<const Labeller> labeller;
  };
  /// Kept for the next call of the same kind, unless there are switches for tests.
  Ready ready_for(const PointsView& points, const PredictOptions& options, const Tuning& tuning) const;

 private:
  // What decides it.
  struct Kind {
    DataType type;
    std::string backend, algorithm;
    std::string space;  // of the points
    int device;
    bool operator==(const Kind&) const = default;
  };
  struct Kept {
    Kind kind;
    Ready ready;
  };
  Ready make(const PointsView& points, const PredictOptions& options, const Tuning& tuning) const;

  std::shared_ptr<const Matrix> given_;
  mutable std::mutex mutex_;
  mutable std::vector<Kept> kept_;
};

}  // namespace manymeans
