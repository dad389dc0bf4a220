// manymeans._manymeans: the library, spoken to in arrays, dicts and strings. The package above it is plain Python.
#include "module.h"

#include "device_arrays.h"
#include "leaving.h"
#include "sparse_arrays.h"

#include <atomic>

namespace {
std::atomic<int> max_threads{0};
}

// What threadpoolctl calls (manymeans/_threads.py); 0: no limit.
extern "C" __attribute__((visibility("default"))) int manymeans_get_num_threads() {
  return max_threads;
}
extern "C" __attribute__((visibility("default"))) void manymeans_set_num_threads(int threads) {
  max_threads = threads;
}

NB_MODULE(_manymeans, module) {
  using namespace manymeans::python;
  // A thread that is parked when Python ends (leaving.h) keeps its predictor; that is no error to be told of.
  nanobind::set_leak_warnings(false);
  add_errors();
  add_device_arrays(module);
  add_sparse_arrays(module);
  add_agreeing(module);
  add_batch_sums(module);
  add_comparing(module);
  add_multiplying(module);
  add_optimising(module);
  add_judging(module);
  add_reporting(module);
  add_fitting(module);
  add_fitting_each(module);
  add_fitting_tree(module);
  add_regressing(module);
  add_predicting(module);
  add_sharding(module);
  add_files(module);
  module.def("before_exit", &before_exit, "For atexit: ends the calls of other threads before Python ends.");
  module.def("get_num_threads", &manymeans_get_num_threads, "The limit that threadpoolctl has set; 0: none.");
}
