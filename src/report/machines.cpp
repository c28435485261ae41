// SPDX-License-Identifier: Apache-2.0
#include "report/machines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "engine/backends.hpp"

namespace thresher::report {
namespace {

using Json = nlohmann::json;

// Other classes than the season's own that matches of it were played on.
Html other_classes(const Season& season) {
  std::map<std::string, int> counts;
  for (const LedgerEntry* match : season.of_kind("match")) {
    const std::string found = text_of(field(match->data, "machine"), "class");
    if (!found.empty() && found != class_of(season)) ++counts[found];
  }
  Html html;
  for (const auto& [found, count] : counts) {
    html += small(fmt::format("{} of its matches on {}", count, found));
  }
  return html;
}

Html verdicts_of(const Season& season) {
  std::map<std::string, int> counts;
  for (const ScoreboardRow& row : season.board.rows) {
    ++counts[row.verdict.empty() ? "open" : row.verdict];
  }
  Html html;
  for (const auto& [verdict, count] : counts) {
    html += (html.is_empty() ? "" : ", ") + fmt::format("{} {}", count, verdict);
  }
  return html;
}

Html gain_cell(const Season& season) {
  const std::optional<Gain> gain = gain_of(season);
  if (!gain) return "none yet";
  const Html value = speedup(gain->ratio.value, 2) + " ";
  return value + (gain->is_reported ? source_badge("reported") : small(interval(gain->ratio, 2)));
}

// The last weight and scores that a season has of each shark.
struct SharkRecord {  // NOLINT(bugprone-exception-escape): moving strings does not throw
  std::optional<double> weight;
  Json scores;
};

std::map<std::string, SharkRecord> records_of(const Season& season) {
  std::map<std::string, SharkRecord> records;
  for (const CredibilityRow& row : season.board.credibilities) {
    for (const auto& [shark, weight] : row.weights) records[shark].weight = weight;
  }
  for (const LedgerEntry* entry : season.of_kind("credibility")) {
    const Json& scores = field(entry->data, "scores");
    if (!scores.is_object()) continue;
    for (const auto& [shark, score] : scores.items()) records[shark].scores = score;
  }
  return records;
}

Html record_cell(const SharkRecord& record) {
  if (!record.weight) return {};
  Html cell = percent(Json(*record.weight));
  const Json& crps = field(record.scores, "crps");
  const Json& brier = field(record.scores, "brier");
  if (crps.is_number()) cell += small("CRPS " + number(crps, 3));
  if (brier.is_number()) cell += small("Brier " + number(brier, 3));
  return cell;
}

}  // namespace

std::string class_of(const Season& season) {
  const LedgerEntry* start = season.start();
  if (start == nullptr) return season.board.device;
  const std::string machine = text_of(field(field(start->data, "environment"), "machine"), "class");
  if (!machine.empty()) return machine;
  const std::optional<double> threads = number_of(field(start->data, "threads"));
  const Backend* backend = find_backend(season.board.backend);
  const bool counts = backend != nullptr && threads && *threads > 0 &&
                      backend->threads(static_cast<int>(*threads)) > 0;
  const char* plural = threads == 1 ? "" : "s";
  return season.board.device + (counts ? fmt::format(", {:.0f} thread{}", *threads, plural) : "");
}

namespace {

// All tables of machines have them in one order.
std::vector<const Season*> by_class(const std::vector<Season>& seasons) {
  std::vector<const Season*> sorted;
  for (const Season& season : seasons) sorted.push_back(&season);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Season* a, const Season* b) { return class_of(*a) < class_of(*b); });
  return sorted;
}

}  // namespace

Html machines(const std::vector<Season>& seasons) {
  if (seasons.size() < 2) return {};
  HtmlTable table("A verdict holds for the class of machines that it was found on",
                  {{"Machine", false, "name"},
                   {"Season"},
                   {"Suite"},
                   {"Champion"},
                   {"Gain", true, "gained"},
                   {"Verdicts"}});
  for (const Season* season : by_class(seasons)) {
    const std::vector<Title> titles = season->titles();
    const std::string name = class_of(*season);
    table.add_row({(name.empty() ? Html("not said") : Html(name)) + other_classes(*season),
                   season->name, season->board.suite,
                   titles.empty() ? Html("the baseline") : Html(titles.back().pitch),
                   gain_cell(*season), verdicts_of(*season)});
  }
  return heading(3, "Champions, machine by machine") + table.html();
}

Html shark_records(const std::vector<Season>& seasons) {
  std::map<std::string, std::map<std::size_t, SharkRecord>> by_shark;  // then by column
  std::vector<HtmlColumn> columns{{"Shark", false, "name"}};
  for (const Season* season : by_class(seasons)) {
    const std::map<std::string, SharkRecord> records = records_of(*season);
    if (records.empty() || season->is_reported()) continue;
    for (const auto& [shark, record] : records) by_shark[shark][columns.size()] = record;
    columns.push_back({fmt::format("{}: {}", class_of(*season), season->name), true});
  }
  if (columns.size() < 3) return {};
  HtmlTable table("What each word weighs in the end, and the scores behind it: lower is better",
                  columns, "stacks");
  for (const auto& [shark, records] : by_shark) {
    std::vector<Html> cells{shark};
    for (std::size_t column = 1; column < columns.size(); ++column) {
      const auto found = records.find(column);
      cells.push_back(found == records.end() ? Html() : record_cell(found->second));
    }
    table.add_row(cells);
  }
  return heading(3, "Sharks’ records, machine by machine") + table.html();
}

}  // namespace thresher::report
