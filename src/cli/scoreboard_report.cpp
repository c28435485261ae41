// SPDX-License-Identifier: Apache-2.0
#include "cli/scoreboard_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "cli/table.hpp"

namespace thresher::cli {
namespace {

Tone tone_of(const std::string& verdict) {
  if (verdict == "accepted") return Tone::kGood;
  if (verdict == "rejected" || verdict == "wrong" || verdict == "invalid") return Tone::kBad;
  return Tone::kDim;
}

// "1.10x", "1.50 to 1.80x", or nothing.
std::string claim_text(const Range& range) {
  if (range.low && range.high && *range.low < *range.high) {
    return fmt::format("{:.2f} to {:.2f}x", *range.low, *range.high);
  }
  return range.value ? fmt::format("{:.2f}x", *range.value) : "";
}

std::string measured_text(const Range& range) {
  if (!range.value) return "";
  if (!range.low || !range.high) return fmt::format("{:.3f}x", *range.value);
  return fmt::format("{:.3f}x ({:.3f} to {:.3f})", *range.value, *range.low, *range.high);
}

void print_rows(const Scoreboard& board) {
  Table table({{"round", Align::kRight},
               {"pitch"},
               {"claimed", Align::kRight},
               {"panel", Align::kRight},
               {board.reported ? "reported" : "measured (95 %)", Align::kRight},
               {"verdict"}});
  for (const ScoreboardRow& row : board.rows) {
    const std::string panel = row.predicted.value ? fmt::format("{:.2f}x", *row.predicted.value)
                                                  : claim_text(row.predicted);
    table.add_row({fmt::format("{}", row.round), row.pitch + (row.control ? " (control)" : ""),
                   claim_text(row.claimed), panel, measured_text(row.measured),
                   Cell(row.verdict, tone_of(row.verdict))});
  }
  print(table);
}

// Why, for every row: a verdict that does not say so is an opinion.
void print_reasons(const Scoreboard& board) {
  Table table({{""}, {""}});
  for (const ScoreboardRow& row : board.rows) {
    if (row.reason.empty()) continue;
    table.add_row({fmt::format("  {} {}", row.round, row.pitch),
                   Cell(fmt::format("{}: {}", row.verdict, row.reason), tone_of(row.verdict))});
  }
  fmt::print("\nWhy\n");
  print(table);
}

void print_credibilities(const std::vector<CredibilityRow>& rows, bool reported) {
  std::set<std::string> sharks;
  for (const CredibilityRow& row : rows) {
    for (const auto& [shark, weight] : row.weights) sharks.insert(shark);
  }
  std::vector<Column> columns{{"after round", Align::kRight}};
  for (const std::string& shark : sharks) columns.push_back({shark, Align::kRight});
  if (!reported) columns.push_back({"count as", Align::kRight});
  Table table(std::move(columns));
  for (const CredibilityRow& row : rows) {
    std::vector<Cell> cells{Cell(fmt::format("{}", row.round))};
    for (const std::string& shark : sharks) {
      const auto found = row.weights.find(shark);
      cells.emplace_back(found == row.weights.end() ? ""
                                                    : fmt::format("{:.0f} %", 100 * found->second));
    }
    if (!reported) {
      cells.push_back(row.effective_judges
                          ? Cell(fmt::format("{:.1f} judges", *row.effective_judges))
                          : Cell("too few pitches to say", Tone::kDim));
    }
    table.add_row(std::move(cells));
  }
  fmt::print("\nCredibility of the sharks{}\n",
             reported ? ", had our rules been theirs: computed from what they reported" : "");
  print(table);
}

void print_wrong_sheets(const Scoreboard& board) {
  fmt::print("\nScore sheets that do not add up: {} of {}\n", board.wrong_sheets.size(),
             board.sheet_count);
  Table table({{"round", Align::kRight},
               {"shark"},
               {"pitch"},
               {"on the sheet", Align::kRight},
               {"is", Align::kRight}});
  const auto points = [](const std::optional<double>& value) {
    return value ? fmt::format("{:.2f}", *value) : std::string();
  };
  for (const WrongSheet& sheet : board.wrong_sheets) {
    table.add_row({fmt::format("{}", sheet.round), sheet.shark, sheet.pitch, points(sheet.on_sheet),
                   Cell(points(sheet.recomputed), Tone::kBad)});
  }
  print(table);
}

// "27.9", "1.10x": of a time in microseconds, of a speedup.
std::string forecast_number(const ScoredForecast& one, double value) {
  return one.is_time ? fmt::format("{:.1f}", value) : fmt::format("{:.2f}x", value);
}

std::string forecast_text(const ScoredForecast& one, const std::optional<ForecastRange>& range) {
  if (!range) return "";
  return fmt::format("{} ({} to {})", forecast_number(one, range->value),
                     forecast_number(one, range->low), forecast_number(one, range->high));
}

Cell measured_cell(const ScoredForecast& one) {
  if (one.measured) return forecast_text(one, one.measured);
  return {one.verdict.empty() ? "by nobody" : one.verdict, Tone::kDim};
}

std::string score_text(const ScoredForecast& one) {
  return one.score ? fmt::format("{:.2f}", one.score->loss()) : std::string();
}

void print_foretold_times(const ForecastScores& scores) {
  Table table({{"suite"},
               {"problem"},
               {"variant"},
               {"predicted us (80 %)", Align::kRight},
               {"measured", Align::kRight},
               {"loss", Align::kRight}});
  for (const ScoredForecast& one : scores.forecasts) {
    if (!one.is_time) continue;
    table.add_row({one.suite, one.subject, one.variant, forecast_text(one, one.predicted),
                   measured_cell(one), score_text(one)});
  }
  print(table);
}

void print_foretold_speedups(const ForecastScores& scores) {
  Table table({{"suite"},
               {"pitch"},
               {"claimed", Align::kRight},
               {"predicted (80 %)", Align::kRight},
               {"works", Align::kRight},
               {"measured", Align::kRight},
               {"loss", Align::kRight}});
  for (const ScoredForecast& one : scores.forecasts) {
    if (one.is_time) continue;
    table.add_row({one.suite, one.subject,
                   one.claimed ? fmt::format("{:.2f}x", one.claimed->value) : std::string(),
                   one.predicted ? Cell(forecast_text(one, one.predicted)) : Cell("-", Tone::kDim),
                   one.p_works ? fmt::format("{:.0f} %", 100 * *one.p_works) : std::string(),
                   measured_cell(one), score_text(one)});
  }
  print(table);
}

// Once for each pitch, whatever the suite.
void print_foretold_refusals(const ForecastScores& scores) {
  Table table({{""}, {""}});
  std::set<std::string> said;
  for (const ScoredForecast& one : scores.forecasts) {
    if (one.refused.empty() || !said.insert(one.subject).second) continue;
    table.add_row({"  " + one.subject, Cell(one.refused, Tone::kDim)});
  }
  if (said.empty()) return;
  fmt::print("\nWithout a forecast\n");
  print(table);
}

// Of the season's own suite: nothing of the others can have been measured in it.
void print_forecasts_of(const Scoreboard& board) {
  ForecastScores scores = *board.forecasts;
  const std::size_t left_out = std::erase_if(
      scores.forecasts, [&](const ScoredForecast& one) { return one.suite != board.suite; });
  fmt::print("\n");
  print_forecasts(scores);
  if (left_out > 0) {
    fmt::print("{} forecasts more are of other suites; 'thresher forecast' shows them\n", left_out);
  }
}

}  // namespace

void print_forecasts(const ForecastScores& scores) {
  fmt::print("Forecasts for a {}, predicted and not measured, sealed {} ({})\n", scores.device,
             scores.sealed_utc, scores.hash.substr(0, 12));
  if (!scores.fault.empty()) fmt::print("Nothing is scored: {}.\n", scores.fault);
  print_foretold_times(scores);
  fmt::print("\n");
  print_foretold_speedups(scores);
  print_foretold_refusals(scores);
  if (const std::optional<double> loss = scores.mean_loss()) {
    fmt::print("Mean loss of what was measured: {:.2f}; 0 is perfect, 1 the worst.\n", *loss);
  }
}

void print_scoreboard(const Scoreboard& board) {
  fmt::print("Season {}{}{}{}\n", board.season,
             board.suite.empty() ? "" : fmt::format(", suite {}", board.suite),
             board.device.empty() ? "" : fmt::format(", on {}", board.device),
             board.reported ? " (reported by others, not measured here)" : "");
  print_rows(board);
  const bool has_reasons =
      std::any_of(board.rows.begin(), board.rows.end(),
                  [](const ScoreboardRow& row) { return !row.reason.empty(); });
  if (has_reasons) print_reasons(board);
  if (!board.champion.empty()) {
    Table champion({{""}, {""}});
    champion.add_row({"Champion:", board.champion});
    fmt::print("\n");
    print(champion);
  }
  if (board.veto_count > 0) {
    fmt::print(
        "{}", wrapped(fmt::format("{} of the pitches met a constraint; '{} ledger show --season {} "
                                  "--kind veto' says which",
                                  board.veto_count, called_as(), board.season),
                      terminal_width(stdout)));
  }
  if (!board.credibilities.empty()) print_credibilities(board.credibilities, board.reported);
  if (!board.wrong_sheets.empty()) print_wrong_sheets(board);
  for (const std::string& line : board.findings) fmt::print("\n{}\n", line);
  if (board.forecasts) print_forecasts_of(board);
}

}  // namespace thresher::cli
