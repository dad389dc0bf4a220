// Labels and distances of points without a session: for predict and transform.
#pragma once

#include <manymeans/points.h>

#include <atomic>
#include <cstdint>
#include <optional>

namespace manymeans {

/// How a Labeller works at one call.
struct LabelCall {
  int threads = 0;                           ///< at most so many; 0: all usable
  const std::atomic<bool>* abort = nullptr;  ///< as BackendOptions::abort
  ResultRoom room = {};                      ///< for store(), which was waited for
};

enum class Wanted : uint8_t { kLabels, kDistances };

/// Prototypes that are prepared once for whatever points come: what predict and transform ask, without statistics.
/// Several threads may ask at once. A function is called for points that it answers() only. It returns false, and has
/// written nothing of use, if a value of the points is not finite or too large. Then prepare_input() says which.
class Labeller {
 public:
  virtual ~Labeller() = default;
  /// Returns false if a session answers this sooner.
  virtual bool answers(const PointsView& points, Wanted wanted) const {
    static_cast<void>(points);
    static_cast<void>(wanted);
    return true;
  }
  /// Writes the label of every row and, if there is room for it, the canonical distance to the prototype that it names.
  virtual bool label(const PointsView& points, const LabelCall& call, Labels& labels, double* d2) const = 0;
  /// Writes the label of every row to the call's room. Nullopt if it cannot write there; else as label().
  virtual std::optional<bool> store(const PointsView& points, const LabelCall& call) const {
    static_cast<void>(points);
    static_cast<void>(call);
    return std::nullopt;
  }
  /// RowQueries::transform().
  virtual bool transform(const PointsView& points, const LabelCall& call, Matrix& distances) const = 0;
};

}  // namespace manymeans
