// SPDX-License-Identifier: Apache-2.0
#include "gpu/runtime/device_report.hpp"

#include <gtest/gtest.h>

#include "gpu/runtime/fake_driver.hpp"
#include "gpu/runtime/fake_nvrtc.hpp"

namespace thresher::gpu {
namespace {

using testing::FakeDriver;
using testing::FakeNvrtc;

std::vector<std::string> names_of(const std::vector<ReportLine>& lines) {
  std::vector<std::string> names;
  for (const ReportLine& line : lines) names.push_back(line.name);
  return names;
}

TEST(DeviceReport, TellsWhatIsThere) {
  FakeDriver fake;
  const std::vector<ReportLine> lines =
      device_report({.driver = &fake.driver}, {.nvrtc = FakeNvrtc::make()});
  ASSERT_EQ(names_of(lines), (std::vector<std::string>{"GPU driver", "GPU 0", "GPU 0 memory",
                                                       "GPU 0 clocks", "GPU compiler"}));
  EXPECT_NE(lines[0].value.find("for CUDA 13.0 (the fake driver)"), std::string::npos);
  EXPECT_EQ(lines[1].value, "Fake H200 (sm_90a), 132 SMs");
  EXPECT_EQ(lines[2].value, "143771 MiB, L2 60 MiB, shared 228 KiB per SM and 227 KiB per block");
  EXPECT_EQ(lines[3].value, "at most 1980 MHz, memory 3201 MHz on 6144 bits");
  EXPECT_EQ(lines[4].value, "NVRTC 13.0, up to sm_100 (the fake compiler)");
  for (const ReportLine& line : lines) EXPECT_TRUE(line.good) << line.name;
}

TEST(DeviceReport, TellsWhatIsMissing) {
  const std::vector<ReportLine> lines =
      device_report({.why_not = "no driver; get one"}, {.why_not = "no compiler; get one"});
  ASSERT_EQ(names_of(lines), (std::vector<std::string>{"GPU driver", "GPU compiler"}));
  EXPECT_EQ(lines[0].value, "no driver; get one");
  EXPECT_EQ(lines[1].value, "no compiler; get one");
  for (const ReportLine& line : lines) EXPECT_FALSE(line.good);
}

TEST(DeviceReport, GoesOnAfterADeviceThatFails) {
  FakeDriver fake;
  fake.device_count = 2;
  fake.failures["cuDeviceTotalMem"] = cuda::kUnknown;
  const std::vector<ReportLine> lines =
      device_report({.driver = &fake.driver}, {.why_not = "none"});
  ASSERT_EQ(names_of(lines),
            (std::vector<std::string>{"GPU driver", "GPU 0", "GPU 1", "GPU compiler"}));
  EXPECT_FALSE(lines[1].good);
  EXPECT_EQ(lines[1].value.rfind("cuDeviceTotalMem failed: CUDA result 999", 0), 0U);
}

// The machine at hand, whatever it has: never a crash.
TEST(DeviceReport, WorksHere) { EXPECT_GE(device_report(find_driver(), find_nvrtc()).size(), 2U); }

}  // namespace
}  // namespace thresher::gpu
