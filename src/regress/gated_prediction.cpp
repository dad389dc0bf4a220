#include <manymeans/error.h>
#include <manymeans/regress.h>

#include "core/fp_environment.h"
#include "core/mapped_range.h"
#include "core/memory_space.h"
#include "core/out_of_memory.h"
#include "core/threads.h"
#include "data/row_blocks.h"
#include "prototype/linear_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>

namespace manymeans {
namespace {

void check_agreement(const PointsView& x, const PointsView& models, const RegressionGate& gate) {
  if (x.n < 1 || x.d < 1 || x.data == nullptr) {
    throw Error(ErrorCode::kBadData, "points", "there are no values; at least one row and column is needed");
  }
  if (models.n < 1 || models.d != x.d + 1) {
    throw Error(ErrorCode::kBadData, "points",
                fmt::format("they have {} features, the models have {}", x.d, models.d - 1));
  }
  const bool agrees = gate.means.rows() == models.n && gate.means.columns() == x.d &&
                      gate.means.type() == DataType::kFloat64 && static_cast<int64_t>(gate.scales.size()) == x.d &&
                      static_cast<int64_t>(gate.weights.size()) == models.n;
  if (!agrees) {
    throw Error(ErrorCode::kBadData, "gate",
                fmt::format("it is not of {} models of {} features; give the one of the same model", models.n, x.d));
  }
  double sum = 0;
  for (const double weight : gate.weights) sum += weight;
  if (!(sum > 0) || !std::isfinite(sum)) {
    throw Error(ErrorCode::kBadData, "gate", fmt::format("its weights have the sum {}; it must be positive", sum));
  }
}

// How rows become predictions.
class Gate {
 public:
  Gate(const Matrix& models, const RegressionGate& gate, Gating gating)
      : models_(models), gate_(gate), gating_(gating), d_(models.columns() - 1) {
    double sum = 0;
    for (const double weight : gate.weights) sum += weight;
    for (const double weight : gate.weights) shares_.push_back(weight / sum);
  }

  int64_t width() const { return gating_ == Gating::kColumns ? models_.rows() : 1; }
  template <class T>
  void predict(const T* x, double* out) const {
    switch (gating_) {
      case Gating::kNearest: out[0] = prediction(x, nearest(x)); return;
      case Gating::kPrior:
        out[0] = 0;
        for (int64_t k = 0; k < models_.rows(); ++k) out[0] += shares_[static_cast<size_t>(k)] * prediction(x, k);
        return;
      case Gating::kColumns:
        for (int64_t k = 0; k < models_.rows(); ++k) out[k] = prediction(x, k);
        return;
    }
  }

 private:
  template <class T>
  double prediction(const T* x, int64_t k) const {
    return as_float_type(models_.type(), [&]<class M>(M) {
      return linear_prediction(x, models_.values<M>().data() + k * (d_ + 1), d_);
    });
  }
  template <class T>
  int64_t nearest(const T* x) const {
    int64_t best = -1;
    double least = std::numeric_limits<double>::infinity();
    for (int64_t k = 0; k < models_.rows(); ++k) {
      if (!(gate_.weights[static_cast<size_t>(k)] > 0)) continue;
      double d2 = 0;
      for (int64_t j = 0; j < d_; ++j) {
        const double t = (static_cast<double>(x[j]) - gate_.means.at(k, j)) / gate_.scales[static_cast<size_t>(j)];
        d2 += t * t;
      }
      if (best >= 0 && !(d2 < least)) continue;
      best = k;
      least = d2;
    }
    return best;
  }

  const Matrix& models_;
  const RegressionGate& gate_;
  Gating gating_;
  int64_t d_;
  std::vector<double> shares_;
};

// Says where the first value of this row is that is not finite.
[[noreturn]] void refuse_row(const PointsView& x, int64_t row) {
  std::vector<double> values(static_cast<size_t>(x.d));
  widen_row(x, row, values.data());
  const auto at = std::ranges::find_if(values, [](double value) { return !std::isfinite(value); });
  throw Error(ErrorCode::kBadData, "points",
              fmt::format("row {}, column {} is {}; only finite numbers can be used", row + 1, at - values.begin() + 1,
                          std::isnan(*at) ? "NaN" : fmt::format("{}", *at)));
}

Matrix predict_rows(const PointsView& x, const Gate& gate, const PredictOptions& options) {
  ThreadPool pool(thread_count(options.threads), options.abort);
  Matrix result(x.n, gate.width(), DataType::kFloat64);
  double* const out = result.values<double>().data();
  std::atomic<int64_t> bad{std::numeric_limits<int64_t>::max()};
  as_float_type(x.type, [&]<class T>(T) {
    for_each_block<T>(x, {}, pool, [&](int, int64_t first, int64_t rows, const T* values) {
      for (int64_t i = 0; i < rows; ++i, values += x.d) {
        if (!std::all_of(values, values + x.d, [](T value) { return std::isfinite(value); })) {
          for (int64_t seen = bad.load(); first + i < seen && !bad.compare_exchange_weak(seen, first + i);) {
          }
          continue;
        }
        gate.predict(values, out + (first + i) * gate.width());
      }
    });
  });
  if (const int64_t row = bad.load(); row != std::numeric_limits<int64_t>::max()) refuse_row(x, row);
  check_mapped(x.data);
  return result;
}

}  // namespace

Matrix regress_predict(const PointsView& x, const PointsView& models, const RegressionGate& gate, Gating gating,
                       const PredictOptions& options) {
  const FpEnvironmentGuard guard;
  return or_out_of_memory("memory", "give it fewer rows at a time", [&] {
    check_agreement(x, models, gate);
    await_points(x);
    const Matrix made = make_prototypes(models, prototype_type(models.type));
    return predict_rows(x, Gate(made, gate, gating), options);
  });
}

}  // namespace manymeans
