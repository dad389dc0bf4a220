// OpenCL as it is on this machine, but for one function that fails when the test says so, and a count of what was made
// and not released.
#pragma once

#include "backend/opencl/runtime/opencl_api.h"

#include <atomic>
#include <climits>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

namespace manymeans::test {

/// Stands in for the loader's functions as long as it lives; one at a time.
class FailingApi {
 public:
  FailingApi();
  ~FailingApi() { opencl::replace_api(nullptr); }
  FailingApi(const FailingApi&) = delete;
  FailingApi& operator=(const FailingApi&) = delete;

  /// The call after `calls` others of this function answers `status`, and does nothing; or it and all later ones.
  struct Failure {
    std::string_view function;
    int calls = 0;
    cl_int status = CL_OUT_OF_RESOURCES;
    bool for_good = false;
  };
  void fail(const Failure& failure);
  /// As if the device were lost: work that ends has failed.
  void lose_device(cl_int status) { state().lost = status; }
  void work_again();
  /// Whether the failure has been met.
  bool has_failed() const { return state().failed; }
  /// Handles that were made or retained, less those released, since this was made.
  int64_t handles() const { return state().handles; }

  /// Functions whose failure somebody sees: all but those that release or retain.
  static std::vector<std::string_view> functions();

 private:
  struct State {
    opencl::Api real, watched;
    Failure failure;
    std::atomic<int> calls{0};
    std::atomic<bool> failed{false};
    std::atomic<int64_t> handles{0};
    std::atomic<cl_int> lost{CL_SUCCESS};
  };
  static State& state() {
    static State one;
    return one;
  }
  static bool fails_now(std::string_view function) {
    State& now = state();
    if (now.failure.function != function) return false;
    const int before = now.calls++;
    const bool fails = now.failure.for_good ? before >= now.failure.calls : before == now.failure.calls;
    if (fails) now.failed = true;
    return fails;
  }

  template <auto kMember>
  struct Watched;
  template <class R, class... A, R (*opencl::Api::*kMember)(A...)>
  struct Watched<kMember> {
    static inline std::string_view name;

    static R call(A... arguments) {
      const auto last = std::get<sizeof...(A) - 1>(std::tie(arguments...));
      State& now = state();
      if (fails_now(name)) {
        stop_working(arguments...);
        if constexpr (std::is_same_v<R, cl_int>) {
          return now.failure.status;
        } else {
          *last = now.failure.status;
          return nullptr;
        }
      } else {
        const R result = (now.real.*kMember)(arguments...);
        now.handles += made(result, last);
        return lost(result, arguments...);
      }
    }
    // A device that answers no question about its work does none any more.
    static void stop_working(A... arguments) {
      if constexpr (std::is_same_v<R (*)(A...), decltype(&::clGetEventInfo)>) {
        if (name != "clGetEventInfo") return;
        const cl_event event = std::get<0>(std::tie(arguments...));
        cl_int status = CL_QUEUED;
        while (status > CL_COMPLETE && state().real.clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS,
                                                                   sizeof(status), &status, nullptr) == CL_SUCCESS) {
        }
      }
    }
    // How many handles more there are after a call.
    template <class Last>
    static int made(R result, Last last) {
      if constexpr (std::is_same_v<R, cl_int>) {
        if (result != CL_SUCCESS) return 0;
        if (name.starts_with("clRelease")) return -1;
        if (name.starts_with("clRetain")) return 1;
        if constexpr (std::is_same_v<Last, cl_event*>) return last != nullptr;
        return 0;
      } else {
        return name.starts_with("clCreate") && result != nullptr;
      }
    }
    static R lost(R result, A... arguments) {
      if constexpr (std::is_same_v<R (*)(A...), decltype(&::clGetEventInfo)>) {
        const auto all = std::tie(arguments...);
        const cl_int how = state().lost;
        auto* const status = static_cast<cl_int*>(std::get<3>(all));
        if (how != CL_SUCCESS && name == "clGetEventInfo" && *status == CL_COMPLETE) *status = how;
      }
      return result;
    }
  };
};

inline FailingApi::FailingApi() {
  opencl::replace_api(nullptr);
  State& now = state();
  now.real = opencl::api();
  const auto watch = [&]<auto kMember>(std::string_view name) {
    Watched<kMember>::name = name;
    now.watched.*kMember = &Watched<kMember>::call;
  };
#define MANYMEANS_WATCH(name) watch.template operator()<&opencl::Api::name>(#name);
  MANYMEANS_OPENCL_FUNCTIONS(MANYMEANS_WATCH)
#undef MANYMEANS_WATCH
  work_again();
  now.handles = 0;
  opencl::replace_api(&now.watched);
}

inline void FailingApi::fail(const Failure& failure) {
  work_again();
  state().failure = failure;
}

inline void FailingApi::work_again() {
  State& now = state();
  now.failure = {};
  now.lost = CL_SUCCESS;
  now.calls = 0;
  now.failed = false;
}

inline std::vector<std::string_view> FailingApi::functions() {
  std::vector<std::string_view> found;
#define MANYMEANS_NAME(name) found.emplace_back(#name);
  MANYMEANS_OPENCL_FUNCTIONS(MANYMEANS_NAME)
#undef MANYMEANS_NAME
  std::erase_if(found,
                [](std::string_view name) { return name.starts_with("clRelease") || name.starts_with("clRetain"); });
  return found;
}

}  // namespace manymeans::test
