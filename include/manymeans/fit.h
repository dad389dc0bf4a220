// Fitting ensembles, labelling new points, and asking what is built in.
#pragma once

#include <manymeans/comm.h>
#include <manymeans/options.h>
#include <manymeans/points.h>
#include <manymeans/result.h>

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace manymeans {

/// Where a running fit is. Sent after every pass, or after some where FitHooks::pause says so.
struct Progress {
  std::string_view phase;     ///< "initialise" or "iterate"; "sizes" of a tree
  int64_t iteration = 0;      ///< most updates done by any active model; steps done while initialising
  int64_t max_iteration = 0;  ///< what `iteration` can reach at most
  int64_t active_models = 0;
  int64_t models = 0;
  double inertia_estimate = 0;   ///< lowest over the models; an estimate, not part of the answer (NaN: unknown)
  double points_per_second = 0;  ///< rows times active models over the last pass
  double seconds = 0;            ///< since the fit began
};

/// A file in which a fit saves its state, so that another fit can continue after a crash, a signal or a time limit. The
/// result has the same bits as a fit without interruption. docs/user/checkpoints.md describes the file.
struct CheckpointOptions {
  std::string path = {};  ///< empty: none is written
  /// Passes between two writes. 0: by the clock, every ten seconds, and more seldom where that would take more than
  /// one hundredth of the time. It is also written at the end of the fit, whatever ends it.
  int64_t every = 0;
  /// Go on from the file, if it is there; else begin anew. Points, weights and all options that decide the answer must
  /// be those that it was written with: Error(kUsage) or Error(kBadData) names what differs. Time limit, backend,
  /// algorithm, strategy and threads may differ.
  bool resume = false;
};

/// Which models bring their labels. Everything else of them, digests too, is the same either way.
enum class LabelsOf : uint8_t {
  kAll,   ///< every model: N labels each
  kBest,  ///< of each k the model that FitResult::best() names; a device that can sum the labels of the others up keeps
          ///< them
};

/// Callbacks and switches by which a caller observes and stops a fit. All may be left out.
struct FitHooks {
  std::function<bool(const Progress&)> progress = {};  ///< return false to stop after the current pass
  /// Seconds between two reports while passes are made, for callers that do not need every pass. A device that is not
  /// asked after each of its passes does them faster.
  double pause = 0;
  std::function<void(std::string_view)> log = {};  ///< gets messages; the library itself never prints
  const std::atomic<bool>* cancel = nullptr;  ///< set it to stop after the current passes: one, or on a device some
  const std::atomic<bool>* abort = nullptr;   ///< set it to give up within a pass: fit throws kInterrupted
  /// Initial prototypes instead of options.init: for each model k rows of D columns, in the order of FitResult::models.
  PointsView initial = {};
  CheckpointOptions checkpoint = {};  ///< by default none
  LabelsOf labels = LabelsOf::kAll;   ///< with `comm`, the same on all ranks
  /// The ranks that share the rows (mpi_comm() of <manymeans/mpi.h>). All of them call fit(). Null: there is one rank.
  std::shared_ptr<Comm> comm = {};
};

/// Fits options.models models for every k in options.k to the same points.
///
/// points   N x D, float32, float64, float16, bfloat16, uint8 or int8; read in place.
/// weights  empty, or N non-negative weights.
/// Returns the same bits for any thread count, instruction set, backend, strategy and algorithm.
/// Throws Error: kUsage (options, K > N), kBadData (NaN, infinity, weights), kUnavailable (memory, backend).
/// With a checkpoint, also when another fit is resumed or the file is damaged; one that cannot be written while the fit
/// runs is a warning.
/// Time O(iterations N D sum K); memory O(N D + N M + threads D sum K).
///
/// With hooks.comm, each rank passes its own `points` and `weights`, which may be empty. The ranks have the rows in
/// their order. All ranks give the same options and initial prototypes; speed choices (backend, algorithm, threads,
/// memory), hooks and time limits may differ. Labels belong to this rank's rows. Everything else of the models, digests
/// too, is the same on all ranks. The bits equal the bits of one rank with all rows. Where one rank fails, all throw:
/// the others throw what it says. Models are fitted one after the other under the strategy task.
///
/// The first rank that is given the path of a checkpoint writes it; to go on from one, all ranks have to be given it.
/// Ranks can go on from a checkpoint of any number of ranks.
FitResult fit(const PointsView& points, std::span<const double> weights, const FitOptions& options,
              const FitHooks& hooks = {});

/// Prototypes of one model before its first pass.
struct Initialisation {
  Matrix prototypes;          ///< k x D
  std::vector<int64_t> rows;  ///< the k rows that they are, counted from 0
  std::vector<std::string> warnings;
};

/// Returns the first prototypes of the first model that fit() with these arguments would fit. They are options.k[0]
/// prototypes, chosen by options.init. The seed is options.model_seed or, without one, the seed of that model in the
/// ensemble. Not with hooks.comm. Throws what fit() throws; Error(kInterrupted) when hooks stopped it. Time as the
/// method needs, memory O(N).
Initialisation initialise(const PointsView& points, std::span<const double> weights, const FitOptions& options,
                          const FitHooks& hooks = {});

/// Labels, and if asked for the Euclidean distances, of new points.
struct Prediction {
  Labels labels;
  std::vector<double> distances;  ///< to the nearest prototype; empty unless asked for
  double inertia = 0;             ///< the contract's inertia of these labels; computed only on request, else 0
};

struct PredictOptions {
  std::string backend = "auto";
  std::string algorithm = "auto";
  int threads = 0;
  /// The metric of the fit. Under Metric::kCosine the points are scaled as in a fit. The prototypes come from such a
  /// fit and are taken as they are.
  Metric metric = Metric::kEuclidean;
  bool distances = false;
  bool inertia = false;
  std::span<const double> weights = {};      ///< empty, or N weights for the inertia
  const std::atomic<bool>* abort = nullptr;  ///< set it to give up: the function throws Error(kInterrupted)
  /// Where results are written: N labels of int32 by predict(), N x K values by transform(). The labels or the matrix
  /// that the function returns are empty then. Points and room may lie on different devices.
  ResultRoom room = {};
};

/// Labels of `points` among `prototypes` (K x D): the nearest by canonical distance, ties to the lowest index.
/// Throws Error(kBadData) when the columns differ or values are not finite.
Prediction predict(const PointsView& points, const PointsView& prototypes, const PredictOptions& options = {});

/// Euclidean distances of all points to all prototypes, rounded from canonical distances: N x K, float64 for float64
/// points, else float32. Throws as predict(). Time O(N D K), memory N K values and O(N).
Matrix transform(const PointsView& points, const PointsView& prototypes, const PredictOptions& options = {});

/// A model that is prepared once for many calls: its prototypes are checked, copied and packed by the first call that
/// needs them so, and not again. The functions do what predict() and transform() do, with the same bits.
/// Copies share what is prepared; several threads may call at once, and a fork may come between two calls.
class Predictor {
 public:
  /// `prototypes` are k x D and need not outlive the call. Throws as predict().
  explicit Predictor(const PointsView& prototypes);
  int64_t clusters() const;
  int64_t columns() const;
  /// Returns true if these are the prototypes that it was made from, bit for bit.
  bool holds(const PointsView& prototypes) const;
  Prediction predict(const PointsView& points, const PredictOptions& options = {}) const;
  Matrix transform(const PointsView& points, const PredictOptions& options = {}) const;

 private:
  struct Prepared;
  std::shared_ptr<Prepared> prepared_;
};

/// The place of this address, for PointsView::place: the host's memory, unless this build knows the device in whose
/// memory it lies.
MemoryPlace place_of(const void* address);

/// Returns false if a device of this process was given up because it did not answer, and has not answered since. An
/// Error(kUnavailable) or kInterrupted said so. The memory on such a device is not freed. The normal end of a process
/// may wait for it for ever, so end with _exit.
bool devices_answer();

}  // namespace manymeans
