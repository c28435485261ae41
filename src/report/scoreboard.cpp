// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "report/season.hpp"
#include "report/values.hpp"

namespace thresher::report {
namespace {

HtmlTable scoreboard_table() {
  return {"Scoreboard: every pitch that was built, by round",
          {{"Round", true},
           {"Pitch"},
           {"Predicted", true},
           {"Result", true},
           {"Verdict"},
           {"Source"},
           {"Why", false, true}}};
}

struct Row {
  int round = 0;
  std::string pitch;
  bool is_winner = false;
  const LedgerEntry* verdict = nullptr;  // null: the round has not come to one
  const LedgerEntry* round_end = nullptr;
};

Html pitch_cell(const Row& row) {
  Html cell = row.pitch;
  if (row.is_winner) cell += " " + badge("winner", "plain");
  if (row.verdict && field(row.verdict->data, "control") == true) {
    cell += " " + badge("control", "plain");
  }
  return cell;
}

void add_row(HtmlTable& table, const Season& season, const Row& row) {
  const LedgerEntry* pitch = season.pitch(row.pitch);
  const LedgerEntry* told_by = row.verdict ? row.verdict : row.round_end;
  const std::string outcome =
      row.verdict ? text_of(row.verdict->data, "kind") : text_of(row.round_end->data, "outcome");
  table.add_row({fmt::format("{}", row.round), pitch_cell(row),
                 pitch ? speedup(ratio_of(field(pitch->data, "claim"))) : Html(),
                 result_of(row.verdict), verdict_badge(outcome), source_badge(told_by->source),
                 row.verdict ? text_of(row.verdict->data, "reason") : ""});
}

// The winner of the vote first, then whatever else was built.
void add_round(HtmlTable& table, const Season& season, int round) {
  const std::vector<const LedgerEntry*> ends = season.of_round("round", round);
  const LedgerEntry* end = ends.empty() ? nullptr : ends.back();
  const std::string winner = end ? text_of(end->data, "winner") : "";
  const LedgerEntry* verdict_on_winner = season.verdict(round, winner);
  if (end) add_row(table, season, {round, winner, !winner.empty(), verdict_on_winner, end});
  for (const LedgerEntry* verdict : season.of_round("verdict", round)) {
    const std::string pitch = text_of(verdict->data, "pitch");
    if (!end || pitch != winner) add_row(table, season, {round, pitch, false, verdict, end});
  }
}

void add_title_holders(Page& page, const Season& season) {
  const LedgerEntry* start = season.start();
  if (start == nullptr) return;
  Html line = "Champion: " + element("strong", text_of(start->data, "champion"));
  for (const LedgerEntry* change : season.of_kind("champion")) {
    line += fmt::format(" → ");
    line += element("strong", text_of(change->data, "champion"));
    line += fmt::format(" (round {})", round_of(*change));
  }
  page.add_paragraph(line);
}

}  // namespace

void add_scoreboard(Page& page, const Season& season) {
  page.add_heading(3, "Scoreboard");
  add_title_holders(page, season);
  HtmlTable table = scoreboard_table();
  for (const int round : season.rounds()) add_round(table, season, round);
  page.add_table(table, "No round has been played.");
  page.add_note(
      "Above 1 is faster than the champion. Brackets hold a claim's own range, or a "
      "measurement's 95 % interval. A control is a losing pitch that was built anyway.");
}

}  // namespace thresher::report
