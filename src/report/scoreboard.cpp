// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <set>

#include "referee/statistics/analysis.hpp"
#include "report/season.hpp"

namespace thresher::report {
namespace {

// The panel put it first. Whether it then won is the verdict's to say.
bool is_panels_choice(const Season& season, const ScoreboardRow& row) {
  for (const LedgerEntry* round : season.of_round("round", row.round)) {
    if (text_of(round->data, "winner") == row.pitch) return true;
  }
  return false;
}

Html pitch_cell(const Season& season, const ScoreboardRow& row) {
  const LedgerEntry* pitch = season.pitch(row.pitch);
  Html cell = element("strong", row.pitch);
  if (season.took_title(row.round, row.pitch)) cell += " " + badge("new champion", "good");
  if (is_panels_choice(season, row)) cell += " " + badge("panel's choice", "plain");
  if (row.control) cell += " " + badge("control", "plain");
  const std::string title = pitch ? text_of(pitch->data, "title") : "";
  const std::string before = fmt::format("round {}{}", row.round, title.empty() ? "" : ": ");
  return cell + small(element("span", before, {{"class", "in-round"}}) + title);
}

// Of what nobody measured a few digits say enough: "4.00 to 7.00x", "10 to 50x".
int coarse_decimals(double value) { return value < 10 ? 2 : 0; }

Html coarse(const Range& range) {
  if (range.low && range.high && *range.low != *range.high) {
    const int decimals = coarse_decimals(*range.high);
    return element("span", number(range.low, decimals) + " to " + speedup(range.high, decimals),
                   {{"class", "interval"}});
  }
  const std::optional<double> middle = ratio_of(range).middle();
  return middle ? speedup(middle, coarse_decimals(*middle)) : Html();
}

Html result_cell(const Season& season, const ScoreboardRow& row) {
  const LedgerEntry* verdict = season.verdict(row.round, row.pitch);
  if (verdict == nullptr) return "not built";
  const Ratio ratio = ratio_of(field(verdict->data, "speedup"));
  if (!ratio.is_known()) return "no time";
  if (!is_measured(*verdict)) return result_of(verdict);
  return speedup(ratio.middle()) + " " + small(interval(ratio, 3));
}

std::string result_title(const Season& season) {
  if (season.is_reported()) return "Reported";
  return season.board.reported ? "Result" : "Measured, 95 %";
}

std::string reason_of(const ScoreboardRow& row) {
  // The fold of the match has what was left out.
  return row.reason.empty() ? "no reason is recorded" : without_left_out(row.reason);
}

HtmlTable table_of(const Season& season) {
  HtmlTable table("Above 1 is faster than the champion of that round",
                  {{"Round", true, "round"},
                   {"Pitch", false, "pitch"},
                   {"Verdict", false, "verdict"},
                   {result_title(season), true, "result"},
                   {"Claimed", true, "claim"},
                   {"Panel", true, "panel"},
                   {"Why", false, "why"}},
                  "scoreboard");
  for (const ScoreboardRow& row : season.board.rows) {
    const Html forecast =
        row.predicted.value ? speedup(row.predicted.value, 2) : coarse(row.predicted);
    table.add_row({fmt::format("{}", row.round), pitch_cell(season, row),
                   verdict_badge(row.verdict.empty() ? "open" : row.verdict),
                   result_cell(season, row), coarse(row.claimed), forecast, reason_of(row)});
  }
  return table;
}

// Pitches without a row, so that nothing is passed over in silence.
Html not_built(const Season& season) {
  std::set<std::string> built;
  for (const ScoreboardRow& row : season.board.rows) built.insert(row.pitch);
  Html names;
  for (const LedgerEntry* pitch : season.of_kind("pitch")) {
    const std::string name = text_of(pitch->data, "name");
    if (built.contains(name)) continue;
    if (!names.is_empty()) names += ", ";
    names += name;
  }
  return names.is_empty() ? Html()
                          : note("Not built: " + names + ". “The pitches” below says why.");
}

Html scoreboard_note(const Season& season) {
  Html text =
      "Panel is the sharks’ forecast, weighed by their credibility; a control is a losing "
      "pitch that was built anyway. ";
  if (!season.is_reported()) text += "Brackets hold a measurement’s 95 % interval. ";
  if (season.board.reported) {
    text += source_badge("reported") + " is somebody else’s word, imported as it stood.";
  }
  return note(text);
}

}  // namespace

Html scoreboard(const Season& season) {
  const HtmlTable table = table_of(season);
  const Html head = heading(3, "Scoreboard");
  if (table.is_empty()) return head + paragraph("No round has come to a verdict.");
  return head + table.html() + not_built(season) + scoreboard_note(season);
}

}  // namespace thresher::report
