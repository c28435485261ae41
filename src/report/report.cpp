// SPDX-License-Identifier: Apache-2.0
#include "report/report.hpp"

#include <fmt/format.h>

#include <string_view>

#include "embedded_file.hpp"
#include "report/page.hpp"
#include "report/season.hpp"
#include "report/values.hpp"

namespace thresher {
namespace report {
namespace {

// Nothing may be loaded from anywhere and nothing may run: the browser is told, so that a mistake
// of ours shows, and a text that came through as markup stays powerless.
constexpr const char* kHead =
    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<meta name=\"color-scheme\" content=\"light dark\">\n"
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
    "style-src 'unsafe-inline'; img-src data:\">\n"
    "<link rel=\"icon\" href=\"data:,\">\n";

Html page_file(std::string_view name) { return Html::markup(embedded_text(kPageFiles, name)); }

Html audit_badge(const LedgerAudit& audit) {
  if (!audit.ok) return badge("damaged", "bad") + " " + audit.first_fault + ".";
  return badge("whole", "good") +
         fmt::format(" {} entries, none changed, none missing.", audit.entry_count);
}

Html audit_line(const Ledger& ledger, const LedgerAudit& audit) {
  return "Ledger " + element("strong", ledger.path().filename().string()) + ": " +
         audit_badge(audit);
}

// A damaged ledger is said to be one before anything of it is read; a whole one at the end.
Html warning(const Ledger& ledger, const LedgerAudit& audit) {
  if (audit.ok) return {};
  return element("p", audit_line(ledger, audit) + " Nothing below can be trusted.",
                 {{"role", "alert"}, {"class", "warning"}}) +
         "\n";
}

Html colophon(const Ledger& ledger, const LedgerAudit& audit, std::size_t index) {
  const std::string id = index == 0 ? "audit" : fmt::format("audit-{}", index);
  Html lines = element("p", audit_line(ledger, audit), {{"id", id}});
  const std::vector<LedgerEntry> entries = ledger.entries();
  if (!entries.empty()) {
    lines += element("p", fmt::format("Last entry {} (UTC), hash ", entries.back().time_utc) +
                              element("code", entries.back().hash));
  }
  lines += element("p", source_badge("measured") + " was timed by the referee of this ledger. " +
                            source_badge("reported") +
                            " is somebody else’s word, imported as it stood.");
  return element("footer", lines) + "\n";
}

Html season_html(const Season& season, std::size_t index) {
  return element("section",
                 headline(season) + gain(season) + scoreboard(season) + claims(season) +
                     heading(3, "Behind it") + rounds(season) + sharks(season) + pitches(season) +
                     constraints(season) + documents(season) + forecasts(season) +
                     environment(season),
                 {{"id", fmt::format("season-{}", index)}}) +
         "\n";
}

Html contents(const std::vector<Season>& seasons, bool has_machines) {
  if (seasons.size() < 2) return {};
  Html links;
  if (has_machines) links += element("a", "side by side", {{"href", "#machines"}}) + " ";
  for (std::size_t i = 0; i < seasons.size(); ++i) {
    links += element("a", seasons[i].name, {{"href", fmt::format("#season-{}", i)}}) + " ";
  }
  return element("nav", "Seasons: " + links, {{"aria-label", "Seasons"}}) + "\n";
}

// Nothing where there is one season and no more.
Html machines_html(const std::vector<Season>& seasons, const ReportSources& sources) {
  const Html content = machines(seasons) + shark_records(seasons) + plans(sources.plans) +
                       searches(sources.plans, sources.searches);
  if (content.is_empty()) return {};
  return element("section", heading(2, "Side by side") + content, {{"id", "machines"}}) + "\n";
}

Html document(const Html& body) {
  return Html::markup(kHead) + element("title", "Thresher report") + "\n" +
         element("style", page_file("page")) + Html::markup("\n</head>\n<body>\n<main>\n") + body +
         Html::markup("</main>\n</body>\n</html>\n");
}

}  // namespace
}  // namespace report

std::string report_page(const ReportSources& sources) {
  using namespace report;
  std::vector<Season> seasons;
  Html warnings;
  Html colophons;
  for (std::size_t i = 0; i < sources.ledgers.size(); ++i) {
    const Ledger* ledger = sources.ledgers[i];
    const LedgerAudit audit = ledger->audit();
    warnings += warning(*ledger, audit);
    colophons += colophon(*ledger, audit, i);
    for (const std::string& name : ledger->seasons()) {
      const bool is_wanted = sources.season.empty() || sources.season == name;
      if (is_wanted) seasons.push_back(read_season(*ledger, name));
    }
  }
  const Html side_by_side = machines_html(seasons, sources);
  Html body = heading(1, "Thresher report") + warnings +
              contents(seasons, !side_by_side.is_empty()) + side_by_side;
  if (seasons.empty() && !sources.ledgers.empty()) {
    body += paragraph("The ledger is empty: no season has been played.");
  }
  for (std::size_t i = 0; i < seasons.size(); ++i) body += season_html(seasons[i], i);
  return document(body + colophons).text();
}

std::string report_page(const Ledger& ledger, const std::string& season) {
  return report_page({.ledgers = {&ledger}, .season = season});
}

}  // namespace thresher
