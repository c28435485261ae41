// SPDX-License-Identifier: Apache-2.0
#include "gpu/runtime/nvml.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "gpu/runtime/error_of.hpp"
#include "gpu/runtime/fake_driver.hpp"

namespace thresher::gpu {
namespace {

using testing::error_of;
using testing::FakeDriver;

constexpr const char* kBusId = "0000:1B:00.0";

// An NVML made of our own functions, about one GPU under load.
class NvmlTest : public ::testing::Test {
 protected:
  NvmlTest() {
    results_.clear();
    reasons_ = 0;
    nvml.nvmlInit = [] { return results_["nvmlInit"]; };
    nvml.nvmlErrorString = [](NvmlResult result) {
      return result == 6 ? "Not Found" : "Unknown Error";
    };
    nvml.nvmlDeviceGetHandleByPciBusId = [](const char* id, NvmlDevice* device) {
      *device = reinterpret_cast<NvmlDevice>(7);
      return std::strcmp(id, kBusId) == 0 ? kNvmlSuccess : 6;
    };
    nvml.nvmlDeviceGetClockInfo = [](NvmlDevice device, NvmlClock clock, unsigned* mhz) {
      EXPECT_EQ(device, reinterpret_cast<NvmlDevice>(7));
      *mhz = clock == kNvmlSmClock ? 1410 : 3201;
      return results_["clock"];
    };
    nvml.nvmlDeviceGetPowerUsage = [](NvmlDevice, unsigned* milliwatts) {
      if (results_["power"] == kNvmlSuccess) *milliwatts = 699500;
      return results_["power"];
    };
    nvml.nvmlDeviceGetTemperature = [](NvmlDevice, NvmlSensor sensor, unsigned* celsius) {
      EXPECT_EQ(sensor, kNvmlGpuSensor);
      *celsius = 61;
      return results_["temperature"];
    };
    nvml.nvmlDeviceGetCurrentClocksEventReasons = [](NvmlDevice, unsigned long long* bits) {
      *bits = reasons_;
      return results_["reasons"];
    };
  }

  inline static std::map<std::string, NvmlResult> results_;
  inline static unsigned long long reasons_ = 0;
  Nvml nvml;
};

TEST_F(NvmlTest, ReadsClocksPowerAndTemperature) {
  const GpuClocks clocks = read_clocks(nvml, kBusId);
  EXPECT_EQ(clocks.sm_mhz, 1410);
  EXPECT_EQ(clocks.memory_mhz, 3201);
  EXPECT_DOUBLE_EQ(clocks.watts, 699.5);
  EXPECT_EQ(clocks.celsius, 61);
  EXPECT_TRUE(clocks.throttle_reasons.empty());
}

TEST_F(NvmlTest, TellsReasonsInWords) {
  reasons_ = 0x4 | 0x40 | 0x3000;
  EXPECT_EQ(read_clocks(nvml, kBusId).throttle_reasons,
            (std::vector<std::string>{"power cap", "hardware thermal slowdown",
                                      "unknown reason 0x3000"}));
  reasons_ = 0x1;
  EXPECT_EQ(read_clocks(nvml, kBusId).throttle_reasons, std::vector<std::string>{"idle"});
}

TEST_F(NvmlTest, LeavesOutWhatTheGpuDoesNotTell) {
  results_["power"] = kNvmlNotSupported;
  EXPECT_EQ(read_clocks(nvml, kBusId).watts, 0.0);
  EXPECT_EQ(read_clocks(nvml, kBusId).sm_mhz, 1410);
}

TEST_F(NvmlTest, SaysWhatFailed) {
  EXPECT_EQ(error_of([&] { read_clocks(nvml, "0000:FF:00.0"); }),
            "nvmlDeviceGetHandleByPciBusId(0000:FF:00.0) failed: Not Found; look at nvidia-smi");
  results_["temperature"] = 999;
  EXPECT_EQ(error_of([&] { read_clocks(nvml, kBusId); }),
            "nvmlDeviceGetTemperature failed: Unknown Error; look at nvidia-smi");
  results_["nvmlInit"] = 999;
  EXPECT_EQ(start_nvml(nvml), "no usable NVML: nvmlInit failed: Unknown Error; look at nvidia-smi");
}

TEST(OpenNvml, SaysWhatIsMissing) {
  Nvml nvml;
  EXPECT_EQ(open_nvml("libthresher_no_such.so", nvml),
            "no NVML: libthresher_no_such.so does not open; it comes with the NVIDIA driver");
  EXPECT_EQ(open_nvml("libm.so.6", nvml),
            "no usable NVML: libm.so.6 has no nvmlInit_v2; update the NVIDIA driver");
}

// With or without NVML on this machine: one of the two.
TEST(FindNvml, GivesNvmlOrASentence) {
  EXPECT_NE(find_nvml().nvml != nullptr, !find_nvml().why_not.empty());
}

TEST(PciBusId, IsTheDrivers) {
  FakeDriver fake;
  const Device device(fake.driver);
  fake.driver.cuDeviceGetPCIBusId = [](char* id, int bytes, cuda::DeviceHandle) {
    std::strncpy(id, kBusId, static_cast<std::size_t>(bytes));
    return cuda::kSuccess;
  };
  EXPECT_EQ(pci_bus_id(device), kBusId);
  fake.driver.cuDeviceGetPCIBusId = nullptr;
  EXPECT_EQ(error_of([&] { pci_bus_id(device); }),
            "the fake driver has no cuDeviceGetPCIBusId, so NVML's devices cannot be matched");
}

}  // namespace
}  // namespace thresher::gpu
