// SPDX-License-Identifier: Apache-2.0
// Predicted speedups as people write them: a number, or a table with value, low and high.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "gemm/suite.hpp"
#include "tank/pitch/pitch.hpp"
#include "tank/pitch/toml_reader.hpp"

namespace thresher {

class ClaimReader {
 public:
  explicit ClaimReader(TomlReader& toml) : toml_(toml) {}

  // `what` names the claim in faults. Without a value, the geometric middle of low and high.
  std::optional<Claim> read(const toml::node& node, std::string_view what);

  // One claim per problem; those that name no problem of `suite` are faults.
  std::map<std::string, Claim> read_by_problem(const toml::node& node,
                                               const std::optional<Suite>& suite);

 private:
  std::optional<double> read_speedup(const toml::node& node, const std::string& what);
  std::optional<Claim> read_range(const toml::table& table, std::string_view what);
  void check_is_problem(const toml::key& key, const Suite& suite);

  TomlReader& toml_;
};

// Of value, low and high each. There must be at least one claim.
Claim geomean(const std::map<std::string, Claim>& claims);

}  // namespace thresher
