// SPDX-License-Identifier: Apache-2.0
#include "gpu/runtime/gpu.hpp"

#include <gtest/gtest.h>

#include "gpu/backend.hpp"
#include "gpu/runtime/error_of.hpp"

namespace thresher::gpu {
namespace {

using testing::error_of;

TEST(Gpu, IsCountedFromZero) {
  EXPECT_EQ(device_index({.device = "gpu"}), 0);
  EXPECT_EQ(device_index({.device = "gpu:0"}), 0);
  EXPECT_EQ(device_index({.device = "gpu:12"}), 12);
  EXPECT_EQ(error_of([] { device_index({.device = "gpu:1,2"}); }),
            "device 'gpu:1,2' is not gpu, or gpu: and a number");
}

TEST(Gpu, IsNotWhatOtherEnginesHave) {
  EXPECT_EQ(error_of([] { gpu_of(Engine({.thread_count = 1})); }), "device 'cpu' is no GPU");
  EXPECT_EQ(error_of([] { gpu_of(Engine({.device = "emulator"})); }),
            "device 'emulator' is no GPU");
}

// Whatever this machine has: there are not so many.
TEST(Gpu, ThatIsNotThereIsNotOpened) {
  const std::string why = gpu_backend().why_not({.device = "gpu:1000"});
  EXPECT_NE(why, "");
  if (find_driver().driver == nullptr) return;
  EXPECT_TRUE(why.starts_with("there is no GPU 1000")) << why;
}

}  // namespace
}  // namespace thresher::gpu
