#include "python_comm.h"

#include "texts.h"

#include <nanobind/stl/vector.h>

#include <numeric>

namespace manymeans::python {
namespace nb = nanobind;
namespace {

// For as long as the call lasts.
nb::object view_of(std::span<std::byte> bytes) {
  return nb::steal(PyMemoryView_FromMemory(reinterpret_cast<char*>(bytes.data()), static_cast<Py_ssize_t>(bytes.size()),
                                           PyBUF_WRITE));
}

nb::object view_of(std::span<const std::byte> bytes) {
  return nb::bytes(bytes.data(), bytes.size());
}

// Ctrl-C is seen here: the calling thread does the work.
void check_signals() {
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

}  // namespace

PythonComm::PythonComm(nb::object ranks)
    : ranks_(std::move(ranks)), rank_(nb::cast<int>(ranks_.attr("rank"))), size_(nb::cast<int>(ranks_.attr("size"))) {}

bool PythonComm::share(std::span<const std::byte> mine, std::span<std::byte> all, double seconds) {
  const nb::gil_scoped_acquire with_gil;
  const bool gives_up = seconds > 0;  // and waits for nothing else
  try {
    if (!gives_up) check_signals();
    return nb::cast<bool>(ranks_.attr("share")(view_of(mine), view_of(all), seconds));
  } catch (const nb::python_error& error) {
    // The other ranks hear of it where they wait for this one.
    if (!gives_up && error.matches(PyExc_KeyboardInterrupt)) {
      abort(Error(ErrorCode::kInterrupted, "interrupted", "KeyboardInterrupt"));
    }
    throw;
  }
}

void PythonComm::reduce(std::span<int64_t> values, bool largest) {
  const nb::gil_scoped_acquire with_gil;
  ranks_.attr("reduce")(view_of(std::as_writable_bytes(values)), largest);
}

std::vector<std::byte> PythonComm::collect(std::span<const std::byte> mine, std::span<const uint64_t> bytes) {
  const nb::gil_scoped_acquire with_gil;
  std::vector<std::byte> all(std::accumulate(bytes.begin(), bytes.end(), size_t{0}));
  ranks_.attr("collect")(view_of(mine), std::vector<uint64_t>(bytes.begin(), bytes.end()), view_of(std::span(all)));
  return all;
}

void PythonComm::spread(std::span<std::byte> bytes, int root) {
  const nb::gil_scoped_acquire with_gil;
  ranks_.attr("spread")(view_of(bytes), root);
}

void PythonComm::end_all(const Error& why) noexcept {
  const nb::gil_scoped_acquire with_gil;
  try {
    ranks_.attr("end_all")(to_text(why.what()), static_cast<int>(why.code()));
  } catch (const nb::python_error&) {
    // There is nobody left to tell.
  }
}

}  // namespace manymeans::python
