// SPDX-License-Identifier: Apache-2.0
#include "gpu/runtime/device_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "gpu/runtime/compiler.hpp"

namespace thresher::gpu {
namespace {

constexpr double kMebibyte = 1 << 20;
constexpr double kKibibyte = 1 << 10;
constexpr double kKhzPerMhz = 1000;

double in_units(std::size_t bytes, double unit) { return static_cast<double>(bytes) / unit; }

// The kernel module's own version, "580.159.04"; CUDA's is all that libcuda tells.
std::string kernel_module_version() {
  std::ifstream file("/proc/driver/nvidia/version");
  std::string line;
  std::getline(file, line);
  std::istringstream words(line);
  std::string word;
  while (words >> word) {
    const bool digits_and_dots = word.find_first_not_of("0123456789.") == std::string::npos;
    if (digits_and_dots && word.find('.') != std::string::npos) return word;
  }
  return {};
}

ReportLine driver_line(const Driver& driver) {
  const std::string module_version = kernel_module_version();
  const std::string cuda = cuda_version_text(driver_version(driver));
  return {"GPU driver", module_version.empty() ? fmt::format("for CUDA {} ({})", cuda, driver.file)
                                               : fmt::format("{}, for CUDA {} ({})", module_version,
                                                             cuda, driver.file)};
}

std::string clocks_text(const DeviceProperties& device) {
  if (device.clock_khz == 0) return "not stated by this driver";
  std::string text = fmt::format("at most {:.0f} MHz", device.clock_khz / kKhzPerMhz);
  if (device.memory_clock_khz == 0) return text;
  return text + fmt::format(", memory {:.0f} MHz on {} bits", device.memory_clock_khz / kKhzPerMhz,
                            device.memory_bus_bits);
}

void add_device(std::vector<ReportLine>& lines, const Driver& driver, int index) {
  const std::string name = fmt::format("GPU {}", index);
  try {
    const DeviceProperties device = device_properties(driver, index);
    lines.push_back({name, fmt::format("{} ({}), {} SMs", device.name, device.architecture(),
                                       device.sm_count)});
    lines.push_back(
        {name + " memory",
         fmt::format("{:.0f} MiB, L2 {:.0f} MiB, shared {:.0f} KiB per SM and {:.0f} KiB per block",
                     in_units(device.memory_bytes, kMebibyte), in_units(device.l2_bytes, kMebibyte),
                     in_units(device.shared_bytes_per_sm, kKibibyte),
                     in_units(device.shared_bytes_per_block_max, kKibibyte))});
    lines.push_back({name + " clocks", clocks_text(device)});
  } catch (const Error& error) {
    lines.push_back({name, error.what(), false});
  }
}

ReportLine compiler_line(const NvrtcLookup& nvrtc) {
  if (!nvrtc.nvrtc.has_value()) return {"GPU compiler", nvrtc.why_not, false};
  try {
    const Compiler compiler(*nvrtc.nvrtc);
    const std::vector<int>& known = compiler.architectures();
    const int newest = known.empty() ? 0 : *std::max_element(known.begin(), known.end());
    return {"GPU compiler",
            fmt::format("{}, up to sm_{} ({})", compiler.version(), newest, compiler.file())};
  } catch (const Error& error) {
    return {"GPU compiler", error.what(), false};
  }
}

}  // namespace

std::vector<ReportLine> device_report(const DriverLookup& lookup, const NvrtcLookup& nvrtc) {
  std::vector<ReportLine> lines;
  if (lookup.driver == nullptr) {
    lines.push_back({"GPU driver", lookup.why_not, false});
  } else {
    lines.push_back(driver_line(*lookup.driver));
    try {
      const int count = device_count(*lookup.driver);
      for (int index = 0; index < count; ++index) add_device(lines, *lookup.driver, index);
    } catch (const Error& error) {
      lines.push_back({"GPU", error.what(), false});
    }
  }
  lines.push_back(compiler_line(nvrtc));
  return lines;
}

std::string machine_class(const DeviceProperties& device) {
  return fmt::format("{}, {} SMs, up to {:.2f} GHz", device.name, device.sm_count,
                     device.clock_khz / 1e6);
}

}  // namespace thresher::gpu
