// The Hungarian method with potentials: one row after the other gets a column, along a shortest augmenting path.
#include <manymeans/compare.h>

#include "core/fp_environment.h"
#include "core/threads.h"

#include <algorithm>
#include <limits>

namespace manymeans {
namespace {

constexpr int64_t kNone = -1;

// No more rows than columns. Row potential + column potential <= cost, equal where a row has its column.
class Assignment {
 public:
  Assignment(std::span<const double> costs, int64_t rows, int64_t columns)
      : costs_(costs),
        rows_(rows),
        columns_(columns),
        row_potential_(static_cast<size_t>(rows), 0),
        column_potential_(static_cast<size_t>(columns), 0),
        row_of_(static_cast<size_t>(columns), kNone) {}

  std::vector<int64_t> run(const std::atomic<bool>* abort) {
    for (int64_t row = 0; row < rows_; ++row) {
      check_abort(abort);
      augment(row);
    }
    std::vector<int64_t> column_of(static_cast<size_t>(rows_), kNone);
    for (int64_t column = 0; column < columns_; ++column) {
      if (row_of(column) != kNone) column_of[static_cast<size_t>(row_of(column))] = column;
    }
    return column_of;
  }

 private:
  int64_t row_of(int64_t column) const { return row_of_[static_cast<size_t>(column)]; }

  double slack(int64_t row, int64_t column) const {
    return costs_[static_cast<size_t>(row * columns_ + column)] - row_potential_[static_cast<size_t>(row)] -
           column_potential_[static_cast<size_t>(column)];
  }

  // Grows a tree of rows and columns without slack from this row, until it reaches a column that has no row.
  void augment(int64_t root) {
    const auto count = static_cast<size_t>(columns_);
    least_.assign(count, std::numeric_limits<double>::infinity());
    before_.assign(count, kNone);  // the column through whose row the tree came to this one
    done_.assign(count, false);
    int64_t row = root;
    int64_t column = kNone;
    do {
      const int64_t next = nearest(row, column);
      shift(least_[static_cast<size_t>(next)], root);
      column = next;
      done_[static_cast<size_t>(column)] = true;
      row = row_of(column);
    } while (row != kNone);
    while (column != kNone) {
      const int64_t previous = before_[static_cast<size_t>(column)];
      row_of_[static_cast<size_t>(column)] = previous == kNone ? root : row_of(previous);
      column = previous;
    }
  }

  // Looks at the row that has joined the tree (through `column`); the column outside it that is nearest to it.
  int64_t nearest(int64_t row, int64_t column) {
    int64_t best = kNone;
    for (int64_t other = 0; other < columns_; ++other) {
      const auto at = static_cast<size_t>(other);
      if (done_[at]) continue;
      if (const double found = slack(row, other); found < least_[at]) {
        least_[at] = found;
        before_[at] = column;
      }
      if (best == kNone || least_[at] < least_[static_cast<size_t>(best)]) best = other;
    }
    return best;
  }

  void shift(double by, int64_t root) {
    row_potential_[static_cast<size_t>(root)] += by;
    for (int64_t column = 0; column < columns_; ++column) {
      const auto at = static_cast<size_t>(column);
      if (done_[at]) {
        row_potential_[static_cast<size_t>(row_of_[at])] += by;
        column_potential_[at] -= by;
      } else {
        least_[at] -= by;
      }
    }
  }

  std::span<const double> costs_;
  int64_t rows_, columns_;
  std::vector<double> row_potential_, column_potential_, least_;
  std::vector<int64_t> row_of_, before_;
  std::vector<bool> done_;
};

}  // namespace

std::vector<int64_t> least_assignment(std::span<const double> costs, int64_t rows, int64_t columns,
                                      const std::atomic<bool>* abort) {
  const FpEnvironmentGuard guard;
  if (rows <= columns) return Assignment(costs, rows, columns).run(abort);
  std::vector<double> turned(costs.size());
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t column = 0; column < columns; ++column) {
      turned[static_cast<size_t>(column * rows + row)] = costs[static_cast<size_t>(row * columns + column)];
    }
  }
  std::vector<int64_t> column_of(static_cast<size_t>(rows), kNone);
  const std::vector<int64_t> row_of = Assignment(turned, columns, rows).run(abort);
  for (int64_t column = 0; column < columns; ++column) {
    column_of[static_cast<size_t>(row_of[static_cast<size_t>(column)])] = column;
  }
  return column_of;
}

}  // namespace manymeans
