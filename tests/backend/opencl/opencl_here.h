// The first OpenCL device of this machine, for tests that need one.
#pragma once

#include <manymeans/error.h>

#include "backend/opencl/runtime/opencl_device.h"

#include <gtest/gtest.h>

namespace manymeans::test {

/// A test that is skipped, with the reason, where there is no device.
class OnOpenClDevice : public testing::Test {
 protected:
  void SetUp() override {
    try {
      device_ = &opencl::open_device(0);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kUnavailable) throw;
      GTEST_SKIP() << error.what();
    }
  }

  const opencl::OpenClDevice* device_ = nullptr;
};

}  // namespace manymeans::test
