// Interface of the engine to hardware. The engine holds the only Lloyd loop; a backend does passes.
//
//   Backend::copy(points)    points on the device, before anybody has looked at them
//   Backend::upload(input)   points on the device, once per fit
//   Upload::session(...)     labels and statistics of some models over these points
//   Session::advance(...)    screen, resolve, accumulate
//   Session::rows()          questions about rows: distances, inertia, the farthest
//   Upload::seeding(...)     what k-means++ and k-means|| ask
//   Upload::swap_scores(...) what swaps of a search would gain
//   Backend::labeller(...)   labels of other points, without a session
//
// Everything returned is exact, so it is the same from every backend: see docs/developer/contract.md.
#pragma once

#include <manymeans/pass_counts.h>
#include <manymeans/points.h>

#include "backend/pass_limits.h"
#include "backend/swap_scores.h"
#include "backend/tuning.h"
#include "backend/two_nearest.h"
#include "core/digest.h"
#include "core/fixed_point.h"
#include "core/threads.h"
#include "core/wide_int.h"
#include "data/input.h"
#include "data/statistics.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace manymeans {

struct Choice;

namespace device {
class TeamMember;
}

/// Options for making a backend.
struct BackendOptions {
  int threads = 0;                           ///< 0: all usable
  std::string algorithm = "auto";            ///< auto, matrix, bounds, kdtree, brute
  const std::atomic<bool>* abort = nullptr;  ///< set by the caller to be thrown Error(kInterrupted) within a second
  /// The caller sets it to wait only for the step at hand: a device gets as much time as that may take.
  const std::atomic<bool>* cancel = nullptr;
  int device = 0;             ///< number among those of its kind
  int64_t device_memory = 0;  ///< most bytes to take of the device's memory; 0: what is free
  Tuning tuning = {};
};

/// Results of one pass for one model.
struct PassResult : PassCounts {
  LabelSum hash_delta = 0;  ///< change of the label sum (first pass: 0)

  PassResult& operator+=(const PassResult& other) {
    PassCounts::operator+=(other);
    hash_delta += other.hash_delta;
    return *this;
  }
};

/// One active model of a pass.
struct PassModel {
  int slot = 0;                          ///< index among the session's models
  const Matrix* prototypes = nullptr;    ///< k x D
  PassResult result;                     ///< of the last pass
  std::vector<PassResult> earlier = {};  ///< of the passes before it, where more than one was done
  Matrix last_prototypes = {};           ///< then: the prototypes of the last pass
};

/// A row and its canonical distance (or w' * distance).
struct DistantRow {
  double distance = 0;
  int64_t row = 0;
  uint32_t label = 0;

  /// The order of farthest rows: of equally far ones the lowest row first.
  static bool is_farther(const DistantRow& a, const DistantRow& b) {
    return a.distance != b.distance ? a.distance > b.distance : a.row < b.row;
  }
};

/// Limbs of the sum of RN(w' * d2), in the format that follows from the farthest row.
struct InertiaSum {
  double farthest = 0;  ///< the largest d2 of a row with w' > 0
  SumFormat format;     ///< distance_format of it
  std::vector<int64_t> limbs;
};

/// Prototypes of one of a session's models.
struct ModelPrototypes {
  int slot = 0;
  const Matrix* prototypes = nullptr;
};

/// Questions about all rows, each answered by canonical distances. Questions with a slot concern the rows and the
/// prototypes that the slot's labels assign them to. They hold after a pass of this model, or after renumber().
class RowQueries {
 public:
  virtual ~RowQueries() = default;

  /// Rows with w' > 0 and d2 > 0 to the assigned prototype, the `count` first by (d2 descending, row ascending).
  virtual std::vector<DistantRow> farthest_rows(int slot, const Matrix& prototypes, int64_t count) = 0;
  /// For each model the sum of RN(w' * d2) of every row to the assigned prototype.
  virtual std::vector<InertiaSum> inertias(std::span<const ModelPrototypes> models) = 0;
  /// The limbs of that sum in a given format: rows elsewhere may be farther than all rows here.
  virtual std::vector<int64_t> inertia_limbs(int slot, const Matrix& prototypes, const SumFormat& format) = 0;
  /// d2 of every row to the assigned prototype.
  virtual std::vector<double> distances(int slot, const Matrix& prototypes) = 0;
  /// Writes sqrt(d2) of every row to every prototype, rounded to the prototypes' type: `distances` is N x K of it. The
  /// points are read once. No labels are needed.
  virtual void transform(const Matrix& prototypes, Matrix& distances) = 0;

  using TakeTwoNearest = std::function<void(int64_t first, std::span<const TwoNearest> rows)>;
  /// Passes the two nearest prototypes of every row to `take`, part by part of the rows. False, and nothing was said,
  /// where the host should find them. No labels are needed.
  virtual bool two_nearest(const Matrix& prototypes, const TakeTwoNearest& take);
};

/// Passes: labels and statistics of models 0 .. M - 1 over the uploaded points.
class Session {
 public:
  virtual ~Session() = default;

  /// Passes for these models within the limits, with updates on the device between them. Returns how many are done. A
  /// backend that leaves all updates to the engine does one. Afterwards labels(slot) and statistics(slot) are results
  /// of the last pass; the engine does its update.
  virtual int advance(std::span<PassModel> models, const PassLimits& limits) = 0;

  virtual const Labels& labels(int slot) = 0;
  virtual const Statistics& statistics(int slot) = 0;
  /// Announces that the statistics of all `slots`, and the labels of `labels_of`, will be read once each. A session
  /// that has them elsewhere may fetch them together.
  virtual void fetch(std::span<const int> slots, std::span<const int> labels_of) {
    static_cast<void>(slots);
    static_cast<void>(labels_of);
  }
  /// Hands the labels over; the slot is empty afterwards.
  virtual Labels take_labels(int slot) = 0;
  /// The label sums of the models in `slots` after a pass, for a session whose first row is number `first_row` of all.
  /// Empty if labels() must provide them. A session that has its labels elsewhere may know the sums without handing
  /// them over.
  virtual std::vector<LabelSum> label_sums(std::span<const int> slots, int64_t first_row) {
    static_cast<void>(slots);
    static_cast<void>(first_row);
    return {};
  }

  /// Moves one row to another cluster, statistics included.
  virtual void move_row(int slot, int64_t row, uint32_t label) = 0;
  /// Replaces every label l by new_label[l] < kept.size(). The statistics become the statistics of the clusters `kept`
  /// (ascending). The other clusters weigh nothing; rows of weight zero that they may hold count under their new label.
  virtual void renumber(int slot, std::span<const uint32_t> new_label, std::span<const int64_t> kept) = 0;

  /// Questions about the rows under this session's labels; they live as long as the session.
  virtual RowQueries& rows() = 0;

  /// Itself, where it can make passes together with sessions over other rows, on other devices (device/pass_team.h).
  virtual device::TeamMember* team_member() { return nullptr; }
};

/// Centres to add to one model.
struct SeedCentres {
  int slot = 0;
  const Matrix* centres = nullptr;
};

/// One trial of greedy k-means++: candidates for the next centre of one model.
struct SeedTrial {
  int slot = 0;
  const Matrix* candidates = nullptr;
  std::vector<WideInt> potentials = {};  ///< out: the total with each candidate added
};

/// Random numbers by which one model draws rows.
struct SeedDraw {
  int slot = 0;
  std::vector<uint64_t> u = {};
};

/// Steps of greedy k-means++ that a seeding makes alone for one model.
struct SeedRun {
  int slot = 0;
  uint64_t key = 0;                ///< the model's seed
  int64_t centres = 0;             ///< so far; the next one has this number
  int64_t k = 0;                   ///< wanted in all
  int draws = 0;                   ///< candidates a step
  std::vector<int64_t> rows = {};  ///< out: the rows that became centres, fewer than asked for if the total is zero
};

/// Which rows k-means|| takes in one round: those with u_i * total < factor * T_i * 2^64, u_i from Philox(key, i, draw,
/// kOversample).
struct SeedSample {
  uint64_t key = 0;
  uint32_t draw = 0;
  int64_t factor = 0;
  WideInt total;  ///< of all rows
};

/// Seeding (k-means++ and k-means||) of models 0 .. M - 1 over the uploaded points. For each model it holds m_i, the
/// least d2 of row i to the centres so far. It also holds the terms T_i = RNE(v_i * 2^s) of v_i = RN(w'_i * m_i), of
/// kDistanceLimbs limbs. Its memory is freed with it.
class Seeding {
 public:
  virtual ~Seeding() = default;

  /// Begins each model with its first centres and discards its former ones. Returns the largest v of each, in their
  /// order. fix_scale() comes next.
  virtual std::vector<double> begin(std::span<const SeedCentres> models) = 0;
  /// Fixes s by the largest v of all rows, which begin() returned or which rows elsewhere have. Later centres only
  /// lower v, so it holds for all of them.
  virtual void fix_scale(int slot, double largest) = 0;
  /// Adds centres. A centre that was a candidate of the model's last trial costs no reading of the points.
  virtual void add(std::span<const SeedCentres> models) = 0;
  /// The sum of T over all rows.
  virtual WideInt total(int slot) = 0;
  /// For each target, less than the total: the first row i with T_0 + .. + T_i > target.
  virtual std::vector<int64_t> pick(int slot, std::span<const WideInt> targets) = 0;
  /// For each model the rows that its numbers pick by T, the contract's way; none where the total is zero.
  virtual std::vector<std::vector<int64_t>> draw(std::span<const SeedDraw> draws);
  virtual void trial(std::span<SeedTrial> trials) = 0;
  /// For each trial the candidate that trial() would give the least potential, the first of equals. Potentials are not
  /// filled in: a backend may find the least without them.
  virtual std::vector<int64_t> choose(std::span<SeedTrial> trials);
  /// Makes up to `steps` steps for each model of `runs`, the contract's way: candidates are drawn and tried, and the
  /// best is added. False, and nothing has happened, where the caller has to make them by draw(), choose() and add().
  virtual bool run(std::span<SeedRun> runs, int64_t steps);
  /// The rows of a sample, ascending.
  virtual std::vector<int64_t> sample(int slot, const SeedSample& sample) = 0;
  /// For each added centre, the sum of q of the rows that are nearest to it; the first of equals counts. Empty if that
  /// is not known.
  virtual std::vector<int64_t> attracted(int slot);
  /// Returns whether attracted() knows it for models that began with one centre and whose centres were not tried.
  virtual bool knows_attracted() const { return false; }
  /// m_i of all rows, for callers that choose rows themselves; valid until the next call. A row of weight zero may have
  /// a larger one: its T is zero.
  virtual std::span<const double> least(int slot) = 0;

 protected:
  /// The rows of one draw, by total() and pick().
  std::vector<int64_t> draw_by_picking(const SeedDraw& draw);
};

/// The known future use of uploaded points. It guides how results are computed, never the results.
struct Workload {
  int64_t max_clusters = 64;           ///< of one model
  int64_t all_clusters = 64;           ///< of all models that share passes
  int64_t passes = 10;                 ///< of all models, at most
  int64_t models = 1;                  ///< of one session
  int64_t sessions = 1;                ///< at the same time
  bool apart = false;                  ///< k-means++ or the like draws the first prototypes of most models
  std::vector<int64_t> clusters = {};  ///< of each model; empty: of one, max_clusters
};

class Backend;
class Upload;

/// One of several devices that have all rows each, for some of the models.
struct ModelShare {
  Backend* backend;
  Upload* upload;  ///< whose sessions and seedings are used by the thread that asked for them
};

/// Points on a device. The input must outlive it.
class Upload {
 public:
  virtual ~Upload() = default;
  /// A session of models with these numbers of prototypes, on this many threads (0: all of the backend's).
  /// Sessions of one upload may run in different threads at once.
  virtual std::unique_ptr<Session> session(std::span<const int64_t> k, int threads) = 0;
  /// Seeding of models with these numbers of prototypes, on the pool's threads; the pool must outlive it. Null where
  /// the host should do it instead, because the device would have to read the points from there in every step.
  virtual std::unique_ptr<Seeding> seeding(std::span<const int64_t> k, ThreadPool& pool) = 0;
  /// Swaps of models of k centroids, scored where the points are; several may be asked for, in any thread. Null where
  /// the host should score them (engine/host_swap_scores.h); plan() says why, if the device could have.
  virtual std::unique_ptr<SwapScores> swap_scores(int64_t k) {
    static_cast<void>(k);
    return nullptr;
  }
  /// The devices among which the models should be dealt out by deal_models(), each group with a thread of its own.
  /// Empty: all models are fitted here.
  virtual std::vector<ModelShare> shares() { return {}; }
  virtual std::string plan() const = 0;  ///< for people: what was chosen for this shape, and why
  virtual std::vector<std::string> warnings() const { return {}; }  ///< what the user should know or fix
};

/// How a Labeller works at one call.
struct LabelCall {
  int threads = 0;                           ///< at most so many; 0: all usable
  const std::atomic<bool>* abort = nullptr;  ///< as BackendOptions::abort
};

/// Prototypes that are prepared once for whatever points come: what predict and transform ask, without statistics.
/// Several threads may ask at once. A function returns false, and has written nothing of use, if a value of the points
/// is not finite or too large. Then prepare_input() says which.
class Labeller {
 public:
  virtual ~Labeller() = default;
  /// Writes the label of every row and, if there is room for it, the canonical distance to the prototype that it names.
  virtual bool label(const PointsView& points, const LabelCall& call, Labels& labels, double* d2) const = 0;
  /// RowQueries::transform().
  virtual bool transform(const PointsView& points, const LabelCall& call, Matrix& distances) const = 0;
};

/// Points that were copied to a device, or to several; the copies go with this.
class CopiedPoints {
 public:
  virtual ~CopiedPoints() = default;
  virtual GivenPoints points() const = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string_view name() const = 0;
  virtual std::string instruction_set() const = 0;
  virtual int threads() const = 0;
  /// Binds the calling thread to this device. Call it before any other call if several devices share a thread.
  virtual void bind_thread() {}
  /// Binds the thread before objects of this backend are destroyed. Does nothing if the device is gone.
  void bind_to_destroy() noexcept;
  /// Below this many products, rows times clusters times (columns + 8), a pass is shorter on one such device than on
  /// several that share the rows.
  virtual double min_shared_products() const { return 0; }
  /// How many rows of the input would stay in the device's memory; the others are read over its link in every pass.
  virtual int64_t resident_rows(const Input& input, const Workload& /*workload*/) { return input.points.n; }
  /// Returns whether its memory follows Input::memory.
  virtual bool keeps_to_memory() const { return false; }
  /// Returns whether it has memory of its own that follows BackendOptions::device_memory.
  virtual bool keeps_to_device_memory() const { return false; }
  /// Returns whether its statistics and seeding follow Input::counted. Its sessions' answers about inertia, picked or
  /// farthest rows, and numbers of rows or changes need not.
  virtual bool counts_duplicates() const { return false; }
  /// Points of the host's memory where an upload reads them without another copy, so that the device is the one that
  /// checks them. Only the models and clusters of the workload are known. Null: they are better left where they are.
  virtual std::unique_ptr<CopiedPoints> copy(const PointsView& /*points*/, const Workload& /*workload*/) {
    return nullptr;
  }
  virtual std::unique_ptr<Upload> upload(const Input& input, const Workload& workload) = 0;
  std::unique_ptr<Upload> upload(const Input& input) { return upload(input, Workload{}); }
  /// For centroids; null where a session answers instead.
  virtual std::unique_ptr<Labeller> labeller(const std::shared_ptr<const Matrix>& /*prototypes*/) const {
    return nullptr;
  }
};

/// One line of the registry.
struct BackendEntry {
  std::string_view name;
  std::unique_ptr<Backend> (*make)(const BackendOptions&);  ///< throws Error(kUnavailable) with what to do
};

std::span<const BackendEntry> backends();
/// Throws Error(kUsage) for the name of an algorithm that no backend has.
void check_algorithm(std::string_view algorithm);
/// Returns whether this name means several devices, as "cuda:0,cuda:1" or "cuda:all".
bool names_several(std::string_view name);
/// "auto" is the first entry. Several names, with commas between them, are one backend of all these. Throws
/// Error(kUsage) for an unknown name.
std::unique_ptr<Backend> make_backend(std::string_view name, const BackendOptions& options);
/// Makes a backend for these points. Points on a device require a single backend on that device.
std::unique_ptr<Backend> make_backend(std::string_view name, const PointsView& points, BackendOptions options);
/// Instruction sets of the cpu backend, best first.
std::vector<Choice> cpu_instruction_sets();
/// Names of the screens' formats that this instruction set has, for CpuTuning::screen_format.
std::vector<std::string> cpu_screen_formats(std::string_view instruction_set);

}  // namespace manymeans
