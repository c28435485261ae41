// SPDX-License-Identifier: Apache-2.0
#include "report/values.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace thresher::report {
namespace {

using Json = nlohmann::json;

constexpr double kRoundMax = 1e6;  // no season is that long; keeps the conversion to int defined

std::string rounded(double value, int decimals) {
  if (std::isnan(value)) return "unknown";
  if (std::isinf(value)) return value > 0 ? "∞" : "-∞";
  return fmt::format("{:.{}f}", value, decimals);
}

Html data(double value, const std::string& shown) {
  return element("data", shown, {{"value", fmt::format("{}", value)}});
}

std::optional<double> exp_of(const Json& logarithm) {
  const std::optional<double> value = number_of(logarithm);
  if (!value) return std::nullopt;
  return std::exp(*value);
}

}  // namespace

std::string text_of(const Json& value) {
  if (value.is_null()) return "";
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_float()) return fmt::format("{}", value.get<double>());
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string text_of(const Json& object, const char* name) { return text_of(field(object, name)); }

std::optional<double> number_of(const Json& value) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (value.is_number()) return value.get<double>();
  if (value == "inf") return kInfinity;
  if (value == "-inf") return -kInfinity;
  if (value == "nan") return std::numeric_limits<double>::quiet_NaN();
  return std::nullopt;
}

int round_of(const LedgerEntry& entry) {
  const std::optional<double> number = number_of(field(entry.data, "round"));
  return number && *number >= 0 && *number <= kRoundMax ? static_cast<int>(*number) : 0;
}

Html round_cell(const LedgerEntry& entry) { return fmt::format("{}", round_of(entry)); }

std::optional<double> Ratio::middle() const {
  if (value) return value;
  if (!low || !high) return std::nullopt;
  return std::sqrt(*low * *high);
}

Ratio ratio_of(const Json& estimate) {
  return {.value = number_of(field(estimate, "value")),
          .low = number_of(field(estimate, "low")),
          .high = number_of(field(estimate, "high"))};
}

Ratio ratio_of_forecast(const Json& forecast) {
  return {.value = exp_of(field(forecast, "log_speedup_median")),
          .low = exp_of(field(forecast, "log_speedup_low")),
          .high = exp_of(field(forecast, "log_speedup_high"))};
}

Html number(std::optional<double> value, int decimals) {
  return value ? data(*value, rounded(*value, decimals)) : Html();
}

Html number(const Json& value, int decimals) { return number(number_of(value), decimals); }

Html percent(const Json& share) {
  const std::optional<double> value = number_of(share);
  return value ? data(*value, rounded(100 * *value, 1) + " %") : Html();
}

Html speedup(std::optional<double> value, int decimals) {
  return value ? data(*value, rounded(*value, decimals) + "x") : Html();
}

Html speedup(const Ratio& ratio) {
  if (!ratio.value) {
    return ratio.is_known() ? speedup(ratio.low) + " to " + speedup(ratio.high) : Html();
  }
  if (!ratio.low || !ratio.high) return speedup(ratio.value);
  return speedup(ratio.value) + " " + interval(ratio, 3);
}

Html expected(const Ratio& ratio) {
  if (!ratio.value || !ratio.low || !ratio.high) return speedup(ratio);
  return speedup(ratio.value) + " " +
         element("span", "(" + number(ratio.low, 3) + " to " + number(ratio.high, 3) + ")",
                 {{"class", "interval"}});
}

Html interval(const Ratio& ratio, int decimals) {
  if (!ratio.low || !ratio.high) return {};
  if (*ratio.low <= 0 && std::isinf(*ratio.high)) return "no interval yet";
  return element("span",
                 "[" + number(ratio.low, decimals) + ", " + number(ratio.high, decimals) + "]",
                 {{"class", "interval"}});
}

Html badge(const std::string& word, const std::string& css_class) {
  return element("span", word, {{"class", "badge " + css_class}});
}

std::string verdict_class(const std::string& kind) {
  const bool is_bad = kind == "wrong" || kind == "invalid" || kind == "rejected";
  return kind == "accepted" ? "good" : is_bad ? "bad" : "open";
}

Html verdict_badge(const std::string& kind) {
  return kind.empty() ? Html() : badge(kind, verdict_class(kind));
}

Html source_badge(const std::string& source) {
  return badge(source, source == "measured" ? "measured" : "reported");
}

Html result_of(const LedgerEntry* verdict) {
  if (verdict == nullptr) return "not built";
  const Json& estimate = field(verdict->data, "speedup");
  const Ratio ratio = ratio_of(estimate);
  if (!ratio.is_known()) return "no time";
  if (is_measured(*verdict)) return speedup(ratio);
  Html result = speedup(ratio.middle()) + " " + source_badge(verdict->source);
  // What was reported has a range at best, and no brackets: those mean a confidence interval.
  if (ratio.low && ratio.high) {
    result += small(element("span", speedup(ratio.low) + " to " + speedup(ratio.high),
                            {{"class", "interval"}}) +
                    " " + text_of(estimate, "range"));
  }
  return result;
}

}  // namespace thresher::report
