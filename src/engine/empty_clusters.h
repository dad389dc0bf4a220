// The treatment of clusters that lost all their points: docs/developer/contract.md, "Empty clusters".
#pragma once

#include <manymeans/error.h>

#include "backend/session.h"
#include "data/input.h"
#include "engine/member.h"

namespace manymeans {

/// The error of the policy `error`. If several models throw it, the fit throws the first model's error, however they
/// are spread over passes: see LloydRun::run.
class LostCluster : public Error {
 public:
  using Error::Error;
};

/// Treats the empty clusters of one model between a pass and its update, and records it in the member.
/// Throws Error(kBadData) under EmptyPolicy::kError.
void treat_empty_clusters(Session& session, Member& member, EmptyPolicy policy, const Input& input);

}  // namespace manymeans
