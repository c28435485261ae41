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

Html colophon(const Ledger& ledger, const LedgerAudit& audit) {
  Html lines = element("p", audit_line(ledger, audit), {{"id", "audit"}});
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
                     constraints(season) + documents(season) + environment(season),
                 {{"id", fmt::format("season-{}", index)}}) +
         "\n";
}

Html contents(const std::vector<std::string>& seasons) {
  if (seasons.size() < 2) return {};
  Html links;
  for (std::size_t i = 0; i < seasons.size(); ++i) {
    links += element("a", seasons[i], {{"href", fmt::format("#season-{}", i)}}) + " ";
  }
  return element("nav", "Seasons: " + links, {{"aria-label", "Seasons"}}) + "\n";
}

Html document(const Html& body) {
  return Html::markup(kHead) + element("title", "Thresher report") + "\n" +
         element("style", page_file("page")) + Html::markup("\n</head>\n<body>\n<main>\n") + body +
         Html::markup("</main>\n</body>\n</html>\n");
}

}  // namespace
}  // namespace report

std::string report_page(const Ledger& ledger, const std::string& season) {
  using namespace report;
  const std::vector<std::string> seasons =
      season.empty() ? ledger.seasons() : std::vector<std::string>{season};
  const LedgerAudit audit = ledger.audit();
  Html body = heading(1, "Thresher report") + warning(ledger, audit) + contents(seasons);
  if (seasons.empty()) body += paragraph("The ledger is empty: no season has been played.");
  for (std::size_t i = 0; i < seasons.size(); ++i) {
    body += season_html(read_season(ledger, seasons[i]), i);
  }
  return document(body + colophon(ledger, audit)).text();
}

}  // namespace thresher
