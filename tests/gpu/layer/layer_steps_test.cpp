// SPDX-License-Identifier: Apache-2.0
// A layer behind the engine on a driver and a compiler of our own: what a call asks of the driver.
// What its kernels compute, the emulator shows, and gpu/moe_main.cpp on a GPU.
#include "gpu/layer/layer_steps.hpp"

#include <gtest/gtest.h>

#include <set>

#include "gpu/fake_device.hpp"
#include "nvfp4/error_message.hpp"
#include "thresher/moe.hpp"

namespace thresher::gpu {
namespace {

using gpu::testing::FakeDriver;
using gpu::testing::FakeLaunch;

constexpr std::int64_t kHidden = 64;
constexpr std::int64_t kIntermediate = 48;
constexpr std::int64_t kExperts = 8;
constexpr std::int64_t kTokensMax = 64;

class LayerOnADriver : public ::testing::Test {
 protected:
  LayerOnADriver() {
    fake.driver.cuFuncGetParamInfo = nullptr;  // kernels differ in their arguments
    engine.emplace(gpu::testing::open_fake(fake));
  }

  MoeLayer make_layer(const MoeOptions& options) const {
    const auto expert = [&](std::int64_t) {
      return MoeExpert{.gate = wide.view(), .up = wide.view(), .down = narrow.view()};
    };
    return {*engine, MoeSource{.expert_count = kExperts, .expert = expert}, options};
  }

  static Nvfp4Matrix ones(std::int64_t rows, std::int64_t k) {
    return quantize(std::vector<float>(static_cast<std::size_t>(rows * k), 1.0f), rows, k);
  }

  MoeTokens tokens(std::int64_t count) {
    return {.x = x.data(),
            .ids = ids.data(),
            .weights = weights.data(),
            .out = out.data(),
            .token_count = count};
  }

  FakeDriver fake;
  std::optional<Engine> engine;
  Nvfp4Matrix wide = ones(kIntermediate, kHidden);
  Nvfp4Matrix narrow = ones(kHidden, kIntermediate);
  // The driver computes nothing; these are addresses.
  alignas(16) std::array<std::uint16_t, kTokensMax* kHidden> x = {};
  alignas(16) std::array<std::uint16_t, kTokensMax* kHidden> out = {};
  std::array<std::int32_t, 2 * kTokensMax> ids = {};
  std::array<float, 2 * kTokensMax> weights = {};
};

struct Count {
  std::int64_t tokens;
  std::int64_t launches;
};

// Few tokens take three launches, others four, or six with an activation between the products
// (these tiles get their activations from the products' own blocks: no kernel before them); and
// nothing is asked of the driver besides, which is most of what a call costs the host.
TEST_F(LayerOnADriver, ACallIsItsLaunchesAndNothingElse) {
  MoeOptions options{.top_k = 2, .tokens_max = kTokensMax};
  for (const bool clamped : {false, true}) {
    if (clamped) options.activation = MoeActivation::kClampedSilu;
    const MoeLayer layer = make_layer(options);
    for (const Count& count : {Count{1, 3}, Count{4, 3}, Count{kTokensMax, clamped ? 6 : 4}}) {
      layer.enqueue(tokens(count.tokens));  // once the driver is asked of addresses
      fake.calls.clear();
      fake.launches.clear();
      layer.enqueue(tokens(count.tokens));
      EXPECT_EQ(std::ssize(fake.launches), count.launches) << count.tokens;
      EXPECT_EQ(layer.kernel_launch_count(count.tokens), count.launches);
      EXPECT_EQ(fake.calls_of("cuCtxSetCurrent"), count.launches);
      EXPECT_EQ(std::ssize(fake.calls), 2 * count.launches);
    }
  }
}

TEST_F(LayerOnADriver, LaunchesFollowEachOtherOnTheCallersStream) {
  const MoeLayer layer = make_layer({.top_k = 2, .tokens_max = kTokensMax});
  const Stream stream(gpu_of(*engine).device);
  for (const std::int64_t count : {std::int64_t{1}, kTokensMax}) {
    fake.launches.clear();
    layer.enqueue(tokens(count), stream.handle());
    for (const FakeLaunch& launch : fake.launches) {
      EXPECT_EQ(launch.config.stream, stream.handle());
      ASSERT_EQ(launch.attributes.size(), 1u);
      EXPECT_EQ(launch.attributes[0].id, cuda::kProgrammaticStreamSerialization);
    }
  }
}

// A kernel that goes there ends its context, and with it all that the process has on the GPU.
TEST_F(LayerOnADriver, MemoryOfTheHostIsRefusedBeforeALaunch) {
  const MoeLayer layer = make_layer({.top_k = 2, .tokens_max = kTokensMax});
  const MoeTokens given = tokens(1);
  for (const auto& [name, address] : {std::pair<std::string, const void*>("x", given.x),
                                      {"ids", given.ids},
                                      {"weights", given.weights},
                                      {"out", given.out}}) {
    const MoeLayer fresh = make_layer({.top_k = 2, .tokens_max = kTokensMax});
    fake.unknown_address = address;
    fake.launches.clear();
    EXPECT_EQ(nvfp4::error_message([&] { fresh.enqueue(given); }),
              name +
                  " is memory of the host, where this device does not reach: enqueue() takes "
                  "the device's own, forward() the host's");
    EXPECT_TRUE(fake.launches.empty());
  }
  // forward() copies it, and asks nobody.
  EXPECT_EQ(nvfp4::error_message([&] { layer.forward(given); }), "no error");
  // Where the last call was, the next may be.
  fake.unknown_address = nullptr;
  layer.enqueue(given);
  fake.calls.clear();
  layer.enqueue(given);
  EXPECT_EQ(fake.calls_of("cuPointerGetAttribute"), 0);
  MoeTokens moved = given;
  moved.out = x.data();
  layer.enqueue(moved);
  EXPECT_EQ(fake.calls_of("cuPointerGetAttribute"), 1);
}

TEST_F(LayerOnADriver, AGpuThatReachesAllMemoryTakesTheHosts) {
  engine.reset();
  fake.pageable_access = true;
  engine.emplace(gpu::testing::open_fake(fake));
  const MoeLayer layer = make_layer({.top_k = 2, .tokens_max = kTokensMax});
  fake.unknown_address = x.data();
  EXPECT_EQ(nvfp4::error_message([&] { layer.enqueue(tokens(1)); }), "no error");
}

TEST_F(LayerOnADriver, AStreamOfAnotherDeviceIsTheReason) {
  const MoeLayer layer = make_layer({.top_k = 2, .tokens_max = kTokensMax});
  cuda::Stream foreign = nullptr;
  fake.driver.cuStreamCreate(&foreign, 0);
  fake.driver.cuStreamGetCtx = [](cuda::Stream, cuda::Context* context) {
    *context = reinterpret_cast<cuda::Context>(std::uintptr_t{0xdead});
    return cuda::kSuccess;
  };
  fake.failures["cuLaunchKernelEx"] = cuda::kInvalidHandle;
  EXPECT_NE(nvfp4::error_message([&] {
              layer.enqueue(tokens(1), foreign);
            }).find("the stream was made on another device"),
            std::string::npos);
  fake.driver.cuStreamDestroy(foreign);
}

}  // namespace
}  // namespace thresher::gpu
