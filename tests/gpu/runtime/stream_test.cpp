// SPDX-License-Identifier: Apache-2.0
#include "gpu/runtime/stream.hpp"

#include <gtest/gtest.h>

#include "gpu/runtime/error_of.hpp"
#include "gpu/runtime/fake_driver.hpp"
#include "gpu/runtime/graph.hpp"

namespace thresher::gpu {
namespace {

using testing::error_of;
using testing::FakeDriver;

TEST(Stream, PassesOnWhatWentWrongOnIt) {
  FakeDriver fake;
  const Device device(fake.driver);
  const Stream stream(device);
  fake.failures["cuStreamSynchronize"] = cuda::kIllegalAddress;
  EXPECT_NE(error_of([&] {
              stream.synchronize();
            }).find("GPU 0: cuStreamSynchronize failed: CUDA_ERROR_ILLEGAL_ADDRESS; an earlier"),
            std::string::npos);
}

TEST(Stream, KnowsWhetherItIsRecorded) {
  FakeDriver fake;
  const Device device(fake.driver);
  const Stream stream(device);
  EXPECT_FALSE(stream.is_capturing());
  bool while_recording = false;
  Graph::capture(stream, [&] { while_recording = stream.is_capturing(); });
  EXPECT_TRUE(while_recording);
  EXPECT_FALSE(stream.is_capturing());
  fake.failures["cuStreamIsCapturing"] = cuda::kInvalidValue;
  EXPECT_THROW(stream.is_capturing(), DriverError);
}

TEST(Event, TellsTimeAndOrder) {
  FakeDriver fake;
  const Device device(fake.driver);
  const Stream stream(device);
  const Stream other(device);
  const Event start(device);
  const Event end(device);
  start.record(stream);
  end.record(stream);
  other.wait(end);
  end.synchronize();
  EXPECT_TRUE(end.reached());
  EXPECT_DOUBLE_EQ(microseconds_between(start, end), 250.0);
  fake.failures["cuEventQuery"] = cuda::kNotReady;
  EXPECT_FALSE(end.reached());
}

TEST(Event, SaysWhatTimingNeeds) {
  FakeDriver fake;
  const Device device(fake.driver);
  const Event start(device);
  const Event order(device, Event::Use::kOrder);
  fake.failures["cuEventElapsedTime"] = cuda::kInvalidHandle;
  EXPECT_EQ(error_of([&] { microseconds_between(start, order); }),
            "GPU 0: cuEventElapsedTime failed: CUDA result 400; both events must tell time, "
            "be recorded, and be reached: synchronise the later one first");
}

}  // namespace
}  // namespace thresher::gpu
