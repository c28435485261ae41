// SPDX-License-Identifier: Apache-2.0
#include "referee/contestant/cuda_launches.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "referee/contestant/cuda_expression.hpp"
#include "thresher/error.hpp"

namespace thresher {
namespace {

using referee::LaunchExpression;
using referee::LaunchValues;
using Json = nlohmann::json;

constexpr std::size_t kLaunchesMax = 64;
constexpr std::size_t kKernelNameMax = 200;
constexpr std::int64_t kMemoryBytesMax = std::int64_t{1} << 40;

// What CUDA takes at most.
constexpr std::array<std::int64_t, 3> kGridMax = {(std::int64_t{1} << 31) - 1, 65535, 65535};
constexpr std::array<std::int64_t, 3> kBlockMax = {1024, 1024, 64};
constexpr std::array<std::int64_t, 3> kClusterMax = {16, 16, 16};
constexpr std::int64_t kSharedBytesMax = 1 << 20;

bool is_name(std::string_view text) {
  const auto belongs = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  return !text.empty() && text.size() <= kKernelNameMax &&
         std::all_of(text.begin(), text.end(), belongs);
}

void check_extents(const std::vector<std::string>& extents, std::size_t count_min,
                   const char* what) {
  if (extents.size() < count_min || extents.size() > 3) {
    throw Error(
        fmt::format("{} has {} extents; {} to 3 are allowed", what, extents.size(), count_min));
  }
  for (const std::string& extent : extents) LaunchExpression{extent};
}

void check_launch(const CudaLaunch& launch) {
  if (!is_name(launch.kernel)) {
    throw Error("kernel must be the name of an extern \"C\" __global__ function");
  }
  check_extents(launch.grid, 1, "grid");
  check_extents(launch.block, 1, "block");
  check_extents(launch.cluster, 0, "cluster");
  LaunchExpression{launch.shared_bytes};
}

// Runs `visit` on each launch; errors say which it was.
template <typename Visit>
void for_each(const std::vector<CudaLaunch>& launches, const char* what, Visit visit) {
  for (std::size_t i = 0; i < launches.size(); ++i) {
    try {
      visit(launches[i]);
    } catch (const Error& error) {
      throw Error(fmt::format("{} {}: {}", what, i, error.what()));
    }
  }
}

std::int64_t bytes_of(const std::string& text, const LaunchValues& values, const char* what) {
  const std::int64_t bytes = LaunchExpression(text).evaluate(values);
  if (bytes <= kMemoryBytesMax) return bytes;
  throw Error(fmt::format("{} is {}, more than {}", what, bytes, kMemoryBytesMax));
}

gpu::Dim3 dim_of(const std::vector<std::string>& extents, const LaunchValues& values,
                 const std::array<std::int64_t, 3>& limits, const char* what) {
  std::array<unsigned, 3> result = {1, 1, 1};
  for (std::size_t i = 0; i < extents.size(); ++i) {
    const std::int64_t value = LaunchExpression(extents[i]).evaluate(values);
    if (value > limits[i]) {
      throw Error(fmt::format("{}[{}] is {}, more than {}", what, i, value, limits[i]));
    }
    result[i] = static_cast<unsigned>(value);
  }
  return {.x = result[0], .y = result[1], .z = result[2]};
}

gpu::LaunchShape shape_of(const CudaLaunch& launch, const LaunchValues& values) {
  gpu::LaunchShape shape{.grid = dim_of(launch.grid, values, kGridMax, "grid"),
                         .block = dim_of(launch.block, values, kBlockMax, "block"),
                         .cluster = dim_of(launch.cluster, values, kClusterMax, "cluster")};
  if (shape.block.count() == 0 || shape.block.count() > 1024) {
    throw Error(fmt::format("a block of {} threads; 1 to 1024 are allowed", shape.block.count()));
  }
  if (shape.cluster.count() == 0) throw Error("a cluster of no blocks");
  const std::int64_t shared_bytes = LaunchExpression(launch.shared_bytes).evaluate(values);
  if (shared_bytes > kSharedBytesMax) {
    throw Error(fmt::format("shared_bytes is {}, more than any device has", shared_bytes));
  }
  shape.shared_bytes = static_cast<unsigned>(shared_bytes);
  return shape;
}

std::vector<referee::PlannedLaunch> planned(const std::vector<CudaLaunch>& launches,
                                            const LaunchValues& values, const char* what) {
  std::vector<referee::PlannedLaunch> result;
  for_each(launches, what, [&](const CudaLaunch& launch) {
    const gpu::LaunchShape shape = shape_of(launch, values);
    if (shape.grid.count() != 0) result.push_back({.kernel = launch.kernel, .shape = shape});
  });
  return result;
}

Json to_json(const std::vector<CudaLaunch>& launches) {
  Json json = Json::array();
  for (const CudaLaunch& one : launches) {
    json.push_back({one.kernel, one.grid, one.block, one.cluster, one.shared_bytes});
  }
  return json;
}

std::vector<CudaLaunch> launches_from(const Json& json) {
  std::vector<CudaLaunch> launches;
  for (const Json& one : json) {
    launches.push_back({.kernel = one.at(0).get<std::string>(),
                        .grid = one.at(1).get<std::vector<std::string>>(),
                        .block = one.at(2).get<std::vector<std::string>>(),
                        .cluster = one.at(3).get<std::vector<std::string>>(),
                        .shared_bytes = one.at(4).get<std::string>()});
  }
  return launches;
}

}  // namespace

void check(const CudaLaunches& launches) {
  if (launches.launches.empty()) {
    throw Error("a CUDA source needs at least one launch: kernel, grid and block");
  }
  if (launches.launches.size() + launches.prepare.size() > kLaunchesMax) {
    throw Error(fmt::format("more than {} launches", kLaunchesMax));
  }
  for_each(launches.launches, "launch", check_launch);
  for_each(launches.prepare, "prepare launch", check_launch);
  LaunchExpression{launches.packed_bytes};
  LaunchExpression{launches.workspace_bytes};
}

std::string to_text(const CudaLaunches& launches) {
  return Json{{"launches", to_json(launches.launches)},
              {"prepare", to_json(launches.prepare)},
              {"packed_bytes", launches.packed_bytes},
              {"workspace_bytes", launches.workspace_bytes}}
      .dump(-1, ' ', true, Json::error_handler_t::replace);
}

CudaLaunches cuda_launches_from_text(std::string_view text) {
  try {
    const Json json = Json::parse(text);
    return {.launches = launches_from(json.at("launches")),
            .prepare = launches_from(json.at("prepare")),
            .packed_bytes = json.at("packed_bytes").get<std::string>(),
            .workspace_bytes = json.at("workspace_bytes").get<std::string>()};
  } catch (const Json::exception& error) {
    throw Error(fmt::format("the launch description cannot be read: {}", error.what()));
  }
}

referee::CudaLaunchPlan referee::plan_launches(const CudaLaunches& launches, const Problem& problem,
                                               int sm_count) {
  thresher::check(launches);
  LaunchValues values{.groups = static_cast<std::int64_t>(problem.groups.size()),
                      .sm_count = sm_count};
  for (const Group& group : problem.groups) {
    values.m = std::max(values.m, group.m);
    values.n = std::max(values.n, group.n);
    values.k = std::max(values.k, group.k);
    values.m_sum += group.m;
  }
  return {.launches = planned(launches.launches, values, "launch"),
          .prepare = planned(launches.prepare, values, "prepare launch"),
          .packed_bytes = bytes_of(launches.packed_bytes, values, "packed_bytes"),
          .workspace_bytes = bytes_of(launches.workspace_bytes, values, "workspace_bytes")};
}

}  // namespace thresher
