// Ranks by way of an object of Python: the package's _ranks.py speaks to mpi4py, so that this module is built without
// MPI and works with any.
#pragma once

#include <manymeans/comm.h>

#include <nanobind/nanobind.h>

namespace manymeans::python {

/// Used by one thread, which may have the GIL or not. Whoever gives the last one up has it.
class PythonComm final : public PlainComm {
 public:
  /// `ranks`: a Ranks of _ranks.py.
  explicit PythonComm(nanobind::object ranks);
  int rank() const override { return rank_; }
  int size() const override { return size_; }

 private:
  bool share(std::span<const std::byte> mine, std::span<std::byte> all, double seconds) override;
  void reduce(std::span<int64_t> values, bool largest) override;
  std::vector<std::byte> collect(std::span<const std::byte> mine, std::span<const uint64_t> bytes) override;
  void spread(std::span<std::byte> bytes, int root) override;
  void end_all(const Error& why) noexcept override;

  nanobind::object ranks_;
  int rank_;
  int size_;
};

}  // namespace manymeans::python
