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

// Nothing may be loaded from anywhere: the browser is told, so that a mistake of ours shows.
constexpr const char* kHead =
    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<meta name=\"color-scheme\" content=\"light dark\">\n"
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
    "style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:\">\n"
    "<link rel=\"icon\" href=\"data:,\">\n";

Html page_file(std::string_view name) { return Html::markup(embedded_text(kPageFiles, name)); }

void add_audit(Page& page, const Ledger& ledger, const LedgerAudit& audit) {
  Html line = audit.ok
                  ? badge("whole", "good") +
                        fmt::format(" {} entries, none changed, none missing.", audit.entry_count)
                  : badge("damaged", "bad") + " " + audit.first_fault + ".";
  page.add(element("p",
                   "Ledger " + element("strong", ledger.path().filename().string()) + ": " + line,
                   {{"id", "audit"}}) +
           "\n");
  const std::vector<LedgerEntry> entries = ledger.entries();
  if (entries.empty()) return;
  page.add_note(fmt::format("Last entry {} (UTC), hash ", entries.back().time_utc) +
                element("code", entries.back().hash));
}

// What the word `reported` means must be said where it is first seen.
void add_legend(Page& page) {
  page.add_note(source_badge("measured") + " was timed by the referee of this ledger. " +
                source_badge("reported") + " is somebody else's word, imported as it stood.");
}

void add_season(Page& page, const Season& season, std::size_t index) {
  page.add(Html::markup(fmt::format("<section id=\"season-{}\">\n", index)));
  page.add_heading(2, "Season " + Html(season.name));
  add_scoreboard(page, season);
  add_predictions(page, season);
  add_matches(page, season);
  add_credibility(page, season);
  add_constraints(page, season);
  add_documents(page, season);
  add_environment(page, season);
  page.add(Html::markup("</section>\n"));
}

void add_contents(Page& page, const std::vector<std::string>& seasons) {
  if (seasons.size() < 2) return;
  Html links;
  for (std::size_t i = 0; i < seasons.size(); ++i) {
    links += element("a", seasons[i], {{"href", fmt::format("#season-{}", i)}}) + " ";
  }
  page.add(element("nav", "Seasons: " + links, {{"aria-label", "Seasons"}}) + "\n");
}

Html document(const Page& page) {
  return Html::markup(kHead) + element("title", "Thresher report") + "\n" +
         element("style", page_file("page")) + Html::markup("\n</head>\n<body>\n<main>\n") +
         page.body() + Html::markup("</main>\n") +
         element("script", script_json(page.charts()),
                 {{"type", "application/json"}, {"id", "charts"}}) +
         "\n" + element("script", page_file("chart")) + "\n" +
         element("script", page_file("draw")) + Html::markup("\n</body>\n</html>\n");
}

}  // namespace
}  // namespace report

std::string report_page(const Ledger& ledger, const std::string& season) {
  using namespace report;
  const std::vector<std::string> seasons =
      season.empty() ? ledger.seasons() : std::vector<std::string>{season};
  Page page;
  page.add_heading(1, "Thresher report");
  add_audit(page, ledger, ledger.audit());
  add_legend(page);
  add_contents(page, seasons);
  if (seasons.empty()) page.add_paragraph("The ledger is empty: no season has been played.");
  for (std::size_t i = 0; i < seasons.size(); ++i) {
    add_season(page, {.name = seasons[i], .entries = ledger.entries(seasons[i])}, i);
  }
  return document(page).text();
}

}  // namespace thresher
