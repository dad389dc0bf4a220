// The computations of a device backend: its kernels, behind two small interfaces. The caller is
// device/device_session.h.
#pragma once

#include "backend/device/pass_state.h"
#include "backend/device/queue.h"
#include "backend/device/row_slices.h"
#include "backend/device/session_memory.h"
#include "backend/row_queries.h"
#include "core/label_term.h"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace manymeans::device {

/// Passes that are queued without the host looking in between.
struct PassBatch {
  std::vector<ModelMemory> models;
  PassLimits limits;
  int64_t max_clusters = 0;  ///< of one model
  Address counters;          ///< of the pass at hand: PassCounters, one for each model
  Address control;           ///< PassControl
  bool joined = false;       ///< was begun by begin_joined() or begin_update()
};

/// Screen, resolve, accumulate and update of one session. Functions enqueue what they do and do not wait for it.
/// Kernels of a batch do nothing once PassControl::stopped is set.
class PassKernels {
 public:
  virtual ~PassKernels() = default;

  /// Makes the session's device the calling thread's, for runtimes with a current device.
  virtual void use_device() const {}

  /// A batch begins, whose prototypes are on the device. Statistics of models that are not labelled yet are zero.
  virtual void begin(const PassBatch& batch) = 0;
  /// All of the batch's passes and updates at once, where kernels can do that; whether they could.
  virtual bool run_batch(const PassBatch& batch) {
    static_cast<void>(batch);
    return false;
  }
  /// After how many passes the device is to be asked how they went.
  virtual int passes_between_questions(const PassBatch& batch) const = 0;
  /// A pass over these rows, the first of a pass or others: labels, and what their changes do to statistics and
  /// counters.
  virtual void pass(const PassBatch& batch, const Rows& rows, bool first) = 0;
  /// All rows were passed over: counts PassControl::passes, and stops the batch where too few labels changed or a
  /// cluster is empty.
  virtual void end_pass(const PassBatch& batch) = 0;
  /// Returns whether the device makes updates. If not, batches are of one pass, and the engine makes the updates.
  virtual bool updates() const { return true; }
  /// Prototypes from statistics; clusters without weight keep theirs. The former prototypes go to ModelMemory::before.
  /// Stops the batch where this update may be the last one.
  virtual void update(const PassBatch& batch) { static_cast<void>(batch); }
  /// An update() without passes follows. The state that passes carry stays.
  virtual void begin_update(const PassBatch& batch) { begin(batch); }

  /// Returns whether such sessions can be in a team (device/pass_team.h). Then end_pass() and update() get batches that
  /// are `joined`.
  virtual bool joins() const { return false; }
  /// The batch begins that end_pass() and update() will be asked about.
  virtual void begin_joined(const PassBatch& batch) { static_cast<void>(batch); }
  /// Each member of a team has statistics of int64 in four pieces. The pieces have the same sizes on all members. The
  /// sums of all members go to every member, one piece behind the other.
  struct Joining {
    struct Member {
      std::array<Address, 4> own;
      Address sums;
    };
    std::array<size_t, 4> values = {};  ///< of each piece
    std::vector<Member> members;
    size_t first = 0, last = 0;  ///< of all values: this member's share
  };
  /// Adds up its share of all members' statistics, and writes the sums to all members.
  virtual void join(const Joining& joining) { static_cast<void>(joining); }

  /// Returns whether the kernels of later passes depend on the counts of earlier ones.
  virtual bool learns() const { return false; }
  /// Takes the counts of pass number `pass` of the batch, for each of its models; in the order of the passes.
  virtual void learn(size_t pass, std::span<const PassCounters> counted) {
    static_cast<void>(pass);
    static_cast<void>(counted);
  }
  /// Takes the counts of the batch's last pass.
  virtual void end(std::span<const PassCounters> last) { static_cast<void>(last); }

  /// A model's labels in the order of the rows, until the next call.
  virtual Address labels_in_order(int slot) = 0;
  /// Takes one row from its cluster's statistics, adds it to another's, and writes its label. `move` outlives the work.
  struct RowMove {
    Rows row;
    uint32_t from = 0, to = 0;
  };
  virtual void move_row(const ModelMemory& model, const RowMove& move) = 0;
  /// Replaces every label l of a model by table[l], uint32.
  virtual void renumber(int slot, Address table) = 0;
  /// A model's labels were taken away: it begins anew.
  virtual void forget(int slot) { static_cast<void>(slot); }
};

/// Prototypes where kernels find them.
struct Prototypes {
  Address at;
  int64_t k = 0;
};

/// Canonical distances of rows to the prototypes that labels assign them to. Functions enqueue what they do.
class RowKernels {
 public:
  virtual ~RowKernels() = default;

  struct Assigned {
    Rows rows;
    Address labels;  ///< of these rows, SessionMemory::label_width() bytes each
    Address prototypes;
  };
  /// For every `step`-th row with w' > 0: adds the limbs of RN(w' * d2) in `format`, and in the format for terms twice
  /// as large. It takes the largest d2, too. `sums`: TermSums. `format` is a guess: where d2 is too large for it, which
  /// the caller sees by the largest, the limbs may be anything.
  struct TermSums {
    int64_t limbs[2][kDistanceLimbs];
    int64_t farthest;  ///< its bits

    /// For code of the host: adds `rows` rows of weight w' at d2.
    void add(double weight, double d2, const SumFormat& format, int64_t rows);
  };
  virtual void add_terms(const Assigned& assigned, const SumFormat& format, int64_t step, Address sums) = 0;
  /// Returns whether it adds label terms.
  virtual bool adds_label_terms() const { return false; }
  /// Labels of rows; the first row is number `first` of all.
  struct NumberedLabels {
    Address labels;  ///< SessionMemory::label_width() bytes each
    int64_t first = 0;
    int64_t count = 0;  ///< at most 2^32
  };
  /// Of their label terms (core/label_term.h) the sums of the words of 32 bits.
  struct LabelTermSums {
    uint64_t words[4];
    uint64_t unused[3];  ///< what add_terms() has a sum for

    LabelSum sum() const {
      LabelSum all = 0;
      for (int i = 0; i < 4; ++i) all += static_cast<LabelSum>(words[i]) << (32 * i);
      return all;
    }
  };
  /// Adds the label terms of the rows to `sums`, LabelTermSums.
  virtual void add_label_terms(const NumberedLabels& labels, Address sums) {
    static_cast<void>(labels);
    static_cast<void>(sums);
  }
  /// The address of a room that kernels can write to; none where they cannot.
  virtual Address address_of(const ResultRoom& room) const {
    static_cast<void>(room);
    return {};
  }
  /// Writes `count` labels as int32.
  virtual void widen_labels(Address labels, int64_t count, Address out) {
    static_cast<void>(labels);
    static_cast<void>(count);
    static_cast<void>(out);
  }
  /// Writes d2, binary64.
  virtual void distances(const Assigned& assigned, Address out) = 0;
  /// The farthest rows, where the device can sort them out and `assigned` has all rows. Waits for the answer.
  virtual std::optional<std::vector<DistantRow>> farthest_rows(const Assigned& assigned, int64_t count) {
    static_cast<void>(assigned);
    static_cast<void>(count);
    return std::nullopt;
  }
  /// Writes sqrt(d2) of the rows to each of k prototypes, (rows, k) of the prototypes' type.
  virtual void transform(const Rows& rows, Address prototypes, int64_t k, Address out) = 0;
  /// Returns whether it finds the two nearest prototypes.
  virtual bool finds_two_nearest() const { return false; }
  /// Writes TwoNearest of the rows among k prototypes.
  virtual void two_nearest(const Rows& rows, const Prototypes& among, Address out) {
    static_cast<void>(rows);
    static_cast<void>(among);
    static_cast<void>(out);
  }
};

/// Distances of rows to centres, for seeding (device/least_distances.h). Functions enqueue what they do.
class SeedKernels {
 public:
  virtual ~SeedKernels() = default;

  virtual void use_device() const {}
  /// least[i] = the least d2 of row i to these centres or, unless this is the first call, what it was if that is less.
  /// `least`: of the rows, binary64.
  virtual void lower(const Rows& rows, const Prototypes& centres, bool first, Address least) = 0;
  /// For each candidate c, adds the limbs of the rows' terms RN(w' * min(least, d2 to c)) to sums[c], (k,
  /// kDistanceLimbs) int64.
  struct Potentials {
    Prototypes candidates;
    Address least;
    SumFormat format;
    Address sums;
  };
  virtual void add_potentials(const Rows& rows, const Potentials& potentials) = 0;
};

}  // namespace manymeans::device
