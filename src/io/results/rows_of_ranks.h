// A table whose rows several ranks have, as one file.
#pragma once

#include <manymeans/comm.h>

#include "io/table/writer.h"

#include <string>

namespace manymeans {

/// Writes the rows of all ranks, which all call this in all_or_abort(); `mine` are those of this rank. A .npy is
/// written in place by all ranks; other files are written by rank 0, which gathers the rows meanwhile. The
/// whole file is there in the end, or nothing; but where ranks are killed meanwhile, a ".manymeans-*.tmp" may stay
/// beside a .npy, since the file of which all ranks know has a name.
void write_rows_of_ranks(const std::string& path, const Table& mine, Comm& comm);

}  // namespace manymeans
