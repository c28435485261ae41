// SPDX-License-Identifier: Apache-2.0
#include "gpu/calibrate.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "gpu/runtime/error_of.hpp"
#include "gpu/runtime/fake_driver.hpp"
#include "gpu/runtime/fake_nvrtc.hpp"
#include "gpu/sm90/kernels/ceilings_args.hpp"

namespace thresher::gpu {
namespace {

using testing::error_of;
using testing::FakeDriver;
using testing::FakeNvrtc;

constexpr int kL2Bytes = 1 << 20;
constexpr double kSmCount = 132;
constexpr double kLaunchUs = 250;  // by the fake driver's clock

// A fake driver whose launches leave what the kernels would, unless told to be idle.
class CalibrateTest : public ::testing::Test {
 protected:
  CalibrateTest() {
    ask_ = fake.driver.cuDeviceGetAttribute;
    launch_ = fake.driver.cuLaunchKernelEx;
    idle_ = false;
    compute_major_ = 9;
    fake.driver.cuFuncGetParamInfo = nullptr;
    fake.driver.cuDeviceGetAttribute = [](int* value, cuda::DeviceAttribute which,
                                          cuda::DeviceHandle device) {
      const cuda::Result result = ask_(value, which, device);
      if (which == cuda::kL2CacheBytes) *value = kL2Bytes;
      if (which == cuda::kComputeCapabilityMajor) *value = compute_major_;
      return result;
    };
    get_ = fake.driver.cuModuleGetFunction;
    fake.driver.cuModuleGetFunction = [](cuda::Function* function, cuda::Module module,
                                         const char* name) {
      reads_ = std::string_view(name) == "read";  // what is launched next
      return get_(function, module, name);
    };
    fake.driver.cuLaunchKernelEx = [](const cuda::LaunchConfig* config, cuda::Function function,
                                      void** parameters, void** extra) {
      if (!idle_) work(*config, parameters[0]);
      return launch_(config, function, parameters, extra);
    };
  }

  static void work(const cuda::LaunchConfig& config, const void* parameter) {
    if (reads_) {
      const auto& args = *static_cast<const ReadCeilingArgs*>(parameter);
      const auto* words = reinterpret_cast<const u32*>(args.data);
      *args.sum += static_cast<u32>(args.chunk_count * kReadChunkBytes / 4) * words[0];
    } else {
      const auto& args = *static_cast<const MultiplyCeilingArgs*>(parameter);
      std::fill_n(args.sums, config.grid_x * config.block_x, 1.5f);
    }
  }

  GpuCeilings measure(double seconds = 1e-6) const {
    const Device device(fake.driver);
    return measure_ceilings(device, Compiler(FakeNvrtc::make()), CubinCache(), seconds);
  }

  inline static decltype(Driver::cuDeviceGetAttribute) ask_ = nullptr;
  inline static decltype(Driver::cuLaunchKernelEx) launch_ = nullptr;
  inline static decltype(Driver::cuModuleGetFunction) get_ = nullptr;
  inline static bool reads_ = false;
  inline static bool idle_ = false;
  inline static int compute_major_ = 9;
  FakeDriver fake;
};

TEST_F(CalibrateTest, DividesWorkByTime) {
  const GpuCeilings ceilings = measure();
  EXPECT_DOUBLE_EQ(ceilings.read_gb_per_s, 32.0 * kL2Bytes / kLaunchUs / 1e3);
  // 2048 passes over 128 x 256 x 256 multiply-adds.
  const double operations = 2.0 * 128 * 256 * 256 * 2048 * kSmCount;
  EXPECT_DOUBLE_EQ(ceilings.fp16_gop_per_s, operations / kLaunchUs / 1e3);
  EXPECT_DOUBLE_EQ(ceilings.bf16_gop_per_s, operations / kLaunchUs / 1e3);
}

// What no kernel of Hopper's measures: FP4 as it is, where there is tensor memory.
TEST_F(CalibrateTest, MultipliesNvfp4WhereThereIsTensorMemory) {
  EXPECT_EQ(measure().nvfp4_gop_per_s, 0);
  compute_major_ = 10;
  const GpuCeilings ceilings = measure();
  EXPECT_EQ(ceilings.compute_major, 10);
  const double operations = 2.0 * 128 * 256 * 256 * 2048 * kSmCount;
  EXPECT_DOUBLE_EQ(ceilings.nvfp4_gop_per_s, operations / kLaunchUs / 1e3);
}

// No ceiling is below what the tensor cores can: whoever passed it would be accused.
TEST(CeilingRates, ArePublishedWhereNoKernelReachesThem) {
  GpuCeilings measured{.compute_major = 9, .fp16_gop_per_s = 800, .bf16_gop_per_s = 810};
  EXPECT_EQ(machine_rates(measured).nvfp4_gop_per_s, 800);
  measured.compute_major = 12;
  EXPECT_EQ(machine_rates(measured).nvfp4_gop_per_s, 8 * 800);
  EXPECT_EQ(machine_rates(measured).fp16_gop_per_s, 800);
  measured.compute_major = 10;
  measured.nvfp4_gop_per_s = 5800;
  EXPECT_EQ(machine_rates(measured).nvfp4_gop_per_s, 5800);
  EXPECT_EQ(machine_rates(measured).fp16_gop_per_s, 1450);
  EXPECT_EQ(machine_rates(measured).bf16_gop_per_s, 1450);
}

TEST_F(CalibrateTest, LaunchesAsTheKernelsExpect) {
  measure();
  unsigned read_grid_max = 0;
  for (const testing::FakeLaunch& launch : fake.launches) {
    EXPECT_EQ(launch.config.block_x, 256U);
    if (launch.config.shared_bytes == 0) {
      read_grid_max = std::max(read_grid_max, launch.config.grid_x);
    } else {
      EXPECT_EQ(launch.config.shared_bytes, 196608U);
      EXPECT_EQ(launch.config.grid_x, 132U);
    }
  }
  EXPECT_EQ(read_grid_max, 132U * 32);
  EXPECT_EQ(fake.handles_out(), 0U);
}

TEST_F(CalibrateTest, TakesMoreLaunchesForMoreSeconds) {
  measure(1e-6);
  const std::size_t few = fake.launches.size();
  measure(0.3);  // 33 launches for each of 12 trials of either multiplication
  EXPECT_GT(fake.launches.size() - few, 2 * 12 * 30U);
}

TEST_F(CalibrateTest, DoesNotBelieveKernelsThatDidNothing) {
  idle_ = true;
  EXPECT_EQ(error_of([&] { measure(); }).rfind("the kernel that measures read bandwidth left", 0),
            0U);
}

TEST(CeilingsSource, IsThatOfTheArchitecture) {
  EXPECT_NE(ceilings_request("sm_90a").source.find("multiply_ceiling"), std::string::npos);
  for (const char* other : {"sm_80", "sm_89", "sm_100a", "sm_120a"}) {
    EXPECT_NE(ceilings_request(other).source.find("sm80::multiply_ceiling"), std::string::npos);
  }
  for (const char* with : {"sm_100a", "sm_103a"}) EXPECT_TRUE(nvfp4_ceiling_request(with)) << with;
  for (const char* without : {"sm_80", "sm_90a", "sm_120a"}) {
    EXPECT_FALSE(nvfp4_ceiling_request(without)) << without;
  }
}

// What the GPU will run, where there is a compiler.
TEST(CeilingsSource, Compiles) {
  const NvrtcLookup found = find_nvrtc({.folders = pip_library_folders(THRESHER_VENV_DIR)});
  if (!found.nvrtc) GTEST_SKIP() << found.why_not;
  const Compiler compiler(*found.nvrtc);
  for (const char* architecture : {"sm_80", "sm_90a"}) {
    if (!compiler.compiles_for(architecture)) GTEST_SKIP() << compiler.version() << " is too old";
    const Compilation compilation = compiler.compile(ceilings_request(architecture));
    ASSERT_EQ(compilation.kernels.size(), 3U);
    for (const KernelResources& kernel : compilation.kernels) {
      EXPECT_FALSE(kernel.spills()) << to_string(kernel);
    }
    EXPECT_TRUE(compilation.notes.empty()) << compilation.notes.front();
  }
}

TEST(CeilingsSource, OfNvfp4Compiles) {
  const NvrtcLookup found = find_nvrtc({.folders = pip_library_folders(THRESHER_VENV_DIR)});
  if (!found.nvrtc) GTEST_SKIP() << found.why_not;
  const Compiler compiler(*found.nvrtc);
  for (const char* architecture : {"sm_100a", "sm_103a"}) {
    if (!compiler.compiles_for(architecture)) GTEST_SKIP() << compiler.version() << " is too old";
    const Compilation compilation = compiler.compile(*nvfp4_ceiling_request(architecture));
    ASSERT_EQ(compilation.kernels.size(), 1U);
    EXPECT_FALSE(compilation.kernels.front().spills()) << to_string(compilation.kernels.front());
    EXPECT_TRUE(compilation.notes.empty()) << compilation.notes.front();
  }
}

}  // namespace
}  // namespace thresher::gpu
