// SPDX-License-Identifier: Apache-2.0
#include "gpu/runtime/device.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "gpu/runtime/error_of.hpp"
#include "gpu/runtime/fake_driver.hpp"
#include "gpu/runtime/graph.hpp"
#include "gpu/runtime/memory.hpp"
#include "gpu/runtime/module.hpp"

namespace thresher::gpu {
namespace {

using testing::error_of;
using testing::FakeDriver;

TEST(Device, KnowsItsProperties) {
  FakeDriver fake;
  const Device device(fake.driver);
  const DeviceProperties& properties = device.properties();
  EXPECT_EQ(properties.name, "Fake H200");
  EXPECT_EQ(properties.sm_count, 132);
  EXPECT_EQ(properties.l2_bytes, std::size_t{60} << 20);
  EXPECT_EQ(properties.shared_bytes_per_block_max, 232448U);
  EXPECT_EQ(properties.clock_khz, 1980000);
  EXPECT_EQ(properties.architecture(), "sm_90a");
  EXPECT_EQ(device.memory_use().free_bytes, std::size_t{100} << 20);
}

TEST(Device, ArchitectureHasItsLetterFromHopperOn) {
  EXPECT_EQ((DeviceProperties{.compute_major = 8, .compute_minor = 9}.architecture()), "sm_89");
  EXPECT_EQ((DeviceProperties{.compute_major = 10, .compute_minor = 0}.architecture()), "sm_100a");
  EXPECT_EQ((DeviceProperties{.compute_major = 12, .compute_minor = 1}.architecture()), "sm_121a");
}

TEST(Device, PropertiesNeedNoContext) {
  FakeDriver fake;
  device_properties(fake.driver, 0);
  EXPECT_EQ(fake.calls_of("cuDevicePrimaryCtxRetain"), 0);
}

TEST(Device, SaysThatThereIsNoSuchDevice) {
  FakeDriver fake;
  fake.device_count = 2;
  EXPECT_EQ(error_of([&] { Device(fake.driver, 2); }),
            "GPU 2: there is no such device; this machine has 2, numbered from 0");
  EXPECT_EQ(error_of([&] { Device(fake.driver, -1); }),
            "GPU -1: there is no such device; this machine has 2, numbered from 0");
  EXPECT_EQ(fake.handles_out(), 0U);
}

TEST(Device, LivesWithoutClocks) {
  FakeDriver fake;
  fake.driver.cuDeviceGetAttribute = [](int* value, cuda::DeviceAttribute which,
                                        cuda::DeviceHandle) {
    *value = 1;
    return which == cuda::kClockRateKhz ? cuda::kInvalidValue : cuda::kSuccess;
  };
  EXPECT_EQ(device_properties(fake.driver, 0).clock_khz, 0);
}

TEST(Device, PassesOnAFailureToRetain) {
  FakeDriver fake;
  fake.failures["cuDevicePrimaryCtxRetain"] = cuda::kDeviceUnavailable;
  EXPECT_EQ(error_of([&] { Device(fake.driver, 0); }),
            "GPU 0: cuDevicePrimaryCtxRetain failed: CUDA result 46; another process holds the GPU "
            "exclusively; nvidia-smi shows who");
  EXPECT_EQ(fake.calls_of("cuDevicePrimaryCtxRelease"), 0);
}

TEST(Device, PassesOnWhatWentWrongOnTheDevice) {
  FakeDriver fake;
  const Device device(fake.driver);
  fake.failures["cuCtxSynchronize"] = cuda::kIllegalAddress;
  EXPECT_NE(error_of([&] {
              device.synchronize();
            }).find("GPU 0: cuCtxSynchronize failed: CUDA_ERROR_ILLEGAL_ADDRESS; an earlier"),
            std::string::npos);
}

// Everything made on a device keeps its context: the release comes last, whatever goes first.
TEST(Device, MayGoBeforeWhatWasMadeOnIt) {
  FakeDriver fake;
  {
    auto device = std::make_unique<Device>(fake.driver);
    const Stream stream(*device);
    const DeviceBuffer buffer(*device, 64);
    device.reset();
    EXPECT_EQ(fake.calls_of("cuDevicePrimaryCtxRelease"), 0);
    stream.synchronize();
  }
  EXPECT_EQ(fake.calls.back(), "cuDevicePrimaryCtxRelease");
  EXPECT_EQ(fake.handles_out(), 0U);
  EXPECT_EQ(fake.bad_returns, 0);
}

// The fake refuses calls from a thread that has not made the context current, so every one of these
// gets a thread of its own.
TEST(Device, WorksFromAnyThread) {
  FakeDriver fake;
  const Device device(fake.driver);
  const Stream stream(device);
  const Event event(device);
  const DeviceBuffer buffer(device, 16);
  const std::vector<std::byte> cubin(8);
  const Module module(device, cubin, "m");
  Kernel kernel = module.kernel("entry");
  const Graph graph = Graph::capture(stream, [] {});
  std::vector<std::byte> bytes(16);
  auto last = std::make_unique<DeviceBuffer>(device, 16);

  const std::vector<std::function<void()>> actions{
      [&] { device.synchronize(); },
      [&] { device.memory_use(); },
      [&] { Stream{device}; },
      [&] { stream.synchronize(); },
      [&] { stream.wait(event); },
      [&] { Event{device}; },
      [&] { event.record(stream); },
      [&] { event.reached(); },
      [&] { event.synchronize(); },
      [&] { microseconds_between(event, event); },
      [&] { DeviceBuffer(device, 8); },
      [&] { buffer.copy_in(bytes); },
      [&] { buffer.copy_out(bytes); },
      [&] { buffer.fill(std::byte{7}); },
      [&] { buffer.enqueue_copy_in(stream, bytes); },
      [&] { buffer.enqueue_copy_from(stream, *last); },
      [&] { buffer.share(); },
      [&] { MappedBuffer(device, cuda::IpcMemoryHandle{{1}}); },
      [&] { Module(device, cubin, "m"); },
      [&] { module.kernel("entry"); },
      [&] { kernel.resources(); },
      [&] { kernel.blocks_per_sm(32, 0); },
      [&] { kernel.allow_shared_bytes(1000); },
      [&] { kernel.launch(stream, {}); },
      [&] { Graph::capture(stream, [] {}); },
      [&] { graph.launch(stream); },
      [&] { last.reset(); },
  };
  for (std::size_t i = 0; i < actions.size(); ++i) {
    std::thread([&] {
      ASSERT_EQ(FakeDriver::current_context(), nullptr);
      EXPECT_EQ(error_of(actions[i]), "no error") << "action " << i;
    }).join();
  }
  EXPECT_EQ(fake.calls_of("cuMemFree"), 2);
  EXPECT_EQ(fake.bad_returns, 0);
}

}  // namespace
}  // namespace thresher::gpu
