// Steps of commands whose ranks share the rows.
#pragma once

#include <manymeans/comm.h>
#include <manymeans/io.h>

#include <memory>
#include <string>
#include <vector>

namespace manymeans::cli {

/// Joins the ranks and returns them, or returns null if there is one process. With ranks, this process reads its part
/// of the rows. If `threads` is 0, it takes its share of the processors of the machine's ranks. `inputs`: files, and
/// how the user calls them, that are checked by check_shareable().
std::shared_ptr<Comm> share_rows(const std::vector<NamedFile>& inputs, ReadOptions& reading, int& threads);

/// Throws Error(kUsage) for an input that several ranks cannot open: they all do, and what is read from a pipe is gone.
void check_shareable(const NamedFile& input);

/// Throws Error, naming two ranks, if they found different numbers of rows, or if their options for columns or scaling
/// differ. All ranks call it.
void check_same_reading(Comm& ranks, const Dataset& points, const ScaleRules& rules);

/// Returns the warnings of all ranks, each sentence once, on the first rank. The others get nothing. All ranks call it.
/// Without ranks it is `mine`.
std::vector<std::string> warnings_of_all(Comm* ranks, const std::vector<std::string>& mine);

}  // namespace manymeans::cli
