// SPDX-License-Identifier: Apache-2.0
#include "tank/pitch/claim_reader.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "assert.hpp"

namespace thresher {
namespace {

constexpr std::array<std::string_view, 3> kClaimKeys = {"value", "low", "high"};
// Beyond it nobody means what they wrote, and sums of logarithms stay far from infinity.
constexpr double kSpeedupMax = 1e6;

// Rounding must not put it outside: then low = high would be no range.
double geometric_middle(double low, double high) {
  return std::min(std::max(std::sqrt(low) * std::sqrt(high), low), high);
}

}  // namespace

std::optional<Claim> ClaimReader::read(const toml::node& node, std::string_view what) {
  if (const toml::table* table = node.as_table()) return read_range(*table, what);
  if (!node.is_number()) {
    toml_.note(
        node, fmt::format("{} is {}; a number or a table with value, low and high is allowed", what,
                          describe_type(node)));
    return std::nullopt;
  }
  const std::optional<double> value = read_speedup(node, std::string(what));
  if (!value) return std::nullopt;
  return Claim{*value, *value, *value};
}

std::optional<double> ClaimReader::read_speedup(const toml::node& node, const std::string& what) {
  if (!node.is_number()) {
    toml_.note(node, fmt::format("{} is {}; a number is allowed", what, describe_type(node)));
    return std::nullopt;
  }
  const double value = node.is_integer() ? static_cast<double>(node.as_integer()->get())
                                         : node.as_floating_point()->get();
  if (value > 0 && value <= kSpeedupMax) return value;
  toml_.note(node, fmt::format("{} = {} is no speedup; a number above 0 and up to {} is allowed",
                               what, value, kSpeedupMax));
  return std::nullopt;
}

std::optional<Claim> ClaimReader::read_range(const toml::table& table, std::string_view what) {
  toml_.check_keys(table, kClaimKeys, "a claim");
  std::array<std::optional<double>, 3> parts;
  for (std::size_t i = 0; i < kClaimKeys.size(); ++i) {
    const toml::node* node = table.get(kClaimKeys[i]);
    if (node == nullptr) continue;
    parts[i] = read_speedup(*node, fmt::format("{}.{}", what, kClaimKeys[i]));
    if (!parts[i]) return std::nullopt;
  }
  const auto& [value, low, high] = parts;
  if (!value && (!low || !high)) {
    toml_.note(table, fmt::format("{} has neither a value nor both low and high", what));
    return std::nullopt;
  }
  const double middle = value ? *value : geometric_middle(*low, *high);
  const Claim claim{middle, low.value_or(middle), high.value_or(middle)};
  if (claim.low <= claim.value && claim.value <= claim.high) return claim;
  toml_.note(table, fmt::format("{} has low = {}, value = {}, high = {}; low <= value <= high is "
                                "allowed",
                                what, claim.low, claim.value, claim.high));
  return std::nullopt;
}

std::map<std::string, Claim> ClaimReader::read_by_problem(const toml::node& node,
                                                          const std::optional<Suite>& suite) {
  std::map<std::string, Claim> claims;
  const toml::table* table = node.as_table();
  if (table == nullptr) {
    toml_.note(node, fmt::format("claim_by_problem is {}; a table with one claim per problem is "
                                 "allowed",
                                 describe_type(node)));
    return claims;
  }
  for (const auto& [key, value] : *table) {
    if (suite) check_is_problem(key, *suite);
    const std::optional<Claim> claim =
        read(value, fmt::format("the claim of {}", quote_value(key.str())));
    if (claim) claims.emplace(key.str(), *claim);
  }
  return claims;
}

void ClaimReader::check_is_problem(const toml::key& key, const Suite& suite) {
  std::vector<std::string> names;
  for (const Problem& problem : suite.problems) names.push_back(problem.name);
  if (std::find(names.begin(), names.end(), key.str()) != names.end()) return;
  toml_.note(key.source().begin,
             fmt::format("{} is no problem of suite {}; it has {}", quote_value(key.str()),
                         suite.name, fmt::join(names, ", ")));
}

Claim geomean(const std::map<std::string, Claim>& claims) {
  THRESHER_ASSERT(!claims.empty());
  Claim logs{0, 0, 0};
  for (const auto& [problem, claim] : claims) {
    logs.value += std::log(claim.value);
    logs.low += std::log(claim.low);
    logs.high += std::log(claim.high);
  }
  const auto count = static_cast<double>(claims.size());
  return {std::exp(logs.value / count), std::exp(logs.low / count), std::exp(logs.high / count)};
}

}  // namespace thresher
