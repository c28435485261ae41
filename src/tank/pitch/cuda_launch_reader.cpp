// SPDX-License-Identifier: Apache-2.0
#include "tank/pitch/cuda_launch_reader.hpp"

#include <fmt/format.h>

#include "referee/contestant/cuda_expression.hpp"
#include "thresher/error.hpp"

namespace thresher {
namespace {

constexpr std::array<std::string_view, 5> kLaunchKeys = {"kernel", "grid", "block", "cluster",
                                                         "shared_bytes"};
constexpr std::string_view kNothing = "0";

}  // namespace

CudaLaunches CudaLaunchReader::read(const toml::table& contestant) {
  CudaLaunches launches{.launches = read_launches(contestant, kKeys[0]),
                        .prepare = read_launches(contestant, kKeys[1]),
                        .packed_bytes = read_bytes(contestant, kKeys[3]),
                        .workspace_bytes = read_bytes(contestant, kKeys[2])};
  if (!toml_.ok()) return launches;
  try {
    check(launches);
  } catch (const Error& error) {
    toml_.note(contestant, error.what());
  }
  return launches;
}

std::vector<CudaLaunch> CudaLaunchReader::read_launches(const toml::table& contestant,
                                                        std::string_view key) {
  const toml::node* nodes = contestant.get(key);
  if (nodes == nullptr) return {};
  if (!nodes->is_array_of_tables()) {
    toml_.note(*nodes, fmt::format("{} is {}; [[contestant.{}]] tables with kernel, grid and block "
                                   "are allowed",
                                   key, describe_type(*nodes), key));
    return {};
  }
  std::vector<CudaLaunch> launches;
  for (const toml::node& node : *nodes->as_array()) {
    launches.push_back(read_launch(*node.as_table(), key));
  }
  return launches;
}

CudaLaunch CudaLaunchReader::read_launch(const toml::table& table, std::string_view what) {
  toml_.check_keys(table, kLaunchKeys, fmt::format("a {}", what));
  for (const std::string_view needed : {kLaunchKeys[0], kLaunchKeys[1], kLaunchKeys[2]}) {
    if (!table.contains(needed)) toml_.note(table, fmt::format("the {} has no {}", what, needed));
  }
  return {.kernel = toml_.read_line(table, "kernel").value_or(""),
          .grid = read_extents(table, "grid"),
          .block = read_extents(table, "block"),
          .cluster = read_extents(table, "cluster"),
          .shared_bytes = read_bytes(table, "shared_bytes")};
}

// One value, or an array of one to three.
std::vector<std::string> CudaLaunchReader::read_extents(const toml::table& table,
                                                        std::string_view key) {
  const toml::node* node = table.get(key);
  if (node == nullptr) return {};
  const toml::array* array = node->as_array();
  if (array == nullptr) return {read_expression(*node, key)};
  std::vector<std::string> extents;
  for (const toml::node& extent : *array) extents.push_back(read_expression(extent, key));
  return extents;
}

std::string CudaLaunchReader::read_expression(const toml::node& node, std::string_view what) {
  if (const toml::value<std::int64_t>* number = node.as_integer()) {
    if (number->get() >= 0) return fmt::format("{}", number->get());
    toml_.note(node, fmt::format("{} = {} is negative", what, number->get()));
    return std::string(kNothing);
  }
  if (!node.is_string()) {
    toml_.note(node, fmt::format("{} is {}; an integer or a string such as \"ceil_div(n, 128) * "
                                 "groups\" is allowed",
                                 what, describe_type(node)));
    return std::string(kNothing);
  }
  const std::string text = toml_.line_of(node, what).value_or(std::string(kNothing));
  try {
    referee::LaunchExpression{text};
  } catch (const Error& error) {
    toml_.note(node, fmt::format("{}: {}", what, error.what()));
  }
  return text;
}

std::string CudaLaunchReader::read_bytes(const toml::table& table, std::string_view key) {
  const toml::node* node = table.get(key);
  return node == nullptr ? std::string(kNothing) : read_expression(*node, key);
}

}  // namespace thresher
