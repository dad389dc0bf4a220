#include "engine/checkpoint.h"

#include <manymeans/error.h>
#include <manymeans/tree.h>

#include "core/digest.h"
#include "data/content_hash.h"
#include "prototype/prototype.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <exception>
#include <filesystem>
#include <map>
#include <optional>
#include <utility>

namespace manymeans {
namespace {

using namespace std::chrono_literals;
constexpr auto kMinPause = 10s;
constexpr int64_t kShareOfTime = 100;  // writing takes at most one part of the time in 100

// A fit that time ends is not at its end; the rest is about speed and room.
constexpr std::array<std::string_view, 6> kNeverDecide = {"time_limit", "algorithm", "backend",
                                                          "strategy",   "threads",   "memory"};

std::string text_of(const std::vector<int64_t>& value) {
  return fmt::format("{}", fmt::join(value, ","));
}
std::string text_of(const std::optional<uint64_t>& value) {
  return value ? fmt::format("{}", *value) : "none";
}
template <class Value>
std::string text_of(const Value& value) {
  if constexpr (requires { std::string(name_of(value)); }) {
    return std::string(name_of(value));
  } else {
    return fmt::format("{}", value);  // the shortest text that reads back as the same number
  }
}

// Returns the differences between two fits, in words; first the options, then the data.
std::vector<std::string> other_options(const FitIdentity& mine, const FitIdentity& found) {
  std::vector<std::string> result;
  std::map<std::string, std::string> there(found.options.begin(), found.options.end());
  for (const auto& [name, value] : mine.options) {
    const auto other = there.find(name);
    if (other == there.end() || other->second != value) {
      result.push_back(
          fmt::format("{} was {} and is {}", name, other == there.end() ? "unknown" : other->second, value));
    }
    if (other != there.end()) there.erase(other);
  }
  for (const auto& [name, value] : there) result.push_back(fmt::format("{} was {} and is unknown", name, value));
  if (mine.initial != found.initial) result.push_back("the initial prototypes are others");
  return result;
}

std::vector<std::string> other_data(const FitIdentity& mine, const FitIdentity& found) {
  std::vector<std::string> result;
  const auto compare = [&](const char* what, const auto& was, const auto& is) {
    if (was != is) result.push_back(fmt::format("{} were {} and are {}", what, was, is));
  };
  compare("the rows", found.rows, mine.rows);
  compare("the columns", found.columns, mine.columns);
  compare("the values", name_of(found.type), name_of(mine.type));
  if (result.empty() && mine.points != found.points)
    result.push_back("the points have other values (or another order)");
  if (mine.weights != found.weights) {
    const bool one_is_none = mine.weights == 0 || found.weights == 0;
    result.push_back(one_is_none ? fmt::format("there were {}weights", found.weights == 0 ? "no " : "")
                                 : "the weights are others");
  }
  return result;
}

// Returns whether a search for k centroids can have written this record.
bool is_record_of(const SearchRecord& record, int64_t k) {
  const auto most = static_cast<double>(k);
  return record.best.rows() == k && record.inertia >= 0 && std::isfinite(record.inertia) && record.seconds >= 0 &&
         record.walk.most >= 0 && record.walk.most <= most + 1 &&
         record.walk.draws <= std::numeric_limits<uint32_t>::max();
}

// The member as it was after its last pass, which it will do once more.
void put_at(const ModelState& state, Member& member) {
  member.prototypes = state.prototypes;
  member.warnings = state.warnings;
  if (state.stage == ModelStage::kInitialised) return;
  ModelResult& result = member.result;
  result.k = state.prototypes.rows();
  result.iterations = state.iterations;
  result.stop_reason = state.stop_reason;
  member.begun = !state.first_pass;
  member.stopping = state.stopping;
  member.relocated = state.relocated;
  member.state = state.label_change;
  member.cycle = CycleFinder({state.cycle_saved, state.cycle_power, state.cycle_step, state.cycle_begun});
  member.search = {.best = state.search_best,
                   .best_inertia = state.search_inertia,
                   .trials = state.search_trials,
                   .failures = state.search_failures,
                   .steps = state.search_steps - 1};
  if (!std::isnan(state.last_inertia)) member.last_inertia = state.last_inertia;
  member.repeats = state.changed;
}

}  // namespace

void check(const CheckpointOptions& options) {
  if (options.every >= 0) return;
  throw Error(ErrorCode::kUsage, "every", fmt::format("{} is negative; 0 means by the clock", options.every));
}

bool decides_the_answer(std::string_view option) {
  return std::find(kNeverDecide.begin(), kNeverDecide.end(), option) == kNeverDecide.end();
}

namespace {

// for_each(take) calls take(info, value) for all options.
template <class ForEach>
std::vector<std::pair<std::string, std::string>> deciding_texts(const ForEach& for_each) {
  std::vector<std::pair<std::string, std::string>> texts;
  for_each([&](const OptionInfo& info, const auto& value) {
    if (decides_the_answer(info.name)) texts.emplace_back(info.name, text_of(value));
  });
  return texts;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> deciding_options(const FitOptions& options) {
  return deciding_texts([&](const auto& take) { for_each_option(options, take); });
}

std::vector<std::pair<std::string, std::string>> deciding_options(const TreeOptions& options) {
  return deciding_texts([&](const auto& take) { for_each_tree_option(options, take); });
}

FitIdentity identity_of(const Input& input, std::span<const double> weights, const FitOptions& options,
                        const PointsView& initial, ThreadPool& pool) {
  FitIdentity identity;
  identity.options = deciding_options(options);
  const int64_t first = input.shard.first;
  identity.rows = input.shard.all;
  identity.columns = input.points.d;
  identity.type = input.points.type;
  identity.points = input.comm->sum(content_hash(input.host_points(), pool, input.memory.window, first));
  identity.weights =
      input.comm->sum(content_hash({weights.data(), static_cast<int64_t>(weights.size()), 1}, pool, {}, first));
  if (initial.data != nullptr) {
    // The prototypes themselves count, not the name of the file that they were read from.
    identity.initial = content_hash(initial, pool);
    for (auto& [name, value] : identity.options) {
      if (name == "init") value = "given";
    }
  }
  return identity;
}

int64_t writing_rank(const FitHooks& hooks, Comm& comm) {
  return comm.min(int64_t{hooks.checkpoint.path.empty() ? comm.size() : comm.rank()});
}

Checkpoint::Checkpoint(const FitHooks& hooks, FitIdentity identity, std::span<Member> members, bool writes)
    : hooks_(hooks), how_(hooks.checkpoint), writes_(writes), members_(members), pause_(kMinPause) {
  if (writes_) {  // found out now, not after the first ten seconds
    how_.resume ? check_replaceable(how_.path) : check_checkpoint_path(how_.path);
    lock_.take(how_.path);
  }
  file_.identity = std::move(identity);
  file_.models.resize(members.size());
}

Checkpoint::Checkpoint(const FitHooks& hooks, FitIdentity identity, size_t models)
    : Checkpoint(hooks, std::move(identity), {}, true) {
  file_.models.resize(models);
  counts_fits_ = true;
}

Checkpoint::Checkpoint(Checkpoint& whole, size_t first, std::span<Member> members)
    : hooks_(whole.hooks_), how_(whole.how_), writes_(false), whole_(&whole), first_(first), members_(members) {}

void Checkpoint::check_identity(const FitIdentity& found) const {
  std::vector<std::string> differences = other_options(file_.identity, found);
  const ErrorCode code = differences.empty() ? ErrorCode::kBadData : ErrorCode::kUsage;
  for (std::string& text : other_data(file_.identity, found)) differences.push_back(std::move(text));
  if (differences.empty()) return;
  throw Error(code, how_.path,
              fmt::format("this checkpoint is of another fit: {}; give what it was made with, or another file",
                          fmt::join(differences, ", ")));
}

// Throws for a model state that no fit with these options can have written.
void Checkpoint::check_state(const ModelState& state, const Member& member, const FitOptions& options) const {
  const int64_t k = state.prototypes.rows();
  const int64_t least = options.empty == EmptyPolicy::kDrop ? 1 : member.result.k;
  const bool reason = state.stop_reason > StopReason::kStrict && !stopped_from_outside(state.stop_reason);
  const bool sought = state.sought.best.empty() || is_record_of(state.sought, member.result.k);
  const bool possible = state.stage == ModelStage::kNotBegun ||
                        (k >= least && k <= member.result.k && state.iterations <= options.max_iter &&
                         state.cycle_power > 0 && state.stopping == reason &&
                         (state.search_steps == 0 || state.search_best.empty() || state.search_best.rows() == k));
  if (possible && sought) return;
  throw Error(ErrorCode::kBadData, how_.path,
              fmt::format("what it says of model {} cannot be; it was changed or damaged", member.title()));
}

bool Checkpoint::load() {
  if (!how_.resume) return false;
  std::error_code ignored;
  if (!std::filesystem::exists(how_.path, ignored)) {
    if (hooks_.log) hooks_.log(fmt::format("there is no checkpoint {} yet: the fit begins anew", how_.path));
    return false;
  }
  CheckpointFile found = load_checkpoint(how_.path);
  check_identity(found.identity);
  if (!file_.models.empty() && found.models.size() != file_.models.size()) {
    throw Error(ErrorCode::kBadData, how_.path,
                fmt::format("it has {} models; this fit has {}", found.models.size(), file_.models.size()));
  }
  file_.models = std::move(found.models);
  if (members_.empty() && hooks_.log) hooks_.log(fmt::format("going on from checkpoint {}", how_.path));
  return true;
}

void Checkpoint::resume(const FitOptions& options, const Input& input) {
  if (!load()) return;
  restore(options, input);
  int64_t begun = 0, iterations = 0;
  for (const ModelState& state : file_.models) {
    begun += state.stage == ModelStage::kNotBegun && state.sought.best.empty() ? 0 : 1;
    iterations = std::max(iterations, state.iterations);
  }
  if (hooks_.log) {
    hooks_.log(fmt::format("going on from checkpoint {}: {} of {} models had begun, with {} iterations at most",
                           how_.path, begun, members_.size(), iterations));
  }
}

void Checkpoint::restore(const FitOptions& options, const Input& input) {
  const std::span<const ModelState> states = own_states();
  double magnitude = input.max_magnitude();
  for (size_t i = 0; i < members_.size(); ++i) {
    const ModelState& state = states[i];
    check_state(state, members_[i], options);
    members_[i].sought = state.sought;
    if (!state.sought.best.empty()) magnitude = std::max(magnitude, largest_magnitude(state.sought.best));
    if (state.stage == ModelStage::kNotBegun) continue;
    // Coefficients are no coordinates, and the fit has found them.
    if (!prototype_of(input).linear) magnitude = std::max(magnitude, largest_magnitude(state.prototypes));
    put_at(state, members_[i]);
  }
  check_overflow(input, magnitude);
}

void Checkpoint::check_same(ThreadPool& pool, Comm& comm) const {
  ContentHash hash = 0;
  for (const ModelState& state : file_.models) {
    hash = 31 * hash + content_hash(state.prototypes.view(), pool) + static_cast<uint64_t>(state.iterations);
  }
  const std::vector<ContentHash> all = comm.gather_flat(std::span<const ContentHash>(&hash, 1));
  for (size_t r = 1; r < all.size(); ++r) {
    if (all[r] == all[0]) continue;
    throw Error(ErrorCode::kUsage, "checkpoint",
                fmt::format("rank 0 and rank {} do not continue from the same state; give all ranks the same file", r));
  }
}

ModelState& Checkpoint::state(size_t number) {
  file_.models.resize(std::max(number + 1, file_.models.size()));
  return file_.models[number];
}

ModelState& Checkpoint::state_of(const Member& member) {
  return own_states()[static_cast<size_t>(&member - members_.data())];
}

void Checkpoint::initialised(const Member& member) {
  const std::lock_guard lock(whole().mutex_);
  ModelState& state = state_of(member);
  state.stage = ModelStage::kInitialised;
  state.prototypes = member.prototypes;
  state.warnings = member.warnings;
}

void Checkpoint::searched(const Member& member) {
  {
    const std::lock_guard lock(whole().mutex_);
    state_of(member).sought = member.sought;
  }
  count(1);
}

void Checkpoint::labelled(const Member& member, int64_t changed) {
  const std::lock_guard lock(whole().mutex_);
  ModelState& state = state_of(member);
  const CycleFinder::Memory& cycle = member.cycle.memory();
  state.stage = ModelStage::kLabelled;
  state.prototypes = member.prototypes;
  state.iterations = member.result.iterations;
  state.changed = changed;
  state.first_pass = !member.begun;
  state.stopping = member.stopping;
  state.relocated = member.relocated;
  state.stop_reason = member.result.stop_reason;
  state.label_change = member.state;
  state.cycle_saved = cycle.saved;
  state.cycle_power = cycle.power;
  state.cycle_step = cycle.step;
  state.cycle_begun = cycle.begun;
  state.last_inertia = member.last_inertia.value_or(std::numeric_limits<double>::quiet_NaN());
  state.search_best = member.search.best;
  state.search_inertia = member.search.best_inertia;
  state.search_trials = member.search.trials;
  state.search_failures = member.search.failures;
  state.search_steps = member.search.steps + 1;
  state.warnings = member.warnings;
}

void Checkpoint::count(int64_t passes) {
  if (whole_ != nullptr) return whole_->count(whole_->counts_fits_ ? 0 : passes);
  const std::lock_guard lock(mutex_);
  passes_ += passes;
  if (how_.every > 0 ? passes_ >= how_.every : Clock::now() - last_ >= pause_) {
    check_first();
    write();
  }
}

int64_t Checkpoint::passes_left() const {
  if (whole_ != nullptr) return whole_->passes_left();
  if (how_.every == 0 || counts_fits_) return std::numeric_limits<int64_t>::max();
  const std::lock_guard lock(mutex_);
  return std::max<int64_t>(1, how_.every - passes_);
}

void Checkpoint::write_now() {
  if (whole_ != nullptr) return;  // which is written at its end
  const std::lock_guard lock(mutex_);
  write();
}

void Checkpoint::finish() {
  if (whole_ != nullptr) return;
  const std::lock_guard lock(mutex_);
  check_first();
  write();
}

// Two fits may begin before there is a file that one of them could lock. The one that writes later has done little
// until then, and ends. After its first write, what others do costs a fit its checkpoint, but not the fit.
void Checkpoint::check_first() const {
  if (writes_ && !tried_) lock_.check(how_.path);
}

// A disk that is full for a while must not cost the fit: the file before stays whole, and the user is told.
void Checkpoint::write() {
  const Clock::time_point begin = Clock::now();
  tried_ = true;
  try {
    if (writes_) {
      lock_.check(how_.path);
      FileLock next;  // the file before stays locked until the new one is in its place
      save_checkpoint(how_.path, file_, &next);
      lock_.swap(next);
    }
  } catch (const std::exception& error) {
    const std::string text = fmt::format("a checkpoint could not be written: {}", error.what());
    if (std::find(warnings_.begin(), warnings_.end(), text) == warnings_.end()) warnings_.push_back(text);
  }
  passes_ = 0;
  last_ = Clock::now();
  pause_ = std::max<Clock::duration>(kMinPause, kShareOfTime * (last_ - begin));
}

}  // namespace manymeans
