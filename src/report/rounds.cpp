// SPDX-License-Identifier: Apache-2.0
// Round after round, each behind its fold: how the panel ranked the pitches, what was vetoed, and
// the matches.
#include <fmt/format.h>

#include "report/season.hpp"

namespace thresher::report {
namespace {

using Json = nlohmann::json;

// "Round 2: fused_dual accepted at 1.015x, stream_parallelism rejected at 0.992x"
Html summary_of(const Season& season, int round) {
  Html line = element("strong", fmt::format("Round {}", round));
  bool is_first = true;
  for (const ScoreboardRow& row : season.board.rows) {
    if (row.round != round) continue;
    line += (is_first ? ": " : ", ") + Html(row.pitch) + " " + row.verdict;
    is_first = false;
  }
  return line;
}

HtmlTable ranking_table(const Season& season, int round) {
  HtmlTable table("How the panel ranked the pitches",
                  {{"Place", true}, {"Pitch"}, {"Score", true}});
  for (const LedgerEntry* end : season.of_round("round", round)) {
    int place = 0;
    for (const Json& one : field(end->data, "ranking")) {
      table.add_row(
          {fmt::format("{}", ++place), text_of(one, "pitch"), number(field(one, "score"), 2)});
    }
  }
  return table;
}

HtmlTable veto_table(const Season& season, int round) {
  HtmlTable table("Pitches that were vetoed", {{"Pitch"}, {"Constraint"}, {"Reason"}});
  for (const LedgerEntry* entry : season.of_round("veto", round)) {
    const Json& data = entry->data;
    table.add_row({text_of(data, "pitch"), text_of(data, "constraint"), text_of(data, "reason")});
  }
  return table;
}

// What others reported of a round that they have no match of.
Html reported_line(const Season& season, int round) {
  Html lines;
  for (const LedgerEntry* end : season.of_round("round", round)) {
    if (is_measured(*end)) continue;
    HtmlFacts facts;
    facts.add("Voted for", text_of(end->data, "winner"));
    facts.add("Vote", text_of(end->data, "vote"));
    facts.add("Expected", text_of(end->data, "expected"));
    facts.add("Came out", text_of(end->data, "actual"));
    lines += facts.html() + paragraph(source_badge(end->source));
  }
  return lines;
}

Html findings(const Season& season, int round) {
  Html items;
  for (const LedgerEntry* entry : season.of_round("research", round)) {
    for (const Json& finding : field(entry->data, "findings")) {
      items += element("li", text_of(finding));
    }
  }
  if (items.is_empty()) return {};
  return heading(4, "Research: where the champion’s time goes") + element("ul", items);
}

Html round_html(const Season& season, int round) {
  Html content = reported_line(season, round);
  for (const LedgerEntry* entry : season.of_round("match", round)) content += match(season, *entry);
  content += ranking_table(season, round).html() + veto_table(season, round).html() +
             findings(season, round);
  return fold(summary_of(season, round), content);
}

}  // namespace

Html rounds(const Season& season) {
  Html content;
  for (const int round : season.rounds()) content += round_html(season, round);
  return fold(fmt::format("Rounds and matches ({})", season.rounds().size()), content);
}

}  // namespace thresher::report
