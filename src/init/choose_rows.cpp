#include "init/choose_rows.h"

#include "core/philox_lanes.h"
#include "core/random.h"
#include "init/weighted_rows.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <numeric>
#include <unordered_set>
#include <utility>

namespace manymeans {
namespace {

// The search for one model's rows.
struct Search {
  const RowWish* wish = nullptr;
  std::vector<int64_t>* rows = nullptr;
  int64_t wanted = 0;  // draws, excluded rows included
  double share = 0;    // of all draws that are looked at: the smallest ones
  std::vector<RowDraw> draws;
};

Search begin_search(int64_t n, const RowWish& wish, std::vector<int64_t>& rows) {
  Search search;
  search.wish = &wish;
  search.rows = &rows;
  search.wanted = std::min(n, wish.count + static_cast<int64_t>(wish.excluded.size()));
  // A little more than the expected share.
  const auto wanted = static_cast<double>(search.wanted);
  search.share = (wanted + 8 * std::sqrt(wanted) + 64) / static_cast<double>(n);
  return search;
}

// Makes all draws of the searches' shares. Every rank draws for its rows.
void draw(const Input& input, std::span<Search*> searches, ThreadPool& pool) {
  constexpr int64_t kRows = 1 << 16;
  const Shard& rows = input.shard;
  const int64_t pieces = (rows.rows + kRows - 1) / kRows;
  std::mutex mutex;
  pool.for_each_range(static_cast<int64_t>(searches.size()) * pieces, 1, [&](int, int64_t piece, int64_t) {
    Search& search = *searches[static_cast<size_t>(piece / pieces)];
    const uint64_t most = search.share >= 1 ? ~uint64_t{0} : static_cast<uint64_t>(std::ldexp(search.share, 64));
    const int64_t first = rows.first + piece % pieces * kRows;
    std::vector<RowDraw> found;
    const int64_t last = std::min(rows.first + rows.rows, first + kRows);
    append_draws({search.wish->seed, 0, Purpose::kRandomRow, most}, first, last, found);
    const std::lock_guard lock(mutex);
    search.draws.insert(search.draws.end(), found.begin(), found.end());
  });
  if (input.comm->alone()) return;
  for (Search* search : searches) search->draws = input.comm->gather_flat(std::span<const RowDraw>(search->draws));
}

void end_search(Search& search) {
  std::sort(search.draws.begin(), search.draws.end());
  const std::unordered_set<int64_t> taken(search.wish->excluded.begin(), search.wish->excluded.end());
  for (const auto& [u, row] : search.draws) {
    if (static_cast<int64_t>(search.rows->size()) == search.wish->count) break;
    if (!taken.contains(row)) search.rows->push_back(row);
  }
}

std::vector<std::vector<int64_t>> rows_by_draws(const Input& input, std::span<const RowWish> models, ThreadPool& pool) {
  std::vector<std::vector<int64_t>> rows(models.size());
  std::vector<Search> searches;
  for (size_t m = 0; m < models.size(); ++m) searches.push_back(begin_search(input.shard.all, models[m], rows[m]));
  std::vector<Search*> active;
  for (Search& search : searches) active.push_back(&search);
  while (!active.empty()) {
    draw(input, active, pool);
    std::erase_if(active, [](Search* search) {
      if (static_cast<int64_t>(search->draws.size()) >= search->wanted) return true;
      search->draws.clear();
      search->share *= 2;
      return false;
    });
  }
  for (Search& search : searches) end_search(search);
  return rows;
}

}  // namespace

std::vector<std::vector<int64_t>> random_rows(const Input& input, std::span<const RowWish> models, ThreadPool& pool) {
  if (!input.weighted) return rows_by_draws(input, models, pool);
  const WeightedRows weighted(input, pool);
  if (weighted.all_equal()) return rows_by_draws(input, models, pool);
  std::vector<std::vector<int64_t>> rows(models.size());
  const auto draw_model = [&](int, int64_t m, int64_t) {
    rows[static_cast<size_t>(m)] = weighted.draw(models[static_cast<size_t>(m)]);
  };
  if (input.comm->alone()) {
    pool.for_each_range(static_cast<int64_t>(models.size()), 1, draw_model);
  } else {  // every draw is told to all ranks, in the same order
    for (int64_t m = 0; m < static_cast<int64_t>(models.size()); ++m) draw_model(0, m, m + 1);
  }
  for (size_t m = 0; m < models.size(); ++m) {
    const int64_t missing = models[m].count - static_cast<int64_t>(rows[m].size());
    if (missing == 0) continue;
    std::vector<int64_t> taken(models[m].excluded.begin(), models[m].excluded.end());
    taken.insert(taken.end(), rows[m].begin(), rows[m].end());
    const RowWish rest{missing, models[m].seed, taken};
    const std::vector<int64_t> others = rows_by_draws(input, {&rest, 1}, pool)[0];
    rows[m].insert(rows[m].end(), others.begin(), others.end());
  }
  return rows;
}

std::vector<int64_t> random_rows(const Input& input, const RowWish& model, ThreadPool& pool) {
  return std::move(random_rows(input, {&model, 1}, pool)[0]);
}

std::vector<int64_t> rows_by_weight(const Input& input, std::span<const uint64_t> u) {
  const int64_t n = input.points.n;
  const auto target = [](uint64_t number, int64_t total) {
    return static_cast<int64_t>(random_below(number, static_cast<uint64_t>(total)));
  };
  std::vector<int64_t> rows(u.size());
  if (!input.weighted) {
    for (size_t i = 0; i < u.size(); ++i) rows[i] = target(u[i], input.shard.all);
    return rows;
  }
  int64_t mine = 0;
  for (int64_t i = 0; i < n; ++i) mine += input.integer_weight(i);
  int64_t total = mine, prefix = mine;
  input.comm->sum({&total, 1});
  input.comm->scan({&prefix, 1});
  const int64_t before = prefix;
  std::vector<size_t> order(u.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return u[a] < u[b]; });
  int64_t row = -1;
  for (const size_t i : order) {  // targets ascend, so one walk over the rows serves all
    const int64_t wanted = target(u[i], total);
    rows[i] = -1;  // another rank has it
    if (wanted < before || wanted >= before + mine) continue;
    while (row < 0 || prefix <= wanted) prefix += input.integer_weight(++row);
    rows[i] = input.shard.first + row;
  }
  input.comm->max(std::span(rows));
  return rows;
}

}  // namespace manymeans
