// What commands do whose rows are shared by ranks.
#pragma once

#include <manymeans/comm.h>
#include <manymeans/io.h>

#include <memory>
#include <string>
#include <vector>

namespace manymeans::cli {

/// Joins the ranks, if there are several, and null else: this process then reads its part of the rows, and where
/// `threads` is 0 it takes its share of the processors that the ranks of this machine have. `inputs`: files,
/// and how the user calls them, that are checked by check_shareable().
std::shared_ptr<Comm> share_rows(const std::vector<NamedFile>& inputs, ReadOptions& reading, int& threads);

/// Throws Error(kUsage) for an input that several ranks cannot open: they all do, and what is read from a pipe is gone.
void check_shareable(const NamedFile& input);

/// Throws Error, naming two ranks, where the ranks found other numbers of rows in the files, or were told to take other
/// columns of them or to scale these otherwise. All ranks call it.
void check_same_reading(Comm& ranks, const Dataset& points, Scale scale);

/// What all ranks warn of, each sentence once, on the first rank; the others get nothing. All ranks call it. Without
/// ranks it is `mine`.
std::vector<std::string> warnings_of_all(Comm* ranks, const std::vector<std::string>& mine);

}  // namespace manymeans::cli
