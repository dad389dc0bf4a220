// The floating-point environment of the contract: round to nearest even, denormals kept, no traps.
#pragma once

#include <cfenv>

namespace manymeans {

/// Sets the environment of the calling thread and restores what was there on destruction, exception flags included.
/// Every entry point and every worker thread holds one: other libraries change these settings.
class FpEnvironmentGuard {
 public:
  FpEnvironmentGuard() noexcept;
  ~FpEnvironmentGuard();
  FpEnvironmentGuard(const FpEnvironmentGuard&) = delete;
  FpEnvironmentGuard& operator=(const FpEnvironmentGuard&) = delete;

 private:
  std::fenv_t environment_;
};

}  // namespace manymeans
