// SPDX-License-Identifier: Apache-2.0
// Values of the ledger as the page shows them. Reading is lenient, since a reported entry lacks
// much of what a measured one has: what is not there, or is of another type, is shown as nothing.
//
// A number is shown rounded inside <data value="...">, which carries all of its digits.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "report/page.hpp"
#include "tank/ledger/ledger.hpp"

namespace thresher::report {

// The text itself; other values as JSON writes them; nothing for null.
std::string text_of(const nlohmann::json& value);
std::string text_of(const nlohmann::json& object, const char* name);
// The ledger writes the open end of an interval as "inf".
std::optional<double> number_of(const nlohmann::json& value);
int round_of(const LedgerEntry& entry);  // 0 where it says none
Html round_cell(const LedgerEntry& entry);

// A speedup with its interval, of a claim, a forecast or a measurement. The value may be missing.
struct Ratio {
  std::optional<double> value;
  std::optional<double> low;
  std::optional<double> high;

  bool is_known() const { return value || (low && high); }
  // Where only a range was given, its geometric middle.
  std::optional<double> middle() const;
};
Ratio ratio_of(const nlohmann::json& estimate);           // {value, low, high}
Ratio ratio_of_forecast(const nlohmann::json& forecast);  // {log_speedup_median, ...}

Html number(std::optional<double> value, int decimals);
Html number(const nlohmann::json& value, int decimals);
Html percent(const nlohmann::json& share);                    // 0.031 as 3.1 %
Html speedup(std::optional<double> value, int decimals = 3);  // 1.234x
Html speedup(const Ratio& ratio);   // 1.234x [1.200, 1.270], or 1.200x to 1.270x
Html expected(const Ratio& ratio);  // 1.234x (1.200 to 1.270): of what nobody has measured
Html interval(const Ratio& ratio, int decimals);  // [1.200, 1.270]; words where it is open

// Words with a colour; the word alone says it all.
Html verdict_badge(const std::string& kind);
std::string verdict_class(const std::string& kind);  // "good", "bad" or "open"
Html source_badge(const std::string& source);
Html badge(const std::string& word, const std::string& css_class);

inline bool is_measured(const LedgerEntry& entry) { return entry.source == "measured"; }

// What came of a pitch, of a `verdict` entry or of none: "1.234x [1.200, 1.270]"; "0.737x reported,
// 0.684x to 0.805x over problems"; "no time". A number that we did not measure says so wherever it
// stands.
Html result_of(const LedgerEntry* verdict);

}  // namespace thresher::report
