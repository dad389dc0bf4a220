// The rows of all shards, seen as one upload. What leaves a session is what one over all rows would say, to the bit; it
// has no labels, but their sum.
#pragma once

#include "backend/backend.h"
#include "backend/remote/remote_shards.h"

#include <memory>

namespace manymeans {

/// `input`: that of the shards. Both must outlive it.
std::unique_ptr<Upload> make_remote_upload(const Input& input, RemoteShards& shards, const Workload& workload);

}  // namespace manymeans
