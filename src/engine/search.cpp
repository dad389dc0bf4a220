#include <manymeans/error.h>
#include <manymeans/optimal_1d.h>

#include "backend/swap_scores.h"
#include "core/data_type.h"
#include "core/fp_environment.h"
#include "core/random.h"
#include "core/sparse_rows.h"
#include "engine/fit_shard.h"
#include "engine/host_swap_scores.h"
#include "engine/search_models.h"
#include "engine/search_task.h"
#include "engine/search_walk.h"
#include "engine/stop_flag.h"
#include "engine/time_left.h"
#include "engine/tuned.h"
#include "prototype/prototype.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>

namespace manymeans {
namespace {

constexpr int64_t kFirstUpdates = 8;
constexpr int64_t kUpdates = 50;
constexpr int64_t kFirstPatience = 3;  // rounds of swaps in a row that gain nothing, of the first model
constexpr int64_t kTrialPatience = 1;
constexpr int64_t kFirstTrials = 4;   // of a round
constexpr int64_t kTrialsGrowth = 4;  // a round has a fourth of all trials before it, if that is more
constexpr uint32_t kMaxMoves = 3;     // centroids that a trial moves
constexpr double kMinGain = 1e-8;     // of the inertia, for a trial to count
constexpr double kMinTouch = 0.05;    // of a trial's gain, for a centroid to belong to it

// A model on its way from the best one with some centroids moved.
struct Trial {
  SwapWalk walk;
  bool begun = false;

  bool over() const { return begun && walk.over(); }
};

// Some threads that make a trial at a time, or all trials together. The search's own objects rest while trials go on.
struct Team {
  std::unique_ptr<ThreadPool> own_pool;  // null: the search's
  std::unique_ptr<SearchSession> own_session;
  ThreadPool* pool;
  SearchSession* session;
  SwapScores* scores;
};

void copy_centroid(const Matrix& from, Matrix& to, size_t number) {
  as_float_type(to.type(), [&]<class T>(T) {
    const auto d = static_cast<size_t>(to.columns());
    std::copy_n(from.values<T>().begin() + number * d, d, to.values<T>().begin() + number * d);
  });
}

// One member's search.
class Search {
 public:
  Search(const SearchTask& task, const FitContext& fit, Member& member, ThreadPool& pool)
      : options_(task.options),
        outer_(fit),
        member_(member),
        pool_(pool),
        hooks_(hooks_of(fit.hooks)),
        control_(hooks_, seconds_of(task.options, member.sought, fit)),
        fit_{fit.input, fit.options, hooks_, fit.backend,       fit.upload, fit.labelled,
             control_,  fit.labels,  {},     fit.mean_variance, fit.kind,   fit.cluster} {}

  SearchSummary run();
  Matrix take_prototypes() { return std::move(best_.centroids); }

 private:
  FitHooks hooks_of(const FitHooks& outer);
  static double seconds_of(const SearchOptions& options, const SearchRecord& record, const FitContext& fit);
  bool report(Progress progress) const;
  bool more();
  double seconds() const { return before_ + control_.seconds(); }
  void note();
  void save(const SwapWalk* walk);
  bool go_on();
  bool begin();
  void swap_best();
  int64_t trials_of_round() const;
  void make_scores();
  int team_count(size_t trials) const;
  std::vector<Team> make_teams(int count);
  std::vector<Team>& teams(int count);
  bool run_round();
  SwapWalk shaken(int64_t trial) const;
  void run_teams(std::span<Team> teams, std::span<Trial* const> trials);
  void run_trials(const Team& team, std::span<Trial* const> trials, const std::function<bool()>& leaves) const;
  bool join(std::span<const Trial> trials);
  std::optional<Matrix> joined(std::span<const SearchModel* const> better) const;

  const SearchOptions& options_;
  const FitContext& outer_;
  Member& member_;
  double before_ = member_.sought.seconds;  // of the runs that were ended
  ThreadPool& pool_;
  FitHooks hooks_;
  Control control_;
  FitContext fit_;
  std::optional<SearchRows> rows_;          // where the host scores swaps
  std::optional<SearchSession> session_;    // of the best model
  std::unique_ptr<SwapScores> scores_;      // likewise
  std::map<int, std::vector<Team>> teams_;  // by their number: for a round's beginning, and halves of it
  std::vector<std::unique_ptr<SwapScores>> scores_of_teams_;  // of the first, the second, ... of any number of teams
  SearchModel best_;
  int64_t trials_ = 0;  // that have begun
  SearchSummary summary_;
};

// A stop of the fit stops the search.
FitHooks Search::hooks_of(const FitHooks& outer) {
  FitHooks hooks;
  hooks.cancel = outer.cancel;
  hooks.abort = outer.abort;
  hooks.pause = outer.pause;
  if (outer.progress) hooks.progress = [this](const Progress& progress) { return report(progress); };
  return hooks;
}

// 0: no limit. The time of a search includes all runs of it.
double Search::seconds_of(const SearchOptions& options, const SearchRecord& record, const FitContext& fit) {
  constexpr double kMin = 1e-9;
  double seconds = options.rounds > 0 ? 0 : options.search_time;
  if (seconds > 0) seconds = std::max(kMin, seconds - record.seconds);
  if (options.time_limit > 0) {
    const double left = std::max(kMin, options.time_limit - fit.control.seconds());
    seconds = seconds > 0 ? std::min(seconds, left) : left;
  }
  return seconds;
}

bool Search::report(Progress progress) const {
  if (progress.phase == "iterate") {
    progress.phase = "search";
    progress.iteration = summary_.rounds;
    progress.max_iteration = options_.rounds;
  }
  if (!std::isinf(best_.inertia)) progress.inertia_estimate = best_.inertia;
  return !outer_.control.report(progress);
}

bool Search::more() {
  return !summary_.ended && (options_.rounds == 0 || summary_.rounds < options_.rounds) && !control_.look();
}

void Search::note() {
  const std::vector<SearchStep>& steps = summary_.steps;
  if (!steps.empty() && !(best_.inertia < steps.back().inertia)) return;
  summary_.steps.push_back({summary_.rounds, seconds(), best_.inertia});
}

// After a round, for the checkpoint; with the walk of the first model as long as that has not ended.
void Search::save(const SwapWalk* walk) {
  if (outer_.checkpoint == nullptr) return;
  member_.sought = {.best = best_.centroids,
                    .inertia = best_.inertia,
                    .trials = trials_,
                    .walking = walk != nullptr,
                    .walk = walk != nullptr ? walk->record() : WalkRecord{},
                    .seconds = seconds(),
                    .summary = summary_};
  outer_.checkpoint->searched(member_);
}

// From a checkpoint; false: there is none of this search.
bool Search::go_on() {
  const SearchRecord& record = member_.sought;
  if (record.best.empty()) return false;
  session_.emplace(fit_, member_, 1, pool_);
  best_.centroids = record.best;
  best_.inertia = record.inertia;
  trials_ = record.trials;
  summary_ = record.summary;
  return true;
}

bool Search::begin() {
  session_.emplace(fit_, member_, 1, pool_);
  SearchModel first;
  SearchModel* const models[] = {&first};
  if (!session_->iterate(models, kFirstUpdates)) return false;
  best_ = std::move(first);
  note();
  summary_.ended = member_.result.k < 2 || best_.inertia == 0;
  return true;
}

// Rounds of swaps, of all threads.
void Search::swap_best() {
  SwapWalk walk(best_, kFirstPatience, {member_.result.seed, 0, 0, Purpose::kSearchRow});
  if (!member_.sought.best.empty()) walk.go_on(member_.sought.walk);
  while (more() && !walk.over()) {
    do {
      SearchModel* const model = walk.next(*scores_, pool_);
      if (model == nullptr) break;
      SearchModel* const models[] = {model};
      if (!session_->iterate(models, kUpdates)) return;
      walk.judge();
    } while (!walk.between_rounds());
    ++summary_.rounds;
    best_ = walk.best();
    note();
    save(walk.over() ? nullptr : &walk);
  }
}

// By the device that has the rows, else by the host.
void Search::make_scores() {
  scores_ = fit_.upload.swap_scores(member_.result.k);
  if (scores_) return;
  rows_.emplace(fit_.input, pool_);
  scores_ = std::make_unique<HostSwapScores>(*rows_);
}

// Few at first, since the next round begins where these trials end; more as gains become rare.
int64_t Search::trials_of_round() const {
  return std::min(options_.trials, std::max(kFirstTrials, trials_ / kTrialsGrowth));
}

// Threads of the host take one trial after the other. A pass of few rows is too short to be shared, and trials are of
// very different lengths. Where there are more threads than trials, some make a trial together. It decides nothing but
// the time.
int Search::team_count(size_t trials) const {
  return fit_.backend.name() == "cpu" ? static_cast<int>(std::min(trials, static_cast<size_t>(pool_.size()))) : 1;
}

std::vector<Team> Search::make_teams(int count) {
  std::vector<Team> teams;
  if (count == 1) {
    // A device, and a thread that is alone, make the passes of all trials together.
    const bool together = fit_.backend.name() != "cpu" || pool_.size() == 1;
    auto session =
        together ? std::make_unique<SearchSession>(fit_, member_, static_cast<int>(options_.trials), pool_) : nullptr;
    SearchSession* const its_session = together ? session.get() : &*session_;
    teams.push_back({nullptr, std::move(session), &pool_, its_session, scores_.get()});
    return teams;
  }
  for (int t = 0; t < count; ++t) {
    const auto number = static_cast<size_t>(t);
    if (number == scores_of_teams_.size()) scores_of_teams_.push_back(std::make_unique<HostSwapScores>(*rows_));
    auto pool = std::make_unique<ThreadPool>((pool_.size() + t) / count, hooks_.abort);
    auto session = std::make_unique<SearchSession>(fit_, member_, 1, *pool);
    ThreadPool* const its_pool = pool.get();
    SearchSession* const its_session = session.get();
    teams.push_back({std::move(pool), std::move(session), its_pool, its_session, scores_of_teams_[number].get()});
  }
  return teams;
}

std::vector<Team>& Search::teams(int count) {
  std::vector<Team>& found = teams_[count];
  if (found.empty()) found = make_teams(count);
  return found;
}

// The best model with some centroids moved to rows.
SwapWalk Search::shaken(int64_t trial) const {
  const uint64_t key = member_.result.seed;
  const auto index = static_cast<uint64_t>(trial);
  const auto u = [&](uint32_t draw) { return random_u64(key, index, draw, Purpose::kSearchTrial); };
  const auto k = static_cast<uint64_t>(best_.centroids.rows());
  const uint64_t moves = std::min(k, 1 + random_below(u(0), kMaxMoves));
  std::vector<uint32_t> order(k);
  std::iota(order.begin(), order.end(), 0U);
  const std::vector<int64_t> rows =
      scores_->draw({key, index, 1 + kMaxMoves, Purpose::kSearchTrial}, static_cast<int64_t>(moves));
  SearchModel model;
  model.centroids = best_.centroids;
  std::vector<Swap> swaps;
  for (uint64_t i = 0; i < rows.size(); ++i) {
    std::swap(order[i], order[i + random_below(u(static_cast<uint32_t>(1 + i)), k - i)]);
    swaps.push_back({.row = rows[i], .removed = order[i]});
  }
  scores_->put(swaps, model.centroids);
  return {std::move(model), kTrialPatience, {key, index, 0, Purpose::kSearchRow}};
}

// One round: trials, and what they have in common.
bool Search::run_round() {
  scores_->assign(best_.centroids, pool_);
  std::vector<Trial> trials;
  for (int64_t wanted = trials_of_round(); wanted > 0; --wanted) trials.push_back({shaken(++trials_)});
  std::vector<Trial*> left;
  for (Trial& trial : trials) left.push_back(&trial);
  int count = team_count(left.size());
  if (!teams_.contains(count)) teams_.clear();  // rounds grow, and teams hold labels of all rows
  while (!left.empty()) {
    run_teams(teams(count), left);
    if (control_.stopped()) return false;
    std::erase_if(left, [](const Trial* trial) { return trial->over(); });
    count = team_count(std::bit_floor(left.size()));
  }
  return join(trials);
}

// Each team makes one trial after the other. Once half of the teams have nothing to do, the others leave theirs where
// they are: fewer teams of more threads go on with them.
void Search::run_teams(std::span<Team> teams, std::span<Trial* const> trials) {
  if (teams.size() == 1) return run_trials(teams[0], trials, [] { return false; });
  std::atomic<size_t> next = 0, busy = teams.size();
  const auto leaves = [&] { return 2 * busy <= teams.size(); };
  pool_.for_each_range(std::ssize(teams), 1, [&](int, int64_t team, int64_t) {
    for (size_t i = next++; i < trials.size() && !control_.stopped(); i = next++) {
      run_trials(teams[static_cast<size_t>(team)], trials.subspan(i, 1), leaves);
    }
    --busy;
  });
}

// Runs these trials side by side, each as far as it comes.
void Search::run_trials(const Team& team, std::span<Trial* const> trials, const std::function<bool()>& leaves) const {
  std::vector<Trial*> walking(trials.begin(), trials.end());
  while (!leaves()) {
    std::vector<SearchModel*> models;
    std::vector<Trial*> left;
    for (Trial* trial : walking) {
      SearchModel* const model = trial->begun ? trial->walk.next(*team.scores, *team.pool) : &trial->walk.start();
      if (model == nullptr) continue;
      models.push_back(model);
      left.push_back(trial);
    }
    walking = std::move(left);
    if (models.empty() || !team.session->iterate(models, kUpdates)) return;
    for (Trial* trial : walking) {
      if (trial->begun) trial->walk.judge();
      trial->begun = true;
    }
  }
}

// Joins the centroids of the models that have no changes in common; none where they are the first model's alone.
// Clusters keep their numbers from one trial to the next.
std::optional<Matrix> Search::joined(std::span<const SearchModel* const> better) const {
  const auto k = static_cast<size_t>(best_.centroids.rows());
  Matrix centroids = best_.centroids;
  std::vector<uint8_t> taken(k);
  std::vector<double> largest(k);
  int64_t count = 0;
  for (const SearchModel* model : better) {
    std::vector<double> moved = squared_shifts(centroid(), best_.centroids, model->centroids);
    std::vector<uint8_t> touched(k);
    bool apart = true;
    for (size_t c = 0; c < k; ++c) {
      moved[c] *= model->weights[c];
      touched[c] = moved[c] > kMinTouch * (best_.inertia - model->inertia);
      apart = apart && (touched[c] & taken[c]) == 0;
    }
    if (!apart) continue;
    ++count;
    for (size_t c = 0; c < k; ++c) {
      taken[c] |= touched[c];
      if (!(moved[c] > largest[c])) continue;
      largest[c] = moved[c];
      copy_centroid(model->centroids, centroids, c);
    }
  }
  if (count < 2) return std::nullopt;
  return centroids;
}

bool Search::join(std::span<const Trial> trials) {
  std::vector<const SearchModel*> better;
  for (const Trial& trial : trials) {
    const SearchModel& model = trial.walk.best();
    if (model.inertia < (1 - kMinGain) * best_.inertia) better.push_back(&model);
  }
  if (better.empty()) return true;
  std::ranges::stable_sort(better, {}, [](const SearchModel* model) { return model->inertia; });
  SearchModel next = *better[0];
  if (std::optional<Matrix> centroids = joined(better)) {
    SearchModel model;
    model.centroids = std::move(*centroids);
    SearchModel* const models[] = {&model};
    if (!session_->iterate(models, kUpdates)) return false;
    if (model.inertia < next.inertia) next = std::move(model);
  }
  best_ = std::move(next);
  return true;
}

// The only column of sparse points.
Matrix dense_column(const SparseView& sparse) {
  Matrix column(sparse.n, 1, sparse.type);
  as_float_type(sparse.type, [&]<class T>(T) {
    WideSparseRow row;
    for (int64_t i = 0; i < sparse.n; ++i) {
      row.read(sparse, i);
      if (row.count() > 0) column.values<T>()[static_cast<size_t>(i)] = static_cast<T>(row.values[0]);
    }
  });
  return column;
}

// The best prototypes of one column, or none where somebody stops it. Where there are fewer distinct values than
// prototypes, the last one repeats.
void find_optimum(const SearchTask& task, const FitContext& fit, Member& member) {
  const double begin = fit.control.seconds();
  Matrix column;
  PointsView row = task.points;
  if (is_sparse(row)) {
    column = dense_column(sparse_view(row));
    row = column.view();
  }
  std::swap(row.n, row.d);
  const double limit = task.options.time_limit;
  const TimeLeft time(limit > 0 ? std::max(1e-9, limit - begin) : 0);
  const StopFlag stop(fit.hooks, time);
  Optimal1d found;
  if (!stop.run([&] {
        found = optimal_1d(row, task.weights, {.k = {member.result.k}, .threads = 1, .abort = &stop.flag()});
      })) {
    return;
  }
  const ModelResult& optimum = found.models[0];
  if (found.rounded > 0) member.warnings.push_back(found.warnings.back());
  member.prototypes = Matrix(member.result.k, 1, optimum.prototypes.type());
  as_float_type(optimum.prototypes.type(), [&]<class T>(T) {
    const std::span<const T> centres = optimum.prototypes.values<T>();
    const std::span<T> all = member.prototypes.values<T>();
    std::ranges::fill(all, centres.back());
    std::ranges::copy(centres, all.begin());
  });
  member.sought.best = member.prototypes;
  member.sought.inertia = optimum.inertia;
  member.sought.seconds = fit.control.seconds() - begin;
  member.sought.summary = {.ended = true, .steps = {{0, member.sought.seconds, optimum.inertia}}};
  if (fit.checkpoint != nullptr) fit.checkpoint->searched(member);
}

SearchSummary Search::run() {
  if (!go_on() && !begin()) return summary_;
  if (summary_.ended) return summary_;
  const bool walking = member_.sought.walking;
  make_scores();
  if (walking) swap_best();
  while (more()) {
    if (!run_round()) break;
    ++summary_.rounds;
    note();
    summary_.ended = best_.inertia == 0;
    save(nullptr);
  }
  return summary_;
}

}  // namespace

void check(const SearchOptions& options) {
  check(static_cast<const FitOptions&>(options));
  const auto usage = [](const char* option, const std::string& text) { return Error(ErrorCode::kUsage, option, text); };
  if (!(options.search_time >= 0)) {
    throw usage("time", fmt::format("{} must be 0 or larger", options.search_time));
  }
  if (options.rounds < 0) throw usage("rounds", fmt::format("{} is negative; 0 means by the time", options.rounds));
  constexpr int64_t kMaxTrials = 1024;
  if (options.trials < 1 || options.trials > kMaxTrials) {
    throw usage("trials", fmt::format("{} is out of range; a round has 1 to {} trials", options.trials, kMaxTrials));
  }
  if (options.balanced())
    throw usage(options.min_size > 0 ? "min_size" : "max_size",
                "a search knows nothing of the sizes of clusters; fit without a search");
  if (options.search_time == 0 && options.rounds == 0 && options.time_limit == 0) {
    throw usage("time", "a search without a limit would never end; give a time, or rounds");
  }
}

void search_prototypes(const SearchTask& task, const FitContext& fit, std::span<Member> members, ThreadPool& pool) {
  if (fit.input.memory.window.moves()) {
    throw Error(ErrorCode::kUsage, "memory", "a search needs all points in memory; give it more, or fewer rows");
  }
  task.summaries.assign(members.size(), {});
  const bool one_column = fit.input.points.d == 1 && fit.options.metric == Metric::kEuclidean;
  for (size_t i = 0; i < members.size(); ++i) {
    Member& member = members[i];
    const bool done = !member.prototypes.empty();  // a checkpoint knows that the fit had begun
    if (!done) member.sought_anew = fit.control.look().has_value();
    if (!done && member.sought_anew) member.prototypes = member.sought.best;  // what the runs before have found
    if (done || member.sought_anew) {
      task.summaries[i] = member.sought.summary;
    } else if (one_column) {
      find_optimum(task, fit, member);
      member.sought_anew = member.prototypes.empty();
      task.summaries[i] = member.sought.summary;
    } else {
      Search search(task, fit, member, pool);
      task.summaries[i] = search.run();
      member.prototypes = search.take_prototypes();
      member.sought_anew = fit.control.look().has_value();
    }
    if (!member.prototypes.empty()) member.result.init = one_column ? "optimal" : "search";
  }
}

SearchResult search(const PointsView& points, std::span<const double> weights, const SearchOptions& options,
                    const FitHooks& hooks) {
  const FpEnvironmentGuard guard;
  check(options);
  refuse_ranks(hooks, "search");
  SearchResult result;
  result.options = options;
  const SearchTask task{points, weights, result.options, result.searches};
  FitKind kind;
  kind.search = &task;
  FitHooks alone = hooks;
  alone.comm.reset();
  result.fit = fit_kind(kind, points, weights, options, alone);
  return result;
}

}  // namespace manymeans
