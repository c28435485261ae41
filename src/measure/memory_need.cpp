// SPDX-License-Identifier: Apache-2.0
#include "measure/memory_need.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "gemm/speed_of_light.hpp"
#include "thresher/error.hpp"

namespace thresher::measure {
namespace {

namespace fs = std::filesystem;

constexpr double kGib = 1024.0 * 1024 * 1024;
// Below that, numbers of the kernel's move more than problems need.
constexpr double kNeedBytesMin = 256.0 * 1024 * 1024;

double element_bytes(Output output) { return output == Output::kFp32 ? 4 : 2; }

double activation_bytes(Activations activations) {
  return activations == Activations::kNvfp4 ? kNvfp4BytesPerElement : 2;
}

// Groups without rows have weights too: they are drawn and packed like all others.
double all_weight_bytes(const Problem& problem) {
  double elements = 0;
  for (const Group& group : problem.groups) {
    elements += static_cast<double>(group.n) * static_cast<double>(group.k);
  }
  return elements * kNvfp4BytesPerElement * (problem.op == Op::kDual ? 2 : 1);
}

// Nothing where the file is missing or says "max".
std::optional<double> number_in(const fs::path& path) {
  std::ifstream file(path);
  double number = 0;
  if (!(file >> number)) return std::nullopt;
  return number;
}

std::optional<double> available_bytes(const fs::path& root) {
  std::ifstream file(root / "proc/meminfo");
  std::string name;
  double kib = 0;
  for (std::string unit; file >> name >> kib; std::getline(file, unit)) {
    if (name == "MemAvailable:") return 1024 * kib;
  }
  return std::nullopt;
}

// The control groups of this process, from /proc/self/cgroup: "0::/user/job", "5:memory:/job".
std::vector<fs::path> memory_groups(const fs::path& root) {
  std::vector<fs::path> groups;
  std::ifstream file(root / "proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool is_memory = ("," + controllers + ",").find(",memory,") != std::string::npos;
    if (!controllers.empty() && !is_memory) continue;
    const fs::path base = root / (is_memory ? "sys/fs/cgroup/memory" : "sys/fs/cgroup");
    // A limit of any group above counts as well; a container shows its own group as the root.
    for (fs::path path = line.substr(second + 1);; path = path.parent_path()) {
      groups.push_back(base / path.relative_path());
      if (!path.has_relative_path()) break;
    }
  }
  return groups;
}

// What a group may still take. Caches of files count as used there, but are given up in need.
std::optional<double> left_in(const fs::path& group) {
  std::optional<double> limit = number_in(group / "memory.max");
  std::optional<double> used = number_in(group / "memory.current");
  if (!limit) limit = number_in(group / "memory.limit_in_bytes");
  if (!used) used = number_in(group / "memory.usage_in_bytes");
  if (!limit || !used) return std::nullopt;
  std::ifstream file(group / "memory.stat");
  std::string name;
  double bytes = 0;
  double caches = 0;
  while (file >> name >> bytes) {
    if (name == "inactive_file" || name == "active_file") caches += bytes;
  }
  return std::max(0.0, *limit - *used + caches);
}

std::string gib_text(double bytes) {
  return bytes < 0.1 * kGib ? fmt::format("{:.0f} MiB", 1024 * bytes / kGib)
                            : fmt::format("{:.1f} GiB", bytes / kGib);
}

std::string extents_text(const Problem& problem) {
  const Group& group = problem.groups.front();
  std::int64_t rows = 0;
  for (const Group& one : problem.groups) rows += one.m;
  return fmt::format("{}, {} group{} with {} rows, n = {}, k = {}", to_string(problem.op),
                     problem.groups.size(), problem.groups.size() == 1 ? "" : "s", rows, group.n,
                     group.k);
}

}  // namespace

double input_bytes(const Problem& problem) {
  double elements = 0;
  for (const Group& group : problem.groups) {
    elements += static_cast<double>(group.m) * static_cast<double>(group.k);
  }
  return all_weight_bytes(problem) + elements * activation_bytes(problem.activations);
}

double packed_bytes(const Problem& problem) { return all_weight_bytes(problem); }

double output_bytes(const Problem& problem) {
  double elements = 0;
  for (const Group& group : problem.groups) {
    elements += static_cast<double>(group.m) * static_cast<double>(group.n);
  }
  return elements * element_bytes(problem.output);
}

double usable_memory_bytes(const fs::path& root) {
  double usable = available_bytes(root).value_or(std::numeric_limits<double>::infinity());
  for (const fs::path& group : memory_groups(root)) {
    usable = std::min(usable, left_in(group).value_or(usable));
  }
  return usable;
}

void check_fits(const Problem& problem, double needed_bytes, double usable_bytes) {
  if (needed_bytes < kNeedBytesMin || needed_bytes <= usable_bytes) return;
  throw Error(fmt::format(
      "not enough memory for problem '{}' ({}): it takes at least {}, and {} are free; choose a "
      "smaller one, or stop what else is running",
      problem.name, extents_text(problem), gib_text(needed_bytes), gib_text(usable_bytes)));
}

}  // namespace thresher::measure
