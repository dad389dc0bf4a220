// The rows of all shards, seen as one upload. A session's results equal the results of one over all rows, to the bit.
// It has no labels, only their sum.
#pragma once

#include "backend/remote/remote_shards.h"
#include "backend/upload.h"

#include <memory>

namespace manymeans {

/// `input`: the shards' input. Both must outlive it.
std::unique_ptr<Upload> make_remote_upload(const Input& input, RemoteShards& shards, const Workload& workload);

}  // namespace manymeans
