// Three steps. Prices: each cluster in turn changes its own price to get the right number of rows. The others' prices
// stay (ascent of the dual problem). Few rows are left in the wrong place. Paths: successive shortest augmenting paths
// among the clusters put these right, one row after the other, and end at an optimum. Order: an optimum's prices say
// which other clusters a row could have for the same total. Rows, ascending, take the lowest cluster for which the rows
// after them can make room.
#include "backend/balanced/balanced_assignment.h"

#include <manymeans/error.h>

#include "core/threads.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <functional>
#include <limits>
#include <span>
#include <unordered_map>
#include <utility>

namespace manymeans {
namespace {

constexpr int64_t kFar = std::numeric_limits<int64_t>::max();
// A round of prices takes about as long as kRound * n k steps of a search for a path. A path takes k^2 steps, and kLook
// for each row of a cluster.
constexpr int64_t kRound = 10;
constexpr int64_t kLook = 10;
constexpr int64_t kMinMended = 6;  // a round that fixes less than one part in kMinMended is the last one

constexpr int kPriceBits = 58;
constexpr int64_t kLargestPrice = int64_t{1} << kPriceBits;  // an optimum has no larger prices

struct PricedRow {
  int64_t slack;  // what the row loses by moving
  int32_t row;
  uint32_t to;
  bool operator<(const PricedRow& other) const { return slack != other.slack ? slack < other.slack : row < other.row; }
};

// Labels and sizes, with the prices that prove them: every row is where cost + price is least.
class PricedLabels {
 public:
  PricedLabels(const AssignmentCosts& costs, const SizeLimits& sizes, std::vector<int64_t>& prices,
               const std::atomic<bool>* abort)
      : costs_(costs),
        sizes_(sizes),
        prices_(prices),
        abort_(abort),
        labels_(static_cast<size_t>(costs.rows)),
        own_(static_cast<size_t>(costs.rows)),
        counts_(static_cast<size_t>(costs.clusters)) {
    take_cheapest();
  }

  /// Throws where the caller has given up.
  void check() const { check_abort(abort_); }
  int64_t n() const { return costs_.rows; }
  int64_t k() const { return costs_.clusters; }
  const SizeLimits& sizes() const { return sizes_; }
  const int64_t* column(int64_t c) const { return costs_.values.data() + c * n(); }
  int64_t& price(int64_t c) { return prices_[static_cast<size_t>(c)]; }
  uint32_t label(int64_t i) const { return labels_[static_cast<size_t>(i)]; }
  int64_t own(int64_t i) const { return own_[static_cast<size_t>(i)]; }
  int64_t count(int64_t c) const { return counts_[static_cast<size_t>(c)]; }
  std::vector<uint32_t>& labels() { return labels_; }

  void move(int64_t i, uint32_t to) {
    --counts_[labels_[static_cast<size_t>(i)]];
    ++counts_[to];
    labels_[static_cast<size_t>(i)] = to;
    own_[static_cast<size_t>(i)] = column(to)[i];
  }
  /// The number of rows that cluster c must have at its price; at price 0 its own number, within the limits.
  int64_t fitting(int64_t c) {
    if (price(c) > 0) return sizes_.most;
    if (price(c) < 0) return sizes_.least;
    return std::clamp(count(c), sizes_.least, sizes_.most);
  }
  int64_t misplaced();
  void settle_prices();

 private:
  void take_cheapest();
  bool settle(int64_t c);
  bool release(int64_t c, int64_t rows, int64_t most);
  bool attract(int64_t c, int64_t rows, int64_t most);
  void keep_least(int64_t rows);
  bool change_price(int64_t c, int64_t rows, int64_t most, int sign);

  const AssignmentCosts& costs_;
  const SizeLimits& sizes_;
  std::vector<int64_t>& prices_;
  const std::atomic<bool>* abort_;
  std::vector<uint32_t> labels_;
  std::vector<int64_t> own_;  // the cost of each row where it is
  std::vector<int64_t> counts_;
  std::vector<PricedRow> moving_;  // scratch
};

// The lowest of the cheapest.
void PricedLabels::take_cheapest() {
  std::copy_n(column(0), n(), own_.data());
  std::vector<int64_t> least(static_cast<size_t>(n()));
  for (int64_t i = 0; i < n(); ++i) least[static_cast<size_t>(i)] = column(0)[i] + price(0);
  for (int64_t c = 1; c < k(); ++c) {
    const int64_t* cost = column(c);
    for (size_t i = 0; i < least.size(); ++i) {
      const int64_t here = cost[i] + price(c);
      if (here >= least[i]) continue;
      least[i] = here;
      own_[i] = cost[i];
      labels_[i] = static_cast<uint32_t>(c);
    }
  }
  for (const uint32_t label : labels_) ++counts_[label];
}

// Rows that have to go from clusters, or come to them, at the prices as they are.
int64_t PricedLabels::misplaced() {
  int64_t rows = 0;
  for (int64_t c = 0; c < k(); ++c) rows += std::abs(count(c) - fitting(c));
  return rows;
}

// Runs until paths are faster: few rows are left, or a round fixes little.
void PricedLabels::settle_prices() {
  const int64_t few = k() + kRound * n() * k() / (k() * k() + kLook * n() / k());
  for (int64_t before = misplaced(); before > few;) {
    for (int64_t c = 0; c < k(); ++c) settle(c);
    const int64_t now = misplaced();
    if (now > before - before / kMinMended) return;
    before = now;
  }
}

// Changes one price to where the dual problem is best in it. False where it is there already.
bool PricedLabels::settle(int64_t c) {
  check();
  const int64_t most = price(c) >= 0 ? sizes_.most : sizes_.least;
  if (count(c) > most) return release(c, count(c) - most, price(c) >= 0 ? kFar : -price(c));
  const int64_t least = price(c) > 0 ? sizes_.most : sizes_.least;
  if (count(c) < least) return attract(c, least - count(c), price(c) > 0 ? price(c) : kFar);
  return false;
}

// Raises the price by at most `most`, until `rows` rows leave.
bool PricedLabels::release(int64_t c, int64_t rows, int64_t most) {
  moving_.clear();
  for (int64_t i = 0; i < n(); ++i) {
    if (label(i) == c) moving_.push_back({kFar, static_cast<int32_t>(i), 0});
  }
  for (int64_t other = 0; other < k(); ++other) {
    if (other == c) continue;
    const int64_t* cost = column(other);
    for (PricedRow& row : moving_) {
      const int64_t slack = cost[row.row] + price(other) - own(row.row) - price(c);
      if (slack >= row.slack) continue;
      row.slack = slack;
      row.to = static_cast<uint32_t>(other);
    }
  }
  return change_price(c, rows, most, 1);
}

// Lowers the price by at most `most`, until `rows` rows come.
bool PricedLabels::attract(int64_t c, int64_t rows, int64_t most) {
  constexpr int64_t kSpare = 64;
  moving_.clear();
  int64_t limit = most;
  const int64_t* cost = column(c);
  for (int64_t i = 0; i < n(); ++i) {
    if (label(i) == c) continue;
    const int64_t slack = cost[i] + price(c) - own(i) - price(label(i));
    if (slack > limit) continue;
    moving_.push_back({slack, static_cast<int32_t>(i), static_cast<uint32_t>(c)});
    if (std::ssize(moving_) < 2 * rows + kSpare) continue;
    keep_least(rows);  // so that most of the rows to come are passed over
    limit = moving_.back().slack;
  }
  return change_price(c, rows, most, -1);
}

// Keeps the `rows` candidates that lose least by moving, the last of them at the end.
void PricedLabels::keep_least(int64_t rows) {
  std::nth_element(moving_.begin(), moving_.begin() + (rows - 1), moving_.end());
  moving_.resize(static_cast<size_t>(rows));
}

bool PricedLabels::change_price(int64_t c, int64_t rows, int64_t most, int sign) {
  int64_t change = most;
  if (std::ssize(moving_) >= rows) {
    keep_least(rows);
    change = std::min(most, moving_.back().slack);
  }
  if (change == kFar || std::abs(price(c) + sign * change) > kLargestPrice) return false;
  price(c) += sign * change;
  bool moved = change > 0;
  for (const PricedRow& row : moving_) {
    if (row.slack > change) continue;
    move(row.row, row.to);
    moved = true;
  }
  return moved;
}

// Shortest augmenting paths. Nodes are the clusters and one more, the slack. An arc from cluster to cluster moves the
// row that loses least. An arc to the slack lets a cluster keep one row more, an arc from the slack one less.
class ShortestPaths {
 public:
  explicit ShortestPaths(PricedLabels& labels)
      : labels_(labels), k_(labels.k()), slack_(k_), kept_(nodes()), excess_(nodes()) {}

  void run() {
    int64_t kept = 0;
    for (int64_t c = 0; c < k_; ++c) {
      kept_[static_cast<size_t>(c)] = labels_.fitting(c);
      kept += kept_[static_cast<size_t>(c)];
      excess_[static_cast<size_t>(c)] = labels_.count(c) - kept_[static_cast<size_t>(c)];
    }
    excess_[static_cast<size_t>(slack_)] = kept - labels_.n();
    if (std::ranges::none_of(excess_, [](int64_t e) { return e != 0; })) return;
    find_arcs();
    while (std::ranges::any_of(excess_, [](int64_t e) { return e > 0; })) augment();
  }

 private:
  struct Arc {
    int64_t cost = kFar;
    int32_t row = -1;
  };
  using Candidate = std::pair<int64_t, int32_t>;  // cost and row

  size_t nodes() const { return static_cast<size_t>(k_) + 1; }
  Arc& arc(int64_t from, int64_t to) { return arcs_[static_cast<size_t>(from * k_ + to)]; }
  int64_t price(int64_t node) { return node == slack_ ? 0 : labels_.price(node); }
  void find_arcs();
  int64_t length(int64_t from, int64_t to);
  void augment();
  int64_t search();
  void move_row(int64_t from, int64_t to);
  void look_again(int64_t from, int64_t to);

  PricedLabels& labels_;
  int64_t k_;
  int64_t slack_;                // the number of that node
  std::vector<int64_t> kept_;    // rows that a cluster is to have, as the paths so far have it
  std::vector<int64_t> excess_;  // what is there above that
  std::vector<Arc> arcs_;
  std::unordered_map<int64_t, std::vector<Candidate>> heaps_;  // of arcs that lost a row; some may be gone since
  std::vector<std::vector<int32_t>> members_;
  std::vector<size_t> place_;  // of each row among the members of its cluster
  std::vector<int64_t> distance_, before_;
  std::vector<bool> done_;
};

void ShortestPaths::find_arcs() {
  arcs_.assign(static_cast<size_t>(k_ * k_), {});
  members_.resize(static_cast<size_t>(k_));
  place_.resize(static_cast<size_t>(labels_.n()));
  for (int64_t i = 0; i < labels_.n(); ++i) {
    std::vector<int32_t>& members = members_[labels_.label(i)];
    place_[static_cast<size_t>(i)] = members.size();
    members.push_back(static_cast<int32_t>(i));
  }
  std::vector<Arc> best(static_cast<size_t>(k_));  // to one cluster
  for (int64_t to = 0; to < k_; ++to) {
    best.assign(best.size(), {});
    const int64_t* cost = labels_.column(to);
    for (int64_t i = 0; i < labels_.n(); ++i) {
      Arc& mine = best[labels_.label(i)];
      const int64_t here = cost[i] - labels_.own(i);
      if (here < mine.cost) mine = {here, static_cast<int32_t>(i)};
    }
    for (int64_t from = 0; from < k_; ++from) arc(from, to) = best[static_cast<size_t>(from)];
  }
}

// By prices: 0 or more for every arc that is there.
int64_t ShortestPaths::length(int64_t from, int64_t to) {
  const SizeLimits& sizes = labels_.sizes();
  if (to == slack_ && kept_[static_cast<size_t>(from)] >= sizes.most) return kFar;
  if (from == slack_ && kept_[static_cast<size_t>(to)] <= sizes.least) return kFar;
  const bool by_row = from != slack_ && to != slack_;
  if (by_row && arc(from, to).row < 0) return kFar;
  return (by_row ? arc(from, to).cost : 0) + price(to) - price(from);
}

// Dijkstra from all nodes with excess to the nearest that lacks rows; its number.
int64_t ShortestPaths::search() {
  distance_.assign(nodes(), kFar);
  before_.assign(nodes(), -1);
  done_.assign(nodes(), false);
  for (size_t v = 0; v < nodes(); ++v) {
    if (excess_[v] > 0) distance_[v] = 0;
  }
  while (true) {
    int64_t next = -1;
    for (size_t v = 0; v < nodes(); ++v) {
      if (done_[v] || distance_[v] == kFar) continue;
      if (next < 0 || distance_[v] < distance_[static_cast<size_t>(next)]) next = static_cast<int64_t>(v);
    }
    if (next < 0) throw Error(ErrorCode::kInternal, "min_size", "no labels of these sizes were found");
    if (excess_[static_cast<size_t>(next)] < 0) return next;
    done_[static_cast<size_t>(next)] = true;
    for (size_t v = 0; v < nodes(); ++v) {
      if (done_[v]) continue;
      const int64_t step = length(next, static_cast<int64_t>(v));
      if (step == kFar || distance_[static_cast<size_t>(next)] + step >= distance_[v]) continue;
      distance_[v] = distance_[static_cast<size_t>(next)] + step;
      before_[v] = next;
    }
  }
}

void ShortestPaths::augment() {
  labels_.check();
  const int64_t end = search();
  const int64_t longest = distance_[static_cast<size_t>(end)];
  const auto rise = [&](int64_t v) {
    return done_[static_cast<size_t>(v)] ? longest - distance_[static_cast<size_t>(v)] : 0;
  };
  const int64_t of_slack = rise(slack_);  // whose price stays 0
  for (int64_t c = 0; c < k_; ++c) labels_.price(c) += rise(c) - of_slack;
  int64_t to = end;
  ++excess_[static_cast<size_t>(end)];
  for (int64_t from = before_[static_cast<size_t>(to)]; from >= 0; from = before_[static_cast<size_t>(to)]) {
    if (to == slack_) {
      ++kept_[static_cast<size_t>(from)];
    } else if (from == slack_) {
      --kept_[static_cast<size_t>(to)];
    } else {
      move_row(from, to);
    }
    to = from;
  }
  --excess_[static_cast<size_t>(to)];
}

void ShortestPaths::move_row(int64_t from, int64_t to) {
  const int32_t row = arc(from, to).row;
  std::vector<int32_t>& left = members_[static_cast<size_t>(from)];
  const size_t at = place_[static_cast<size_t>(row)];
  left[at] = left.back();
  place_[static_cast<size_t>(left[at])] = at;
  left.pop_back();
  place_[static_cast<size_t>(row)] = members_[static_cast<size_t>(to)].size();
  members_[static_cast<size_t>(to)].push_back(row);
  labels_.move(row, static_cast<uint32_t>(to));
  for (int64_t c = 0; c < k_; ++c) {
    if (arc(from, c).row == row) look_again(from, c);
    const int64_t here = labels_.column(c)[row] - labels_.own(row);
    if (here < arc(to, c).cost) arc(to, c) = {here, row};
    const auto heap = heaps_.find(to * k_ + c);
    if (heap == heaps_.end()) continue;
    heap->second.emplace_back(here, row);
    std::ranges::push_heap(heap->second, std::greater<>());
  }
}

// The next row of an arc whose row has left. Such calls repeat, so all rows are put in a heap.
void ShortestPaths::look_again(int64_t from, int64_t to) {
  std::vector<Candidate>& heap = heaps_[from * k_ + to];
  if (heap.empty()) {
    for (const int32_t i : members_[static_cast<size_t>(from)]) {
      heap.emplace_back(labels_.column(to)[i] - labels_.own(i), i);
    }
    std::ranges::make_heap(heap, std::greater<>());
  }
  while (!heap.empty() && labels_.label(heap.front().second) != from) {
    std::ranges::pop_heap(heap, std::greater<>());
    heap.pop_back();
  }
  arc(from, to) = heap.empty() ? Arc{} : Arc{heap.front().first, heap.front().second};
}

// Among the labels of least cost the lexicographically smallest ones.
class LowestLabels {
 public:
  explicit LowestLabels(PricedLabels& labels) : labels_(labels), k_(labels.k()), sources_(static_cast<size_t>(k_)) {}

  void run() {
    find_ties();
    for (row_ = 0; row_ < std::ssize(tied_); ++row_) lower(tied_[static_cast<size_t>(row_)]);
  }

 private:
  // Rows that could leave one cluster for another at no cost; some of them may have left or be settled.
  struct Moves {
    int64_t from;
    std::vector<int32_t> rows;
  };
  struct Step {
    int64_t to = -1;   // towards the cluster that is looked for; k: by the slack
    int32_t row = -1;  // that moves there
    bool reaches = false;
  };

  void find_ties();
  void offer(int32_t row);
  void lower(int32_t row);
  void find_way_to(int64_t end);
  int32_t row_of(Moves& moves) const;
  void follow(int64_t from, int64_t end);
  std::span<const uint32_t> choices(int32_t row) const {
    const auto at = std::ranges::lower_bound(tied_, row) - tied_.begin();
    const size_t first = begins_[static_cast<size_t>(at)];
    return std::span(choices_).subspan(first, begins_[static_cast<size_t>(at) + 1] - first);
  }

  PricedLabels& labels_;
  int64_t k_;
  int64_t row_ = 0;                          // place of the row at hand among the tied ones: those before are settled
  std::vector<int32_t> tied_;                // rows with several clusters to choose from, ascending
  std::vector<size_t> begins_;               // where each one's choices begin
  std::vector<uint32_t> choices_;            // ascending, their labels included
  std::vector<std::vector<Moves>> sources_;  // by the cluster they lead to
  std::unordered_map<int64_t, size_t> places_;
  std::vector<Step> steps_;
};

void LowestLabels::find_ties() {
  const auto rows = static_cast<size_t>(labels_.n());
  std::vector<int64_t> least(rows), ties(rows);
  for (size_t i = 0; i < rows; ++i) {
    const auto row = static_cast<int64_t>(i);
    least[i] = labels_.own(row) + labels_.price(labels_.label(row));
  }
  for (int64_t c = 0; c < k_; ++c) {
    const int64_t* cost = labels_.column(c);
    const int64_t price = labels_.price(c);
    for (size_t i = 0; i < rows; ++i) ties[i] += cost[i] + price == least[i] ? 1 : 0;
  }
  for (size_t i = 0; i < rows; ++i) {
    if (ties[i] < 2) continue;
    tied_.push_back(static_cast<int32_t>(i));
    begins_.push_back(choices_.size());
    for (int64_t c = 0; c < k_; ++c) {
      if (labels_.column(c)[i] + labels_.price(c) == least[i]) choices_.push_back(static_cast<uint32_t>(c));
    }
  }
  begins_.push_back(choices_.size());
  // The lowest last, so that it is tried first.
  for (auto row = tied_.rbegin(); row != tied_.rend(); ++row) offer(*row);
}

// The row may leave the cluster where it is.
void LowestLabels::offer(int32_t row) {
  const int64_t from = labels_.label(row);
  for (const uint32_t to : choices(row)) {
    if (to == from) continue;
    std::vector<Moves>& sources = sources_[to];
    const auto [place, fresh] = places_.try_emplace(from * k_ + to, sources.size());
    if (fresh) sources.push_back({from, {}});
    sources[place->second].rows.push_back(row);
  }
}

void LowestLabels::lower(int32_t row) {
  const int64_t now = labels_.label(row);
  const auto options = choices(row);
  if (options[0] == now) return;
  labels_.check();
  find_way_to(now);
  for (const uint32_t to : options) {
    if (to >= now) return;
    if (!steps_[to].reaches) continue;
    labels_.move(row, to);
    follow(to, now);
    return;
  }
}

// A row that is still there and not settled; -1: none.
int32_t LowestLabels::row_of(Moves& moves) const {
  const int32_t settled = tied_[static_cast<size_t>(row_)];
  while (!moves.rows.empty()) {
    const int32_t row = moves.rows.back();
    if (row > settled && labels_.label(row) == moves.from) return row;
    moves.rows.pop_back();
  }
  return -1;
}

// From every cluster that can pass one row on, to the one at hand. Breadth first, backwards.
void LowestLabels::find_way_to(int64_t end) {
  const SizeLimits& sizes = labels_.sizes();
  steps_.assign(static_cast<size_t>(k_) + 1, {});
  steps_[static_cast<size_t>(end)].reaches = true;
  std::vector<int64_t> queue = {end};
  const auto reach = [&](int64_t from, int64_t to, int32_t row) {
    Step& step = steps_[static_cast<size_t>(from)];
    if (step.reaches) return;
    step = {to, row, true};
    queue.push_back(from);
  };
  for (size_t at = 0; at < queue.size(); ++at) {
    const int64_t to = queue[at];
    if (to == k_) {
      for (int64_t c = 0; c < k_; ++c) {
        if (labels_.price(c) == 0 && labels_.count(c) < sizes.most) reach(c, k_, -1);
      }
      continue;
    }
    if (labels_.price(to) == 0 && labels_.count(to) > sizes.least) reach(k_, to, -1);
    for (Moves& moves : sources_[static_cast<size_t>(to)]) {
      if (steps_[static_cast<size_t>(moves.from)].reaches) continue;
      if (const int32_t row = row_of(moves); row >= 0) reach(moves.from, to, row);
    }
  }
}

void LowestLabels::follow(int64_t from, int64_t end) {
  while (from != end) {
    const Step step = steps_[static_cast<size_t>(from)];
    if (step.row >= 0) {
      labels_.move(step.row, static_cast<uint32_t>(step.to));
      offer(step.row);
    }
    from = step.to;
  }
}

}  // namespace

int cost_bits(int64_t clusters) {
  return kPriceBits - static_cast<int>(std::bit_width(static_cast<uint64_t>(clusters)));
}

std::vector<uint32_t> assign_balanced(const AssignmentCosts& costs, const SizeLimits& sizes,
                                      std::vector<int64_t>& prices, const std::atomic<bool>* abort) {
  if (sizes.least == sizes.most) {  // where only differences count, and what all have in common might grow
    const int64_t lowest = std::ranges::min(prices);
    for (int64_t& price : prices) price -= lowest;
  }
  for (int64_t& price : prices) price = std::clamp(price, -kLargestPrice, kLargestPrice);
  PricedLabels labels(costs, sizes, prices, abort);
  labels.settle_prices();
  ShortestPaths(labels).run();
  LowestLabels(labels).run();
  return std::move(labels.labels());
}

}  // namespace manymeans
