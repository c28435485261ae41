// SPDX-License-Identifier: Apache-2.0
#include "tank/season/score_sheet.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "tank/panel/ballot.hpp"
#include "thresher/error.hpp"

namespace thresher {
namespace {

using Json = nlohmann::json;

double written_total(const ScoreSheet& sheet) {
  const std::string& text = sheet.total_as_written;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) {
    throw Error(fmt::format("the total {:?} is no number", text));
  }
  return value;
}

// Half a unit of the last digit written.
double rounding_of(const std::string& total) {
  const std::size_t point = total.find('.');
  const std::size_t decimals = point == std::string::npos ? 0 : total.size() - point - 1;
  return 0.5 * std::pow(10.0, -static_cast<double>(decimals));
}

const Json& field(const Json& data, const char* name) {
  const auto found = data.find(name);
  if (found == data.end()) throw Error(fmt::format("{}: missing", name));
  return *found;
}

}  // namespace

double recomputed_total(const ScoreSheet& sheet) {
  const double sum =
      weighted_score({.shark = sheet.shark, .pitch = sheet.pitch, .scores = sheet.scores},
                     {.name = "", .weights = sheet.weights});
  // Decimal fractions are not exact in binary; their sum is, to a millionth.
  return std::round(sum * 1e6) / 1e6;
}

bool is_wrong(const ScoreSheet& sheet) {
  // 8.75 may be written as 8.7 or as 8.8: half a unit is still right.
  constexpr double kBinaryRounding = 1e-9;
  return std::abs(written_total(sheet) - recomputed_total(sheet)) >
         rounding_of(sheet.total_as_written) + kBinaryRounding;
}

std::string describe(const ScoreSheet& sheet) {
  std::vector<std::pair<double, std::string>> dimensions;
  for (const auto& [dimension, weight] : sheet.weights) dimensions.emplace_back(-weight, dimension);
  std::sort(dimensions.begin(), dimensions.end());
  std::vector<std::string> terms;
  for (const auto& [negative_weight, dimension] : dimensions) {
    terms.push_back(fmt::format("{}*{:.2f}", sheet.scores.at(dimension), -negative_weight));
  }
  return fmt::format("{} = {:.2f}, {} {}", fmt::join(terms, " + "), recomputed_total(sheet),
                     is_wrong(sheet) ? "not" : "written as", sheet.total_as_written);
}

nlohmann::json sheet_entry(const ScoreSheet& sheet) {
  return {{"round", sheet.round},
          {"shark", sheet.shark},
          {"pitch", sheet.pitch},
          {"scores", sheet.scores},
          {"weights", sheet.weights},
          {"total_on_sheet", written_total(sheet)},
          {"total_as_written", sheet.total_as_written},
          {"total_recomputed", recomputed_total(sheet)},
          {"wrong", is_wrong(sheet)}};
}

ScoreSheet sheet_from_entry(const LedgerEntry& entry) {
  try {
    return {.round = field(entry.data, "round").get<int>(),
            .shark = field(entry.data, "shark").get<std::string>(),
            .pitch = field(entry.data, "pitch").get<std::string>(),
            .scores = field(entry.data, "scores").get<std::map<std::string, double>>(),
            .weights = field(entry.data, "weights").get<std::map<std::string, double>>(),
            .total_as_written = field(entry.data, "total_as_written").get<std::string>()};
  } catch (const std::exception& error) {  // ours, or a value of another type
    throw Error(fmt::format("ledger entry {}: sheet: {}", entry.id, error.what()));
  }
}

std::vector<ScoreSheet> wrong_sheets(const Ledger& ledger, const std::string& season) {
  std::vector<ScoreSheet> wrong;
  for (const LedgerEntry& entry : ledger.entries(season, "sheet")) {
    ScoreSheet sheet = sheet_from_entry(entry);
    if (is_wrong(sheet)) wrong.push_back(std::move(sheet));
  }
  return wrong;
}

}  // namespace thresher
