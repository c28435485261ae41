// SPDX-License-Identifier: Apache-2.0
// Tests that run unchanged on every device: ON_DEVICES(Suite) makes one of each for the CPU, the
// emulator and a GPU. Where there is no GPU those are skipped, and say why.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "thresher/engine.hpp"

namespace thresher::testing {

class OnDevice : public ::testing::TestWithParam<const char*> {
 protected:
  static EngineOptions options() { return {.device = GetParam(), .thread_count = 2}; }
  static bool is_cpu() { return options().device == "cpu"; }
  // One that is not this.
  static Engine other_device() {
    return Engine({.device = is_cpu() ? "emulator" : "cpu", .thread_count = 2});
  }

  void SetUp() override {
    if (const std::string why = why_no_device(options()); !why.empty()) GTEST_SKIP() << why;
    engine_.emplace(options());
  }

  const Engine& engine() const { return *engine_; }

 private:
  std::optional<Engine> engine_;
};

inline std::string device_name(const ::testing::TestParamInfo<const char*>& info) {
  return info.param;
}

}  // namespace thresher::testing

#define ON_DEVICES(Suite)                                                               \
  INSTANTIATE_TEST_SUITE_P(Devices, Suite, ::testing::Values("cpu", "emulator", "gpu"), \
                           ::thresher::testing::device_name)
