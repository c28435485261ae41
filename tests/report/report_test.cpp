// SPDX-License-Identifier: Apache-2.0
#include "report/report.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "report/sample_ledger.hpp"
#include "tank/raw_sqlite.hpp"
#include "tank/scratch_folder.hpp"

namespace thresher {
namespace {

using nlohmann::json;
using testing::ScratchFolder;

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// The part of the page that is ours to write: without the style, the library and draw.js.
std::string main_of(const std::string& page) {
  const std::size_t from = page.find("<main>");
  return page.substr(from, page.find("</main>") - from);
}

// A number with all its digits, as the page carries it.
std::string data(const json& value) {
  return fmt::format("<data value=\"{}\">", value.get<double>());
}

json charts_of(const std::string& page) {
  const std::string open = "<script type=\"application/json\" id=\"charts\">";
  const std::size_t from = page.find(open) + open.size();
  return json::parse(page.substr(from, page.find("</script>", from) - from));
}

class ReportPage : public ::testing::Test {
 protected:
  ReportPage() { testing::write_sample(ledger_); }

  ScratchFolder folder_;
  Ledger ledger_{folder_ / "ledger.db"};
};

TEST_F(ReportPage, NumbersAreTheLedgers) {
  const std::string page = main_of(report_page(ledger_));
  for (const LedgerEntry& entry : ledger_.entries({}, "verdict")) {
    for (const char* name : {"value", "low", "high"}) {
      EXPECT_TRUE(has(page, data(entry.data.at("speedup").at(name)))) << entry.data.dump();
    }
  }
  for (const LedgerEntry& entry : ledger_.entries({}, "match")) {
    for (const json& problem : entry.data.at("verdict").at("estimate").at("problems")) {
      EXPECT_TRUE(has(page, data(problem.at("speedup").at("low")))) << problem.dump();
      EXPECT_TRUE(has(page, data(problem.at("champion_us")))) << problem.dump();
    }
  }
  for (const LedgerEntry& entry : ledger_.entries({}, "credibility")) {
    EXPECT_TRUE(has(page, data(entry.data.at("weights").at("skeptic"))));
  }
  EXPECT_TRUE(has(page, "<data value=\"21.375\">21.375</data>")) << "environment.rates";
  EXPECT_TRUE(has(page, "<data value=\"7.4\">7.40</data>")) << "the recomputed sheet";
}

TEST_F(ReportPage, ShowsEverySample) {
  const std::string page = report_page(ledger_);
  for (const LedgerEntry& entry : ledger_.entries({}, "match")) {
    for (const json& round : entry.data.at("samples").at("rounds")) {
      for (const json& block : round.at("match")) {
        EXPECT_TRUE(has(page, fmt::format("{} {}</td>", block.at("b_ns").at(0).get<double>(),
                                          block.at("b_ns").at(1).get<double>())));
      }
    }
  }
}

TEST_F(ReportPage, ForestPlotHasTheIntervalsAndTheTerms) {
  const json charts = charts_of(report_page(ledger_, "spring"));
  const auto forest = std::find_if(charts.begin(), charts.end(),
                                   [](const json& chart) { return chart.at("type") == "forest"; });
  ASSERT_NE(forest, charts.end());
  const json estimate =
      ledger_.entries("spring", "match").front().data.at("verdict").at("estimate");
  ASSERT_EQ(forest->at("rows").size(), estimate.at("problems").size() + 1);
  EXPECT_EQ(forest->at("rows").back().at("low"), estimate.at("speedup").at("low"));
  const json& lines = forest->at("lines");
  EXPECT_EQ(lines.at(0).at("at"), 1);
  EXPECT_EQ(lines.at(1).at("at"), DealTerms{}.speedup_min);
  EXPECT_EQ(lines.at(2).at("at"), 1 / (1 + DealTerms{}.regression_max));
}

TEST_F(ReportPage, NothingReportedLooksMeasured) {
  const std::string page = report_page(ledger_, "seeds");
  const std::string body = main_of(page);
  // Only the legend, which explains the word.
  EXPECT_EQ(count_of(body, "class=\"badge measured\""), 1U);
  EXPECT_TRUE(has(body,
                  "<data value=\"0.736842\">0.737x</data> <span class=\"badge reported\">reported"
                  "</span><div><data value=\"0.684211\">0.684x</data> to <data value=\"0.805195\">"
                  "0.805x</data> over problems"))
      << "a reported range has no brackets: those mean a confidence interval";
  for (const json& chart : charts_of(page)) {
    for (const json& group : chart.at("groups")) {
      EXPECT_EQ(group.at("reported"), true);
      for (const json& point : group.at("points")) EXPECT_TRUE(point.at("low").is_null());
    }
  }
}

TEST_F(ReportPage, ARoundWithoutAVerdictIsOpen) {
  const std::string body = main_of(report_page(ledger_, "seeds"));
  EXPECT_TRUE(has(body, "<td>stream_parallelism <span class=\"badge plain\">winner</span></td>"));
  EXPECT_TRUE(has(body, "<span class=\"badge open\">open</span>"));
  EXPECT_TRUE(has(body, "not built"));
}

TEST_F(ReportPage, HostileTextStaysText) {
  const std::string page = report_page(ledger_);
  EXPECT_TRUE(has(page,
                  "&lt;/script&gt;&lt;script&gt;alert(1)&lt;/script&gt;&lt;img src=x "
                  "onerror=alert(2)&gt;&quot;&#39;&amp;&lt;!--"));
  EXPECT_FALSE(has(page, "<script>alert"));
  EXPECT_FALSE(has(page, "<img"));
  EXPECT_EQ(count_of(page, "<script"), 3U) << "the data, the library, draw.js";
  EXPECT_EQ(count_of(page, "</script"), 3U);
}

TEST_F(ReportPage, HostileNamesStayTextInCharts) {
  ledger_.append("summer", "credibility", "measured",
                 {{"round", 1}, {"weights", {{testing::kHostile, 1.0}}}});
  const std::string page = report_page(ledger_, "summer");
  EXPECT_EQ(count_of(page, "</script"), 3U);
  EXPECT_FALSE(has(page, "<!--"));
  EXPECT_EQ(charts_of(page).at(0).at("groups").at(0).at("label"), testing::kHostile);
}

TEST_F(ReportPage, LoadsNothing) {
  const std::string page = report_page(ledger_);
  EXPECT_TRUE(has(page, "default-src 'none'"));
  EXPECT_FALSE(has(page, " src=\""));
  EXPECT_FALSE(has(page, "href=\"http"));
}

TEST_F(ReportPage, OneSeasonLeavesOutTheOthers) {
  const std::string body = main_of(report_page(ledger_, "spring"));
  EXPECT_TRUE(has(body, "Season spring"));
  EXPECT_FALSE(has(body, "pipeline_stages"));
}

TEST_F(ReportPage, IsTheSameForTheSameLedger) {
  EXPECT_EQ(report_page(ledger_), report_page(ledger_));
}

TEST_F(ReportPage, SaysWhetherTheLedgerIsWhole) {
  EXPECT_TRUE(has(report_page(ledger_), "entries, none changed, none missing"));
  testing::raw_sql(
      ledger_.path().string(),
      std::string(testing::kDropGuards) + "UPDATE entries SET source = 'measured' WHERE id = 2");
  EXPECT_TRUE(has(report_page(ledger_),
                  "<span class=\"badge bad\">damaged</span> entry 2: hash does not match"));
}

TEST_F(ReportPage, EntriesOfUnexpectedShapeDoNotStopIt) {
  for (const char* kind : {"season", "pitch", "constraint", "veto", "ballot", "match", "verdict",
                           "champion", "credibility", "round", "research", "sheet", "time"}) {
    ledger_.append("odd", kind, "measured", json::object());
    ledger_.append("odd", kind, "measured",
                   {{"round", "first"},
                    {"pitch", 7},
                    {"weights", 3},
                    {"findings", 1},
                    {"speedup", "fast"},
                    {"scores", {1, 2}},
                    {"verdict", {{"estimate", {1}}}},
                    {"samples", {{"rounds", {{{"match", 1}}}}}}});
  }
  const std::string page = report_page(ledger_, "odd");
  EXPECT_TRUE(has(page, "samples unreadable"));
  EXPECT_NO_THROW(charts_of(page));
}

TEST(Report, AnEmptyLedgerHasAPage) {
  const ScratchFolder folder;
  const Ledger ledger(folder / "ledger.db");
  const std::string page = report_page(ledger);
  EXPECT_TRUE(has(page, "The ledger is empty: no season has been played."));
  EXPECT_TRUE(has(page, "0 entries"));
  EXPECT_EQ(charts_of(page), json::array());
}

}  // namespace
}  // namespace thresher
