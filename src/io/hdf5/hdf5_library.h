// Shared by reading and writing by the HDF5 library.
#pragma once

// The interface of 1.10, which later versions keep under this name.
#define H5_USE_110_API
#include <hdf5.h>

#include <mutex>
#include <utility>

namespace manymeans {

// A number of the library, closed on every way out.
class Hdf5Handle {
 public:
  Hdf5Handle(hid_t id, herr_t (*closer)(hid_t)) : id_(id), closer_(closer) {}
  ~Hdf5Handle() { (void)close(); }
  Hdf5Handle(const Hdf5Handle&) = delete;
  Hdf5Handle& operator=(const Hdf5Handle&) = delete;
  explicit operator bool() const { return id_ >= 0; }
  operator hid_t() const { return id_; }  // NOLINT(google-explicit-constructor): the library takes nothing else

  /// Returns true if that went well, for writers.
  bool close() {
    const hid_t id = std::exchange(id_, -1);
    return id < 0 || closer_(id) >= 0;
  }

 private:
  hid_t id_;
  herr_t (*closer_)(hid_t);
};

/// Hold this while calling the library: most builds of it are not made for threads. It prints nothing meanwhile.
class Hdf5Session {
 public:
  Hdf5Session() : lock_(mutex()) {
    // At the end of the process it would close again what could not be closed on a full disk, and crash.
    (void)H5dont_atexit();
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  }

 private:
  static std::mutex& mutex() {
    static std::mutex one_at_a_time;
    return one_at_a_time;
  }
  std::lock_guard<std::mutex> lock_;
};

}  // namespace manymeans
