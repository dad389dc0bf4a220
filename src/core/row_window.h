// Which rows of the points are in memory. Points that are larger than the allowed memory lie in a mapped file. A pass
// moves a window over them: it fetches the rows to come and frees the rows behind.
#pragma once

#include <manymeans/points.h>

#include "core/threads.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

namespace manymeans {

class RowWindow {
 public:
  /// All rows stay.
  RowWindow() = default;
  /// Rows are given back in chunks of `chunk_rows` (at least 1) behind a pass, but for the first `kept` rows. Unless
  /// the points lie in a file, only what the passes themselves keep is.
  RowWindow(const PointsView& points, bool in_file, int64_t chunk_rows, int64_t kept);

  bool moves() const { return chunk_rows_ > 0; }
  int64_t chunk_rows() const { return chunk_rows_; }
  /// A grain for loops over rows: not above the window's.
  int64_t grain(int64_t wanted) const { return moves() && chunk_rows_ < wanted ? chunk_rows_ : wanted; }
  /// To be called when one row has been read on its own.
  void visited(int64_t row) const { give_back(row, row + 1); }
  void give_back(int64_t first, int64_t last) const;
  void fetch(int64_t first, int64_t last) const;

  using GiveBack = std::function<void(int64_t first, int64_t last)>;
  /// pool.for_each_range over rows [0, n) in this window. `also` frees other arrays' shares of the same rows.
  void for_each_range(ThreadPool& pool, int64_t n, int64_t grain,
                      const std::function<void(int, int64_t, int64_t)>& body, const GiveBack& also = {}) const;

 private:
  size_t row_bytes() const { return static_cast<size_t>(points_.d) * size_of(points_.type); }

  PointsView points_;
  bool in_file_ = false;
  int64_t chunk_rows_ = 0;
  int64_t kept_ = 0;
};

/// A window for reading points once, where `memory` (as in ReadOptions) asks for that and they lie in a file.
RowWindow reading_window(const PointsView& points, int64_t memory);

/// One pass over rows [first, last): knows which chunks all threads are done with. `also` frees other arrays' shares of
/// the same rows. Does nothing where the window does not move.
class RowPass {
 public:
  RowPass(const RowWindow& window, int64_t first, int64_t last, RowWindow::GiveBack also = {});
  ~RowPass();  ///< frees what is left
  RowPass(const RowPass&) = delete;
  RowPass& operator=(const RowPass&) = delete;

  /// A thread begins at this row: what follows will be needed soon.
  void begin(int64_t row);
  /// These rows are done; every row is said to be so at most once.
  void done(int64_t first, int64_t last);

 private:
  void give_back(int64_t first, int64_t last) const;

  const RowWindow& window_;
  int64_t first_, last_;
  RowWindow::GiveBack also_;
  std::atomic<int64_t> fetched_;
  std::vector<std::atomic<int64_t>> left_;  // rows of each chunk that are not done
};

}  // namespace manymeans
