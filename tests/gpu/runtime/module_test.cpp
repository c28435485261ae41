// SPDX-License-Identifier: Apache-2.0
#include "gpu/runtime/module.hpp"

#include <gtest/gtest.h>

#include "gpu/runtime/error_of.hpp"
#include "gpu/runtime/fake_driver.hpp"
#include "gpu/runtime/graph.hpp"
#include "gpu/runtime/memory.hpp"

namespace thresher::gpu {
namespace {

using testing::error_of;
using testing::FakeDriver;

class ModuleTest : public ::testing::Test {
 protected:
  Kernel load(const std::string& name = "entry") {
    return Module(device, cubin, "gemm.cubin").kernel(name);
  }

  FakeDriver fake;
  Device device{fake.driver};
  Stream stream{device};
  std::vector<std::byte> cubin = std::vector<std::byte>(8);
};

TEST_F(ModuleTest, KernelsKeepTheirModuleLoaded) {
  {
    const Kernel kernel = load();
    EXPECT_EQ(fake.calls_of("cuModuleUnload"), 0);
    EXPECT_EQ(kernel.name(), "entry");
  }
  EXPECT_EQ(fake.calls_of("cuModuleUnload"), 1);
}

TEST_F(ModuleTest, SaysWhyItDoesNotLoad) {
  fake.failures["cuModuleLoadData"] = cuda::kNoBinaryForGpu;
  EXPECT_EQ(error_of([&] { load(); }),
            "GPU 0: cuModuleLoadData(gemm.cubin, 8 bytes, for sm_90a) failed: CUDA result 209; the "
            "kernel was compiled for another architecture, or by a compiler newer than this "
            "driver");
  cubin.clear();
  EXPECT_EQ(error_of([&] { load(); }), "gemm.cubin: an empty cubin cannot be loaded");
}

TEST_F(ModuleTest, SaysThatThereIsNoSuchKernel) {
  EXPECT_EQ(error_of([&] { load("absent"); }),
            "GPU 0: cuModuleGetFunction(absent) failed: CUDA_ERROR_NOT_FOUND; the source has no "
            "kernel of this name; without extern \"C\" it has a mangled one");
}

TEST_F(ModuleTest, TellsResources) {
  const Kernel kernel = load();
  const KernelResources resources = kernel.resources();
  EXPECT_EQ(to_string(resources),
            "entry: 168 registers, spills unknown, 16 bytes of stack, 1024 bytes of static shared "
            "memory");
  EXPECT_EQ(kernel.threads_per_block_max(), 384);
  EXPECT_EQ(kernel.blocks_per_sm(384, 0), 4);
}

TEST_F(ModuleTest, LaunchesWithShapeAndParameters) {
  fake.parameter_bytes = {8, 4};
  const Kernel kernel = load();
  const DeviceBuffer buffer(device, 64);
  kernel.launch(stream, {.grid = {132, 2}, .block = {384}, .shared_bytes = 512},
                buffer.pointer<float>(), 2.5f);

  ASSERT_EQ(fake.launches.size(), 1U);
  const testing::FakeLaunch& launch = fake.launches[0];
  EXPECT_EQ(launch.config.grid_x, 132U);
  EXPECT_EQ(launch.config.grid_y, 2U);
  EXPECT_EQ(launch.config.grid_z, 1U);
  EXPECT_EQ(launch.config.block_x, 384U);
  EXPECT_EQ(launch.config.shared_bytes, 512U);
  EXPECT_EQ(launch.config.stream, stream.handle());
  EXPECT_TRUE(launch.attributes.empty());
  const cuda::DevicePointer address = buffer.address();
  EXPECT_EQ(launch.parameters[0], std::string(reinterpret_cast<const char*>(&address), 8));
  EXPECT_EQ(launch.parameters[1], std::string("\x00\x00\x20\x40", 4));  // 2.5
}

TEST_F(ModuleTest, PassesLaunchAttributes) {
  const Kernel kernel = load();
  kernel.launch(stream, {.grid = {4}, .block = {32}, .cluster = {2}, .dependent = true});
  const std::vector<cuda::LaunchAttribute>& attributes = fake.launches.at(0).attributes;
  ASSERT_EQ(attributes.size(), 2U);
  EXPECT_EQ(attributes[0].id, cuda::kClusterDimension);
  EXPECT_EQ(attributes[0].value.cluster.x, 2U);
  EXPECT_EQ(attributes[0].value.cluster.y, 1U);
  EXPECT_EQ(attributes[1].id, cuda::kProgrammaticStreamSerialization);
  EXPECT_EQ(attributes[1].value.allowed, 1);
}

TEST_F(ModuleTest, ComparesParametersWithTheKernels) {
  fake.parameter_bytes = {8, 4};
  const Kernel kernel = load();
  EXPECT_EQ(error_of([&] { kernel.launch(stream, {}, 1ULL); }),
            "kernel entry takes 2 parameters, not 1");
  EXPECT_EQ(error_of([&] { kernel.launch(stream, {}, 1ULL, 2.0); }),
            "kernel entry: parameter 1 is 4 bytes long on the device and 8 here; host and device "
            "must declare the same type");
  EXPECT_TRUE(fake.launches.empty());
  EXPECT_EQ(device.launch_counts(), LaunchCounts{});
}

// Older drivers cannot tell the parameters, and others may refuse: then nothing is compared.
TEST_F(ModuleTest, TakesParametersOnTrustWhereTheDriverCannotTell) {
  fake.failures["cuFuncGetParamInfo"] = cuda::kNotSupported;
  load().launch(stream, {}, 1, 2, 3);
  fake.driver.cuFuncGetParamInfo = nullptr;
  load().launch(stream, {}, 1, 2, 3);
  EXPECT_EQ(fake.launches.size(), 2U);
}

TEST_F(ModuleTest, AKernelCanLeaveAllSharedMemoryToOthers) {
  Kernel kernel = load();
  EXPECT_EQ(fake.shared_carveout, -1);
  kernel.leave_shared_memory();
  EXPECT_EQ(fake.shared_carveout, 100);
  const LaunchShape shape{.grid = {1}, .block = {256}, .shared_bytes = 48 << 10};
  EXPECT_EQ(error_of([&] { kernel.launch(stream, shape); }), "no error");
}

TEST_F(ModuleTest, AStreamOfAnotherDeviceIsNamedAsTheReason) {
  fake.device_count = 2;
  const Device other(fake.driver, 1);
  const Stream others(other);
  const Kernel kernel = load();
  // As a caller hands it over: a number that nobody can look into.
  const Stream borrowed(device.context(), others.handle());
  EXPECT_EQ(error_of([&] { kernel.launch(borrowed, {}); }),
            "GPU 0: cuLaunchKernelEx(entry, grid 1x1x1, block 1x1x1, 0 bytes of shared memory) "
            "failed: CUDA result 400; the stream was made on another device: give one of this "
            "device");
  EXPECT_EQ(error_of([&] { kernel.launch(Stream(device.context(), stream.handle()), {}); }),
            "no error");
  EXPECT_EQ(error_of([&] { kernel.launch(Stream(device.context(), nullptr), {}); }), "no error");
}

TEST_F(ModuleTest, SharedMemoryBeyondTheDefaultMustBeAllowed) {
  Kernel kernel = load();
  const LaunchShape shape{.grid = {1}, .block = {384}, .shared_bytes = 200000};
  EXPECT_EQ(error_of([&] { kernel.launch(stream, shape); }),
            "GPU 0: cuLaunchKernelEx(entry, grid 1x1x1, block 384x1x1, 200000 bytes of shared "
            "memory) failed: CUDA_ERROR_INVALID_VALUE; the kernel is allowed 49152 bytes: ask for "
            "more with allow_shared_bytes");
  kernel.allow_shared_bytes(200000);
  EXPECT_EQ(error_of([&] { kernel.launch(stream, shape); }), "no error");
  EXPECT_NE(error_of([&] {
              kernel.launch(stream, {.shared_bytes = 200001});
            }).find("the kernel is allowed 200000 bytes"),
            std::string::npos);
  EXPECT_EQ(error_of([&] { kernel.allow_shared_bytes(232448); }),
            "GPU 0: cuFuncSetAttribute(entry, 232448 bytes of shared memory) failed: "
            "CUDA_ERROR_INVALID_VALUE; a block of Fake H200 has at most 232448 bytes, 1024 of "
            "which this kernel takes statically: fewer stages or smaller tiles take less");
}

TEST_F(ModuleTest, ExplainsRefusedLaunches) {
  const Kernel kernel = load();
  EXPECT_EQ(error_of([&] { kernel.launch(stream, {.grid = {0}, .block = {32}}); }),
            "GPU 0: cuLaunchKernelEx(entry, grid 0x1x1, block 32x1x1, 0 bytes of shared memory) "
            "failed: CUDA_ERROR_INVALID_VALUE; nothing to launch: skip empty work");
  EXPECT_EQ(error_of([&] { kernel.launch(stream, {.block = {512}, .dependent = true}); }),
            "GPU 0: cuLaunchKernelEx(entry, grid 1x1x1, block 512x1x1, 0 bytes of shared memory, "
            "dependent) failed: CUDA_ERROR_INVALID_VALUE; this kernel's blocks have at most 384 "
            "threads");
  fake.failures["cuLaunchKernelEx"] = cuda::kLaunchOutOfResources;
  EXPECT_EQ(error_of([&] { kernel.launch(stream, {.block = {384}}); }),
            "GPU 0: cuLaunchKernelEx(entry, grid 1x1x1, block 384x1x1, 0 bytes of shared memory) "
            "failed: CUDA result 701; 384 threads of 168 registers do not fit the 65536 registers "
            "of an SM");
}

TEST_F(ModuleTest, CountsLaunchesThatWereMade) {
  const Kernel kernel = load();
  const LaunchCounts before = device.launch_counts();
  kernel.launch(stream, {});
  kernel.launch(stream, {});
  EXPECT_ANY_THROW(kernel.launch(stream, {.grid = {0}}));
  EXPECT_EQ(device.launch_counts() - before, (LaunchCounts{.kernels = 2, .graphs = 0}));
}

}  // namespace
}  // namespace thresher::gpu
