#include "engine/prepared_model.h"

#include <manymeans/error.h>

#include "backend/backend.h"
#include "core/sparse_rows.h"
#include "prototype/prototype.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace manymeans {
namespace {

Matrix checked_prototypes(const PointsView& prototypes) {
  if (prototypes.n < 1) throw Error(ErrorCode::kUsage, "prototypes", "there are none; at least one is needed");
  if (prototypes.n > kMaxClusters) {
    throw Error(ErrorCode::kUsage, "prototypes",
                fmt::format("{} are too many; at most {}", prototypes.n, kMaxClusters));
  }
  return make_prototypes(prototypes, prototype_type(prototypes.type));
}

}  // namespace

PreparedModel::PreparedModel(const PointsView& prototypes)
    : given_(std::make_shared<const Matrix>(checked_prototypes(prototypes))) {}

bool PreparedModel::holds(const PointsView& prototypes) const {
  return prototypes.n == clusters() && prototypes.d == columns() && prototypes.type == given_->type() &&
         prototypes.place.on_host() && std::memcmp(prototypes.data, given_->bytes().data(), prototypes.bytes()) == 0;
}

PreparedModel::Ready PreparedModel::make(const PointsView& points, const PredictOptions& options,
                                         const Tuning& tuning) const {
  Ready ready{given_, nullptr};
  if (const DataType type = prototype_type(points.type); type != given_->type()) {
    ready.prototypes = std::make_shared<const Matrix>(make_prototypes(given_->view(), type));
  }
  if (is_sparse(points)) return ready;  // a session answers
  const BackendOptions how{.threads = options.threads, .algorithm = options.algorithm, .tuning = tuning};
  ready.labeller = make_backend(options.backend, points, how)->labeller(ready.prototypes);
  return ready;
}

PreparedModel::Ready PreparedModel::ready_for(const PointsView& points, const PredictOptions& options,
                                              const Tuning& tuning) const {
  const bool switches = !(tuning == Tuning{});
  if (switches) return make(points, options, tuning);
  const Kind kind{prototype_type(points.type), options.backend, options.algorithm, std::string(points.place.space),
                  points.place.device};
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(kept_, kind, &Kept::kind);
  if (found != kept_.end()) return found->ready;
  kept_.push_back({kind, make(points, options, tuning)});
  return kept_.back().ready;
}

}  // namespace manymeans
