// The rows of all ranks, seen as one upload: every rank has some of them on its own backend, and its sessions answer
// for all rows. What leaves a session is what one over all rows would say, to the bit, and it is the same on all ranks;
// labels and distances alone are those of the rank's own rows.
//
// All ranks ask the same in the same order. Rows that are named are numbers among all rows.
#pragma once

#include "backend/backend.h"

#include <memory>

namespace manymeans {

/// `local`: the rows of this rank, which `input` describes and which input.comm joins with the others; null where the
/// rank has no rows. `input` must outlive it.
std::unique_ptr<Upload> make_sharded_upload(const Input& input, std::unique_ptr<Upload> local);

}  // namespace manymeans
