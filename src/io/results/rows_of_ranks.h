// A table whose rows several ranks have, as one file.
#pragma once

#include <manymeans/comm.h>

#include "io/table/writer.h"

#include <string>

namespace manymeans {

/// Writes the rows of all ranks, which all call this in all_or_abort(); `mine` are the rows of this rank. All ranks
/// write a .npy in place. Rank 0 writes other files, and gathers the rows meanwhile. The whole file is there in the
/// end, or nothing. If ranks are killed meanwhile, a ".manymeans-*.tmp" may remain next to a .npy: all ranks need its
/// name.
void write_rows_of_ranks(const std::string& path, const Table& mine, Comm& comm);

}  // namespace manymeans
