// SPDX-License-Identifier: Apache-2.0
// The pitches in full: what each promised and why, and what became of it.
#include <fmt/format.h>

#include "report/season.hpp"

namespace thresher::report {
namespace {

using Json = nlohmann::json;

std::string knobs_of(const Json& pitch) {
  std::vector<std::string> parts;
  for (const auto& item : field(field(pitch, "contestant"), "knobs").items()) {
    parts.push_back(fmt::format("{} = {}", item.key(), text_of(item.value())));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string last_veto(const Season& season, const std::string& pitch) {
  std::string reason;
  for (const LedgerEntry* veto : season.of_kind("veto")) {
    if (text_of(veto->data, "pitch") != pitch) continue;
    reason = fmt::format("vetoed in round {} by {}: {}", round_of(*veto),
                         text_of(veto->data, "constraint"), text_of(veto->data, "reason"));
  }
  return reason;
}

// Of a pitch that was judged its verdicts, else why it was not.
Html fate(const Season& season, const std::string& pitch) {
  Html lines;
  for (const ScoreboardRow& row : season.board.rows) {
    if (row.pitch != pitch) continue;
    lines += element(
        "div", verdict_badge(row.verdict) + fmt::format(" in round {}: ", row.round) + row.reason);
  }
  if (!lines.is_empty()) return lines;
  const std::string veto = last_veto(season, pitch);
  return veto.empty() ? Html("not built: the panel put others first, or the season ended before")
                      : Html(veto);
}

Html pitch_html(const Season& season, const LedgerEntry& pitch) {
  const Json& data = pitch.data;
  const std::string name = text_of(data, "name");
  HtmlFacts facts;
  facts.add("What became of it", fate(season, name));
  facts.add("Claim", expected(ratio_of(field(data, "claim"))));
  facts.add("Author", text_of(data, "author"));
  facts.add("Family", text_of(data, "family"));
  facts.add("Knobs", knobs_of(data));
  facts.add("Mechanism", text_of(data, "mechanism"));
  facts.add("Bottleneck", text_of(data, "bottleneck"));
  facts.add("Evidence", text_of(data, "evidence"));
  facts.add("Risk", text_of(data, "risk"));
  facts.add("Rollback", text_of(data, "rollback"));
  facts.add("Source", is_measured(pitch) ? Html() : source_badge(pitch.source));
  const std::string title = text_of(data, "title");
  return fold(element("strong", name) + (title.empty() ? Html() : ": " + Html(title)),
              facts.html());
}

}  // namespace

Html pitches(const Season& season) {
  Html content;
  for (const LedgerEntry* pitch : season.of_kind("pitch")) content += pitch_html(season, *pitch);
  return fold(fmt::format("The pitches ({})", season.of_kind("pitch").size()), content);
}

}  // namespace thresher::report
