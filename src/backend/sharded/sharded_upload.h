// The rows of all ranks, seen as one upload. Every rank has some rows on its own backend, and its sessions answer for
// all rows. A session's results equal the results of one over all rows, to the bit, and are the same on all ranks. Only
// labels and distances are of the rank's own rows.
//
// All ranks ask the same in the same order. Rows that are named are numbers among all rows.
#pragma once

#include "backend/upload.h"
#include "data/input.h"

#include <memory>

namespace manymeans {

/// `local`: the rows of this rank, which `input` describes and which input.comm joins with the others; null where the
/// rank has no rows. `input` must outlive it.
std::unique_ptr<Upload> make_sharded_upload(const Input& input, std::shared_ptr<Upload> local);

}  // namespace manymeans
