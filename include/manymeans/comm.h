// Ranks that share the rows of one data set, in the order of the rows. Only exact things travel (integers, the bits of
// numbers, bytes), so every number of ranks gives the same bits.
//
// All ranks call the same collectives in the same order. A transport such as MPI does not check that: it adds arrays of
// different lengths and says nothing. So every collective begins with a header, which all ranks compare.
//
// Most programs need mpi_comm() of <manymeans/mpi.h> alone. A class of one's own is a transport, such as a PlainComm.
#pragma once

#include <manymeans/error.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace manymeans {

__extension__ typedef unsigned __int128 UInt128;

enum class Collective : uint64_t { kSum, kMax, kScan, kGather, kBroadcast };

/// A rank's view of what all ranks are doing.
struct CollectiveHeader {
  Collective what = Collective::kSum;
  uint64_t count = 0;    ///< values; bytes of a broadcast; of a gather, where every rank has its own, this rank's bytes
  uint64_t root = 0;     ///< of a broadcast
  uint64_t number = 0;   ///< of this collective, counted from 1
  uint64_t pass = 0;     ///< readings of the points so far
  uint64_t options = 0;  ///< hash of the options that decide the answer

  /// Returns true if the two belong to one collective.
  bool matches(const CollectiveHeader& other) const;
  std::string text() const;
};

/// One rank's end of the line. One thread of a rank uses it at a time. A subclass is a transport; it is given what the
/// ranks have agreed about, and only where there are several ranks.
class Comm {
 public:
  virtual ~Comm() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  bool alone() const { return size() == 1; }

  /// Sets a value that all later headers have.
  void set_options(uint64_t hash) {
    if (!alone()) options_ = hash;
  }
  void begin_pass() {
    if (!alone()) ++pass_;
  }

  /// The number of collectives so far, as a measure of cost.
  uint64_t collectives() const { return number_; }

  // Collectives. They throw Error(kInternal) on every rank where headers differ, Error(kUsage) where only the options
  // do; both name two ranks and what each of them wanted. A rank that is alone has the result already.

  /// Replaces every value by its sum over all ranks.
  void sum(std::span<int64_t> values);
  /// Returns the sum of integers mod 2^128 over all ranks.
  UInt128 sum(UInt128 value);
  /// Replaces every value by the largest, or the smallest, of all ranks. Of -0 and 0 the second is the larger one.
  void max(std::span<int64_t> values);
  void max(std::span<double> values);
  void min(std::span<int64_t> values);
  void min(std::span<double> values);
  int64_t max(int64_t value);
  double max(double value);
  int64_t min(int64_t value);
  /// Replaces every value by its sum over the ranks before this one: 0 on the first rank.
  void scan(std::span<int64_t> values);
  /// Returns the values of every rank, in the order of the ranks. The lengths may differ.
  std::vector<std::vector<std::byte>> gather(std::span<const std::byte> mine);
  template <class T>
  std::vector<std::vector<T>> gather(std::span<const T> mine);
  /// All ranks' values one after the other.
  template <class T>
  std::vector<T> gather_flat(std::span<const T> mine);
  /// Gives all ranks the bytes of `root`.
  void broadcast(std::span<std::byte> bytes, int root);
  template <class T>
  void broadcast(std::span<T> values, int root) {
    static_assert(std::is_trivially_copyable_v<T>);
    broadcast(std::as_writable_bytes(values), root);
  }

  /// Gives up on this rank. All others throw Error(code) with this text from the collective that they wait in, or from
  /// their next one. Where several ranks give up, the first one's text counts. No collective may follow. If a rank
  /// throws on its own after a collective that all have entered, its error stays its own.
  virtual void abort(const Error& why) noexcept = 0;

 protected:
  /// The headers of all ranks, in their order. Throws what the rank that aborted has said.
  virtual std::vector<CollectiveHeader> exchange(const CollectiveHeader& mine) = 0;
  virtual void reduce(std::span<int64_t> values, bool largest) = 0;
  /// bytes[r] of all ranks one after the other.
  virtual std::vector<std::byte> collect(std::span<const std::byte> mine, std::span<const uint64_t> bytes) = 0;
  virtual void spread(std::span<std::byte> bytes, int root) = 0;

 private:
  std::vector<CollectiveHeader> agree(Collective what, uint64_t count, int root = 0);

  uint64_t number_ = 0;
  uint64_t pass_ = 0;
  uint64_t options_ = 0;
};

/// A Comm over plain collectives such as MPI's, which know nothing of errors. A rank that gives up sends this, and the
/// reason, instead of its next header. Where the others do not come to a collective within some seconds, since they are
/// in the middle of a long pass, it ends all processes instead.
class PlainComm : public Comm {
 public:
  void abort(const Error& why) noexcept final;
  /// The error that ended the ranks, and the first rank that reported it. The text begins with "[rank 2] " unless all
  /// ranks gave up at once. Empty as long as all is well.
  struct Failure {
    int rank = 0;
    Error error;
  };
  const std::optional<Failure>& aborted() const { return aborted_; }

 protected:
  /// The bytes of all ranks, as many of each, in the order of the ranks. Waits for all ranks; if `seconds` is above 0,
  /// at most for this time. Returns false if the time runs out, and is not called again then.
  virtual bool share(std::span<const std::byte> mine, std::span<std::byte> all, double seconds) = 0;
  /// Ends the processes of all ranks.
  virtual void end_all(const Error& why) noexcept = 0;

 private:
  struct Post;
  std::vector<CollectiveHeader> exchange(const CollectiveHeader& mine) final;
  std::optional<std::vector<Post>> post(const Post& mine, double seconds);
  void hear(const std::vector<Post>& posts, const std::string& mine);

  std::optional<Failure> aborted_;
};

/// The one rank of a program that runs alone. It costs nothing and keeps nothing, so all threads share it.
Comm& self_comm();

/// Calls check() on every rank. If it throws Error on some ranks, all ranks throw the error of the first such rank.
/// Ranks hold their rows in order, so one rank with all rows would find the same error first.
void check_together(Comm& comm, const std::function<void()>& check);

template <class T>
std::vector<std::vector<T>> Comm::gather(std::span<const T> mine) {
  static_assert(std::is_trivially_copyable_v<T>);
  std::vector<std::vector<T>> result;
  for (const std::vector<std::byte>& bytes : gather(std::as_bytes(mine))) {
    const auto* values = reinterpret_cast<const T*>(bytes.data());
    result.emplace_back(values, values + bytes.size() / sizeof(T));
  }
  return result;
}

template <class T>
std::vector<T> Comm::gather_flat(std::span<const T> mine) {
  std::vector<T> result;
  for (const std::vector<T>& part : gather(mine)) result.insert(result.end(), part.begin(), part.end());
  return result;
}

}  // namespace manymeans
