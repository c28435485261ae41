// SPDX-License-Identifier: Apache-2.0
// How a CUDA source of a pitch is launched: [[contestant.launch]], [[contestant.prepare]] and the
// memory they want. docs/contestants.md says what the kernels are given.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "referee/contestant/cuda_launches.hpp"
#include "tank/pitch/toml_reader.hpp"

namespace thresher {

class CudaLaunchReader {
 public:
  // What a contestant with a CUDA source has besides it.
  static constexpr std::array<std::string_view, 4> kKeys = {"launch", "prepare", "workspace_bytes",
                                                            "packed_bytes"};

  explicit CudaLaunchReader(TomlReader& toml) : toml_(toml) {}

  CudaLaunches read(const toml::table& contestant);

 private:
  std::vector<CudaLaunch> read_launches(const toml::table& contestant, std::string_view key);
  CudaLaunch read_launch(const toml::table& table, std::string_view what);
  std::vector<std::string> read_extents(const toml::table& table, std::string_view key);
  // An integer, or a string such as "ceil_div(n, 128) * groups".
  std::string read_expression(const toml::node& node, std::string_view what);
  std::string read_bytes(const toml::table& table, std::string_view key);

  TomlReader& toml_;
};

}  // namespace thresher
