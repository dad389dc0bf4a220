#include "data/memory_plan.h"

#include <manymeans/error.h>
#include <manymeans/options.h>

#include "core/fixed_point.h"
#include "core/label_width.h"
#include "core/memory.h"
#include "core/sparse_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>

namespace manymeans {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;
// The program, the threads' stacks, what an allocator keeps.
constexpr int64_t kProgram = 8 * kMiB;
// Scores and lists that one thread works on.
constexpr int64_t kWorker = 3 * kMiB;
// Rows of a thread: a tile, and what is gathered or widened of as many; of sums of products, a segment in binary64.
constexpr int64_t kTileRows = 64;
constexpr int64_t kHeldTiles = 2;
constexpr int64_t kSegmentRows = 256;
// Formats, moments and names of a column. The constants below were measured (docs/user/memory.md, "Measured").
constexpr int64_t kColumn = 256;
// A model without its clusters. Every list of models has its results. While it is fitted, it has its state, a state in
// each thread, and a span of prototypes, full or not.
constexpr int64_t kModel = 1024;
constexpr int64_t kActiveModel = 4096;
constexpr int64_t kModelOfThread = 1024;
constexpr int64_t kSpan = 32;
// A chunk of the window: calls to the system should cost little, and all threads' chunks be a small part of the limit.
constexpr int64_t kMaxChunk = 4 * kMiB;
constexpr int64_t kMinChunk = kMiB / 4;
constexpr int64_t kRowsOfAChunk = 64;  // a multiple of every tile
// Bytes that the system maps around touched pages, in each array that a pass reads.
constexpr int64_t kAroundAChunk = 4 * (int64_t{64} << 10);
// Values for one model and row while it is seeded; k-means|| labels rows with its candidates after that.
constexpr int64_t kSeedBytes = 8;
constexpr int64_t kMaxLabelBytes = 4;
// Candidates of k-means|| per cluster: five rounds of as many again in the mean, and a margin.
constexpr int64_t kCandidates = 8;
// Exact sums and products that a linear model is solved from, and the formats of its sums, a term.
constexpr int64_t kSolvedTerm = 400;
constexpr int64_t kSwapCandidates = 16;
constexpr int64_t kExactSum = 560;  // what the removal of a prototype would cost, as a swap search adds it up
constexpr int64_t kMinCopy = 2;     // bytes of a value, in bfloat16
// Sparse points: in a first pass a row is a change of its thread, of all and of its cluster, in vectors that grow.
// A row that is seeded has bounds. A session has some centres and their table; a thread has rows with their zeros.
constexpr int64_t kSparseRow = 96;
constexpr int64_t kSparseCentres = 64;
constexpr int64_t kSparseHeld = 32;
// Where the caller sets no limit, this part of the available memory is left to others once it becomes scarce.
constexpr int64_t kReserveShare = 16;

// Sessions that run at the same time.
int64_t sessions(const MemoryTask& task) {
  if (task.strategy != Strategy::kTask) return 1;
  return std::min<int64_t>(task.threads, static_cast<int64_t>(task.k.size()));
}

// The sum of k over the `models` largest models.
int64_t largest_clusters(const MemoryTask& task, int64_t models) {
  std::vector<int64_t> k = task.k;
  std::sort(k.begin(), k.end(), std::greater<>());
  if (models < static_cast<int64_t>(k.size())) k.resize(static_cast<size_t>(models));
  return std::accumulate(k.begin(), k.end(), int64_t{0});
}

// Models that are fitted at the same time.
int64_t active_models(const MemoryTask& task) {
  const bool all = task.strategy == Strategy::kConcatenated;
  return all ? static_cast<int64_t>(task.k.size()) : sessions(task);
}

// The sum of k over the largest models that may be fitted at the same time.
int64_t active_clusters(const MemoryTask& task) {
  return largest_clusters(task, active_models(task));
}

int64_t model_bytes(const MemoryTask& task) {
  const int64_t spans = is_sparse(task.points) ? sessions(task) * kSparseCentres * 3 : active_models(task) * kSpan;
  const int64_t active = active_models(task) * (kActiveModel + task.threads * kModelOfThread);
  return static_cast<int64_t>(task.k.size()) * kModel + active + spans * task.points.d * 4;
}

int64_t copied_bytes(const MemoryTask& task) {
  if (!task.copied) return 0;
  const SparseView& view = sparse_view(task.points);
  return view.entries * static_cast<int64_t>(size_of(view.type));
}

// Bytes that every fit needs on its threads. Sums of products have room for a whole segment, few as the rows may be.
int64_t unavoidable_bytes(const MemoryTask& task) {
  const int64_t tiles = std::min(kHeldTiles, (task.points.n + kTileRows - 1) / kTileRows);
  const int64_t held = is_sparse(task.points) ? kSparseHeld : task.terms > 0 ? kSegmentRows * 8 : tiles * kTileRows * 4;
  return kProgram + copied_bytes(task) + task.points.d * kColumn + task.threads * (kWorker + held * task.points.d);
}

// The k-means fit by whose clusters a linear model begins; each session has one at a time.
MemoryTask clustering_of(const MemoryTask& task) {
  MemoryTask clustering = task;
  clustering.k = {*std::max_element(task.k.begin(), task.k.end())};
  clustering.threads = task.strategy == Strategy::kTask ? 1 : task.threads;
  clustering.strategy = Strategy::kConcatenated;
  clustering.oversamples = true;  // which init = auto may decide
  clustering.terms = 0;
  clustering.clusters = clustering.copies_features = false;
  return clustering;
}

// Without the program, which is there once.
int64_t least_of_clustering(const MemoryTask& task) {
  return task.clusters ? sessions(task) * (min_memory(clustering_of(task)) - kProgram) : 0;
}

// A swap search adds up in every thread what each prototype is worth, for as many models as are seeded together.
int64_t removal_bytes(const MemoryTask& task) {
  const int64_t together = task.strategy == Strategy::kConcatenated ? models_seeded_together(task.points.n) : 1;
  return task.threads * largest_clusters(task, together) * kExactSum;
}

// Bytes of linear models without the statistics that stay.
int64_t linear_bytes(const MemoryTask& task, int64_t statistics) {
  if (task.terms == 0) return 0;
  const int64_t k = *std::max_element(task.k.begin(), task.k.end());
  // Every thread may solve a cluster, or the model of some rows, in exact numbers of its own.
  const int64_t solving = (task.threads + 1) * task.terms * kSolvedTerm;
  // The sums of a k-means fit's clusters are made by all threads.
  const int64_t labelled = task.clusters ? task.threads * k * statistics : 0;
  // Rows of random subsets: of all first models, and what the trials of a swap search draw.
  const int64_t row = task.points.d * static_cast<int64_t>(size_of(prototype_type(task.points.type)));
  const auto models = static_cast<int64_t>(task.k.size());
  const int64_t subsets = (active_clusters(task) + kSwapCandidates * (models + 4 * sessions(task))) * task.points.d;
  const int64_t value = static_cast<int64_t>(size_of(task.points.type));
  const int64_t features = task.copies_features ? task.points.n * (task.points.d - 1) * value : 0;
  return solving + labelled + subsets * row + features + (task.swaps ? removal_bytes(task) : 0);
}

// Bytes that cannot be freed: prototypes, statistics, results, scratch, weights.
int64_t fixed_bytes(const MemoryTask& task) {
  const int64_t d = task.points.d;
  const auto value = static_cast<int64_t>(size_of(prototype_type(task.points.type)));
  const int64_t limbs = max_limbs(task.points.type == DataType::kFloat64);
  const int64_t statistics = (task.terms > 0 ? task.terms : d) * limbs * 8;
  // Statistics, two sets of prototypes, and their rounded copies for the screen.
  const int64_t active = statistics + d * (2 * value + 16) + 256;
  int64_t all = 0;
  int64_t most = 0;
  for (const int64_t k : task.k) {
    all += k;
    most = std::max(most, k);
  }
  const int64_t candidates = task.oversamples ? kCandidates * most * sessions(task) : 0;
  return unavoidable_bytes(task) + (active_clusters(task) + candidates) * active + all * (d * value + 64) +
         model_bytes(task) + (task.weights ? 16 * task.points.n : 0) + linear_bytes(task, statistics) +
         least_of_clustering(task);
}

// Bytes of a row, all arrays together.
struct RowBytes {
  int64_t points = 0;
  int64_t labels = 0;
  int64_t seeding = 0;
  int64_t sum() const { return points + labels + seeding; }
};

RowBytes row_bytes(const MemoryTask& task) {
  RowBytes row;
  if (is_sparse(task.points)) {
    row.points = kSparseRow * sessions(task);
  } else if (task.in_file) {
    row.points = task.points.d * static_cast<int64_t>(size_of(task.points.type));
  }
  for (const int64_t k : task.k) row.labels += label_width(k);
  row.labels += kMaxLabelBytes * sessions(task);  // a second set: while clusters are dropped, or of k-means||
  row.seeding = kSeedBytes * sessions(task);
  return row;
}

// Chunks that threads are at work on: each may have begun one and not finished another.
int64_t chunks(const MemoryTask& task) {
  return 2 * task.threads + 2;
}

int64_t chunk_rows(const RowBytes& row, int64_t bytes) {
  return std::max<int64_t>(1, bytes / (row.sum() * kRowsOfAChunk)) * kRowsOfAChunk;
}

int64_t window_bytes(const MemoryTask& task, const RowBytes& row, int64_t rows) {
  return chunks(task) * (rows * row.sum() + kAroundAChunk);
}

// Models: as many as there is room for, but no more than the engine would seed together without a limit.
int64_t seeded_together(const MemoryTask& task, int64_t room) {
  const int64_t most = std::min(static_cast<int64_t>(task.k.size()), (int64_t{1} << 25) / task.points.n);
  return std::clamp<int64_t>(room, 1, std::max<int64_t>(1, most));
}

std::string in_mib(int64_t bytes) {
  return fmt::format("{} MiB", (bytes + kMiB - 1) / kMiB);
}

// Everything but avoidable copies fits: all rows stay.
MemoryPlan plan_whole(const MemoryTask& task, const RowBytes& row, int64_t limit, int64_t rest) {
  const int64_t n = task.points.n;
  MemoryPlan plan;
  plan.limited = true;
  plan.seeded_together = seeded_together(task, 1 + rest / 2 / (row.seeding * n));
  plan.copies = rest / 2 / sessions(task);
  plan.bounds = plan.sums = rest / 4 / sessions(task);
  plan.text = fmt::format("at most {}: everything fits, with {} for copies", in_mib(limit), in_mib(rest));
  return plan;
}

// Small arrays that are used often stay in memory; then copies of the points, then as many of their rows as fit.
MemoryPlan plan_parts(const MemoryTask& task, const RowBytes& row, int64_t limit, int64_t rest) {
  const int64_t n = task.points.n;
  const int64_t chunk_bytes = std::clamp(rest / 4 / chunks(task), kMinChunk, kMaxChunk);
  const int64_t rows = chunk_rows(row, chunk_bytes);
  rest -= window_bytes(task, row, rows);
  MemoryPlan plan;
  plan.limited = true;
  plan.labels = row.labels * n <= rest / 2 ? Storage::kMemory : Storage::kFile;
  if (plan.labels == Storage::kMemory) rest -= row.labels * n;
  plan.seeding = row.seeding * n <= rest / 2 ? Storage::kMemory : Storage::kFile;
  plan.seeded_together = 1;
  int64_t seeded = 0;
  if (plan.seeding == Storage::kMemory) {
    plan.seeded_together = seeded_together(task, rest / 2 / (row.seeding * n));
    seeded = plan.seeded_together * row.seeding * n;
    rest -= seeded;
  }
  // Where not even the smallest copy has room, rows that stay are the better use of it.
  const bool copied = kMinCopy * task.points.d * n <= rest / 2;
  plan.copies = copied ? rest / 2 / sessions(task) : 0;
  plan.bounds = (seeded + rest / 8) / sessions(task);  // seeding is over when there are bounds
  plan.sums = rest / 8 / sessions(task);
  const int64_t kept = task.in_file ? std::min(n, (copied ? rest / 4 : rest / 4 * 3) / row.points) : 0;
  plan.window = RowWindow(task.points, task.in_file, std::min(rows, n), kept);
  const auto place = [](Storage storage) { return storage == Storage::kMemory ? "in memory" : "in a side file"; };
  plan.text = fmt::format(
      "at most {}: {}; labels {}; distances of seeding {}; {}", in_mib(limit),
      task.in_file ? fmt::format("points stay in their file, {} rows at a time{}", std::min(rows, n),
                                 kept > 0 ? fmt::format(" and the first {} always", kept) : "")
                   : "points are the caller's",
      place(plan.labels), place(plan.seeding),
      copied ? fmt::format("up to {} for copies of the points", in_mib(plan.copies)) : "no copy of the points");
  return plan;
}

// The end of a message: what the caller may change, where that helps.
std::string what_needs_less(const MemoryTask& task) {
  MemoryTask alone = task, in_turn = task;
  alone.threads = 1;
  in_turn.strategy = Strategy::kData;
  const bool threads = min_memory(alone) < min_memory(task), strategy = min_memory(in_turn) < min_memory(task);
  if (!threads && !strategy) return {};
  return fmt::format(", less with {}{}{}", threads ? "fewer threads" : "", threads && strategy ? ", or " : "",
                     strategy ? "strategy data" : "");
}

}  // namespace

int64_t min_memory(const MemoryTask& task) {
  const RowBytes row = row_bytes(task);
  const int64_t whole = row.sum() * task.points.n;
  return fixed_bytes(task) +
         (is_sparse(task.points) ? whole : std::min(window_bytes(task, row, chunk_rows(row, kMinChunk)), whole));
}

int64_t models_seeded_together(int64_t rows) {
  return std::max<int64_t>(1, (int64_t{1} << 25) / rows);
}

bool fits_easily(const MemoryTask& task) {
  constexpr int64_t kFew = int64_t{8} << 20;
  MemoryTask counted = task;
  counted.in_file = true;
  const int64_t bytes = fixed_bytes(counted) + row_bytes(counted).sum() * counted.points.n;
  // Some bytes more than no plan saves always fit: a query to the system takes longer than such a small fit.
  return bytes - kProgram - counted.threads * kWorker <= kFew || fits_in_half(bytes);
}

MemoryPlan plan_memory(const MemoryTask& task, int64_t limit) {
  const RowBytes row = row_bytes(task);
  const int64_t fixed = fixed_bytes(task);
  const int64_t whole = fixed + row.sum() * task.points.n;
  if (limit <= 0) {
    const int64_t available = available_memory();
    // Half is left for what backends copy where they may.
    if (whole <= available / 2) return {};
    limit = available - available / kReserveShare;
  }
  const int64_t least = min_memory(task);
  if (limit < least) {
    throw Error(ErrorCode::kUnavailable, "memory",
                fmt::format("{} are too little for {} rows of {} columns in {} model{} with {} clusters in all: at "
                            "least {} are needed (memory {}MiB){}",
                            limit % kMiB == 0 ? in_mib(limit) : fmt::format("{} bytes", limit), task.points.n,
                            task.points.d, task.k.size(), task.k.size() == 1 ? "" : "s",
                            std::accumulate(task.k.begin(), task.k.end(), int64_t{0}), in_mib(least),
                            (least + kMiB - 1) / kMiB, what_needs_less(task)));
  }
  // A k-means fit of the rows gets part of what is not needed.
  const int64_t more = task.clusters ? (limit - least) / 4 : 0;
  MemoryPlan plan = whole + more <= limit ? plan_whole(task, row, limit, limit - whole - more)
                                          : plan_parts(task, row, limit, limit - fixed - more);
  if (task.clusters) plan.clustering = kProgram + (least_of_clustering(task) + more) / sessions(task);
  return plan;
}

}  // namespace manymeans
