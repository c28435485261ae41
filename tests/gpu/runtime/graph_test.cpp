// SPDX-License-Identifier: Apache-2.0
#include "gpu/runtime/graph.hpp"

#include <gtest/gtest.h>

#include "gpu/runtime/error_of.hpp"
#include "gpu/runtime/fake_driver.hpp"
#include "gpu/runtime/memory.hpp"
#include "gpu/runtime/module.hpp"

namespace thresher::gpu {
namespace {

using testing::error_of;
using testing::FakeDriver;

class GraphTest : public ::testing::Test {
 protected:
  FakeDriver fake;
  Device device{fake.driver};
  Stream stream{device};
  Kernel kernel = Module(device, std::vector<std::byte>(8), "gemm.cubin").kernel("entry");
};

TEST_F(GraphTest, RecordsAndLaunches) {
  const DeviceBuffer from(device, 16);
  const DeviceBuffer to(device, 16);
  const Graph graph = Graph::capture(stream, [&] {
    to.enqueue_copy_from(stream, from);
    kernel.launch(stream, {});
    kernel.launch(stream, {.dependent = true});
  });
  EXPECT_EQ(graph.kernel_count(), 2);  // the copy is no kernel
  EXPECT_EQ(fake.calls_of("cuGraphDestroy"), 1);
  EXPECT_EQ(fake.calls_of("cuGraphUpload"), 1);

  const LaunchCounts before = device.launch_counts();
  graph.launch(stream);
  graph.launch(stream);
  graph.launch(stream);
  EXPECT_EQ(device.launch_counts() - before, (LaunchCounts{.kernels = 0, .graphs = 3}));
}

TEST_F(GraphTest, MayBeEmpty) {
  const Graph graph = Graph::capture(stream, [] {});
  EXPECT_EQ(graph.kernel_count(), 0);
}

TEST_F(GraphTest, EndsTheCaptureWhenRecordingThrows) {
  EXPECT_THROW(Graph::capture(stream, [] { throw std::runtime_error("mine"); }),
               std::runtime_error);
  EXPECT_EQ(fake.calls_of("cuStreamEndCapture"), 1);
  EXPECT_EQ(fake.calls_of("cuGraphDestroy"), 1);
  EXPECT_EQ(Graph::capture(stream, [&] { kernel.launch(stream, {}); }).kernel_count(), 1);
}

TEST_F(GraphTest, SaysWhatACaptureTakes) {
  fake.failures["cuStreamEndCapture"] = cuda::kStreamCaptureFirst;
  EXPECT_EQ(error_of([&] { Graph::capture(stream, [] {}); }),
            "GPU 0: cuStreamEndCapture failed: CUDA result 900; a capture takes launches, "
            "copies, fills and events on its own streams only: allocate and synchronise "
            "before it, and join every forked stream again");
}

// Whichever step fails, nothing stays behind.
TEST_F(GraphTest, FreesEverythingWhenAStepFails) {
  const std::size_t handles_before = fake.handles_out();
  for (const char* step : {"cuStreamBeginCapture", "cuStreamEndCapture", "cuGraphGetNodes",
                           "cuGraphNodeGetType", "cuGraphInstantiate", "cuGraphUpload"}) {
    fake.failures = {{step, cuda::kInvalidValue}};
    EXPECT_THROW(Graph::capture(stream, [&] { kernel.launch(stream, {}); }), DriverError) << step;
    EXPECT_EQ(fake.handles_out(), handles_before) << step;
  }
  EXPECT_EQ(fake.bad_returns, 0);
}

TEST_F(GraphTest, AFailedLaunchIsNotCounted) {
  const Graph graph = Graph::capture(stream, [] {});
  fake.failures["cuGraphLaunch"] = cuda::kInvalidValue;
  EXPECT_THROW(graph.launch(stream), DriverError);
  EXPECT_EQ(device.launch_counts().graphs, 0);
}

}  // namespace
}  // namespace thresher::gpu
