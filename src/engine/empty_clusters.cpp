#include "engine/empty_clusters.h"

#include <manymeans/error.h>

#include "data/gather.h"
#include "prototype/prototype.h"

#include <fmt/format.h>

#include <algorithm>

namespace manymeans {
namespace {

std::vector<int64_t> empty_clusters(const std::vector<int64_t>& weights) {
  std::vector<int64_t> empty;
  for (size_t k = 0; k < weights.size(); ++k) {
    if (weights[k] == 0) empty.push_back(static_cast<int64_t>(k));
  }
  return empty;
}

void warn_once(Member& member, const std::string& text) {
  if (std::find(member.warnings.begin(), member.warnings.end(), text) == member.warnings.end()) {
    member.warnings.push_back(text);
  }
}

void relocate(Session& session, Member& member, const std::vector<int64_t>& empty, const Input& input) {
  // A cluster can be refused as donor only for its last weighted row, so this many rows always suffice.
  const auto wanted = static_cast<int64_t>(empty.size()) + member.result.k;
  const std::vector<DistantRow> donors = session.rows().farthest_rows(member.slot, member.prototypes, wanted);
  std::vector<int64_t> rows;
  for (const DistantRow& donor : donors) rows.push_back(donor.row);
  const std::vector<int64_t> own_weights = weights_from_all(input, rows);
  std::vector<int64_t> weights = session.sizes(member.slot).weights;
  size_t next = 0;
  for (const int64_t cluster : empty) {
    while (next < donors.size() && weights[donors[next].label] == own_weights[next]) ++next;
    if (next == donors.size()) {
      warn_once(member, fmt::format("model {}: an empty cluster found no point to take and kept its prototype "
                                    "(fewer distinct points than clusters?)",
                                    member.title()));
      return;
    }
    const DistantRow& donor = donors[next];
    const auto label = static_cast<uint32_t>(cluster);
    session.move_row(member.slot, donor.row, label);
    weights[donor.label] -= own_weights[next];
    weights[label] += own_weights[next++];
    member.state += label_term(donor.row, label) - label_term(donor.row, donor.label);
    member.relocated = true;
  }
}

void drop(Session& session, Member& member, const std::vector<int64_t>& empty) {
  const int64_t k = member.result.k;
  std::vector<int64_t> kept;
  std::vector<uint32_t> new_label(static_cast<size_t>(k));
  for (int64_t cluster = 0; cluster < k; ++cluster) {
    new_label[static_cast<size_t>(cluster)] = static_cast<uint32_t>(kept.size());
    if (!std::binary_search(empty.begin(), empty.end(), cluster)) kept.push_back(cluster);
  }
  // Rows of weight zero may carry the label of a dropped cluster; the next pass labels them anew.
  for (uint32_t& label : new_label) label = std::min(label, static_cast<uint32_t>(kept.size() - 1));
  session.renumber(member.slot, new_label, kept);
  member.prototypes = keep_prototypes(member.prototypes, kept);
  member.result.k = static_cast<int64_t>(kept.size());
  member.cycle.reset();  // fewer clusters: no earlier state can come back
  warn_once(member, fmt::format("model {}: empty clusters were dropped", member.title()));
}

}  // namespace

void treat_empty_clusters(Session& session, Member& member, EmptyPolicy policy, const Input& input) {
  member.relocated = false;
  const std::vector<int64_t> empty = empty_clusters(session.sizes(member.slot).weights);
  if (empty.empty()) return;
  switch (policy) {
    case EmptyPolicy::kFarthest: return relocate(session, member, empty, input);
    case EmptyPolicy::kDrop: return drop(session, member, empty);
    case EmptyPolicy::kKeep: return;
    case EmptyPolicy::kError:
      throw LostCluster(ErrorCode::kBadData, "empty clusters",
                        fmt::format("cluster {} of model {} lost all its points in iteration {}; use fewer clusters, "
                                    "another seed, or the policy farthest, keep or drop",
                                    empty.front(), member.title(), member.result.iterations + 1));
  }
}

}  // namespace manymeans
