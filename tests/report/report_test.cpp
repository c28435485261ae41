// SPDX-License-Identifier: Apache-2.0
#include "report/report.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

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

// The page without its style.
std::string main_of(const std::string& page) {
  const std::size_t from = page.find("<main>");
  return page.substr(from, page.find("</main>") - from);
}

// A number with all its digits, as the page carries it.
std::string data(const json& value) {
  return fmt::format("<data value=\"{}\">", value.get<double>());
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
  EXPECT_TRUE(has(
      page, "<dt>Ceiling of reading memory</dt><dd><data value=\"21.375\">21 GB/s</data></dd>"));
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

TEST_F(ReportPage, SaysHowCallsWereTimed) {
  const std::string page = report_page(ledger_);
  EXPECT_EQ(count_of(page, "; timed: single calls, cold weights."),
            ledger_.entries({}, "match").size());
}

TEST_F(ReportPage, SaysTheSeasonInWords) {
  const std::string page = main_of(report_page(ledger_, "spring"));
  const double value =
      ledger_.entries("spring", "verdict").front().data.at("speedup").at("value").get<double>();
  EXPECT_TRUE(has(page, fmt::format("<h2>The champion is <data value=\"{}\">{:.2f}x</data> as fast "
                                    "as the baseline</h2>",
                                    value, value)));
  EXPECT_TRUE(has(page,
                  "3 pitches entered, 3 verdicts were reached in 2 rounds: 1 accepted and 2 "
                  "rejected. The title went to <strong>wide_tiles</strong> in round 1"));
  EXPECT_TRUE(has(page, "The season has not ended."));
}

// The title changes hands twice; the product of both is what the champion is worth.
TEST_F(ReportPage, GainsMultiplyAndTheirErrorsAdd) {
  const auto add = [&](const char* kind, const json& data) {
    ledger_.append("chain", kind, "measured", data);
  };
  for (const int round : {1, 2}) {
    add("verdict", {{"round", round},
                    {"pitch", fmt::format("p{}", round)},
                    {"kind", "accepted"},
                    {"speedup", {{"value", 2.0}, {"low", 1.0}, {"high", 4.0}}}});
    add("champion", {{"round", round},
                     {"pitch", fmt::format("p{}", round)},
                     {"champion", fmt::format("gpu_sm90:stages={}", round + 1)}});
  }
  const std::string page = main_of(report_page(ledger_, "chain"));
  EXPECT_TRUE(has(page, "4.00x</data> as fast as the baseline")) << page;
  // 4 / 2^sqrt(2) and 4 * 2^sqrt(2)
  EXPECT_TRUE(has(page, ">1.50</data>, <data")) << page;
  EXPECT_TRUE(has(page, ">10.66</data>]"));
  EXPECT_TRUE(has(page, "the 2 matches that changed the title"));
  EXPECT_TRUE(has(page, "1 more held the title in between"));
  EXPECT_TRUE(has(page, "<code class=\"raw\">gpu_sm90:stages=2</code>"));
  EXPECT_TRUE(has(page, "<code class=\"raw\">gpu_sm90:stages=3</code>"));
}

TEST_F(ReportPage, TheGainOfEachProblemIsThatOfTheMatch) {
  const std::string page = main_of(report_page(ledger_, "spring"));
  const std::size_t from = page.find("The champion against the baseline, in µs per call");
  ASSERT_NE(from, std::string::npos);
  const std::string table = page.substr(from, page.find("</table>", from) - from);
  const json problems =
      ledger_.entries("spring", "match").front().data.at("verdict").at("estimate").at("problems");
  for (const json& problem : problems) {
    EXPECT_TRUE(has(table, data(problem.at("champion_us"))));
    EXPECT_TRUE(has(table, data(problem.at("challenger_us"))));
  }
}

// A verdict whose reason nobody can read convinces nobody.
TEST_F(ReportPage, EveryVerdictsReasonIsOnTheScoreboard) {
  const std::string page = main_of(report_page(ledger_));
  for (const LedgerEntry& entry : ledger_.entries({}, "verdict")) {
    const std::string reason = entry.data.at("reason").get<std::string>();
    ASSERT_NE(reason, "");
    EXPECT_TRUE(has(page, ">" + reason + "</td>")) << reason;
  }
}

TEST_F(ReportPage, AMatchThatWentOnIsToldOnce) {
  const auto append_stretch = [this](json match, const char* verdict, const char* reason) {
    match.update({{"round", 1}, {"pitch", "slow_start"}});
    const std::int64_t id = ledger_.append("overtime", "match", "measured", match).id;
    ledger_.append("overtime", "verdict", "measured",
                   {{"round", 1},
                    {"pitch", "slow_start"},
                    {"match", id},
                    {"kind", verdict},
                    {"reason", reason}});
    return id;
  };
  const std::int64_t first = append_stretch({}, "unclear", "nobody knows yet");
  append_stretch({{"continues", first}}, "rejected", "now it is known");
  const std::string page = main_of(report_page(ledger_, "overtime"));
  EXPECT_FALSE(has(page, "nobody knows yet"));
  EXPECT_TRUE(has(page, "now it is known"));
}

TEST_F(ReportPage, NothingWonNothingIsCalledSo) {
  for (const char* kind : {"rejected", "unclear"}) {
    ledger_.append("lost", "verdict", "measured",
                   {{"round", 1},
                    {"pitch", kind},
                    {"kind", kind},
                    {"reason", "too slow"},
                    {"speedup", {{"value", 1.04}, {"low", 0.98}, {"high", 1.1}}}});
  }
  ledger_.append("lost", "round", "measured",
                 {{"round", 1}, {"winner", "rejected"}, {"outcome", "rejected"}});
  const std::string page = main_of(report_page(ledger_, "lost"));
  EXPECT_TRUE(has(page, "<h2>No pitch has proven faster than the baseline</h2>"));
  EXPECT_TRUE(has(page, "<strong>rejected</strong> came closest"));
  for (const char* word : {"winner", "Winner", " won", "new champion", "as fast as the baseline"}) {
    EXPECT_FALSE(has(page, word)) << word;
  }
  EXPECT_TRUE(has(page, "panel&#39;s choice"));
  EXPECT_TRUE(has(main_of(report_page(ledger_, "spring")), "new champion"));
}

TEST_F(ReportPage, VariantsAreWordsThatOpenToTheName) {
  ledger_.append("gpu", "season", "measured", {{"champion", "gpu_sm90:stages=3,graph=on"}});
  const std::string page = main_of(report_page(ledger_, "gpu"));
  EXPECT_TRUE(has(page,
                  "<summary>Hopper kernel: 3 stages in flight, replayed as a CUDA graph</summary>"
                  "<code class=\"raw\">gpu_sm90:stages=3,graph=on</code>"));
}

TEST_F(ReportPage, NothingReportedLooksMeasured) {
  const std::string body = main_of(report_page(ledger_, "seeds"));
  // Only the legend, which explains the word.
  EXPECT_EQ(count_of(body, "class=\"badge measured\""), 1U);
  EXPECT_TRUE(has(body,
                  "<data value=\"0.736842\">0.737x</data> <span class=\"badge reported\">reported"
                  "</span><small><span class=\"interval\"><data value=\"0.684211\">0.684x</data> "
                  "to <data value=\"0.805195\">0.805x</data></span> over problems"))
      << "a reported range has no brackets: those mean a confidence interval";
  EXPECT_TRUE(has(body, "<h2>Reported by others: no pitch took the title</h2>"));
  EXPECT_TRUE(has(body, ">Reported</th>"));
  EXPECT_FALSE(has(body, "Measured"));
  EXPECT_TRUE(has(body, "mark reported"));
  EXPECT_FALSE(has(body, "mark measured"));
}

// Somebody's own matches in a season that others reported: each number says whose it is.
TEST_F(ReportPage, AMixedSeasonTellsItsSourcesApart) {
  ledger_.append("seeds", "verdict", "measured",
                 {{"round", 3},
                  {"pitch", "ours"},
                  {"kind", "accepted"},
                  {"reason", "timed here"},
                  {"speedup", {{"value", 1.2}, {"low", 1.1}, {"high", 1.3}}}});
  ledger_.append("seeds", "champion", "reported", {{"round", 3}, {"champion", "ours"}});
  const std::string body = main_of(report_page(ledger_, "seeds"));
  EXPECT_TRUE(has(body, ">Result</th>"));
  EXPECT_TRUE(has(body, "<h2>Reported by others: ours took the title"));
  EXPECT_TRUE(has(body, "mark reported"));
  EXPECT_TRUE(has(body, "mark measured"));
}

TEST_F(ReportPage, ARoundWithoutAVerdictIsOpen) {
  const std::string body = main_of(report_page(ledger_, "seeds"));
  EXPECT_TRUE(has(body,
                  "<strong>stream_parallelism</strong> <span class=\"badge plain\">panel&#39;s "
                  "choice</span>"));
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
  EXPECT_FALSE(has(page, "<script")) << "the page has none of its own either";
}

TEST_F(ReportPage, HostileNamesStayText) {
  for (const char* kind : {"season", "pitch", "verdict", "champion", "ballot", "round", "veto",
                           "constraint", "match", "sheet", "time"}) {
    json data{{"round", 1}, {"speedup", {{"value", 1.2}, {"low", 1.1}, {"high", 1.3}}}};
    for (const char* name : {"name", "champion", "pitch", "kind", "reason", "shark", "winner", "id",
                             "what", "problem", "suite", "title", "challenger", "constraint"}) {
      data[name] = testing::kHostile;
    }
    ledger_.append(testing::kHostile, kind, "measured", data);
  }
  ledger_.append(testing::kHostile, "credibility", "measured",
                 {{"round", 1}, {"weights", {{testing::kHostile, 1.0}}}});
  const std::string page = report_page(ledger_, testing::kHostile);
  EXPECT_FALSE(has(page, "<script"));
  EXPECT_FALSE(has(page, "<img"));
  EXPECT_FALSE(has(page, "<!--"));
}

TEST_F(ReportPage, LoadsNothing) {
  const std::string page = report_page(ledger_);
  EXPECT_TRUE(has(page, "default-src 'none'"));
  EXPECT_FALSE(has(page, "script-src"));
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
  const std::string whole = main_of(report_page(ledger_));
  EXPECT_GT(whole.find("entries, none changed, none missing"), whole.find("Scoreboard"));
  EXPECT_FALSE(has(whole, "role=\"alert\""));
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
  ledger_.append("odd", "verdict", "measured", {{"round", 1e300}, {"pitch", "late"}});
  const std::string page = report_page(ledger_, "odd");
  EXPECT_TRUE(has(page, "samples unreadable"));
  EXPECT_TRUE(has(page, "<td role=\"cell\" class=\"pitch\" data-label=\"Pitch\"><strong>late"));
}

TEST(Report, AnEmptyLedgerHasAPage) {
  const ScratchFolder folder;
  const Ledger ledger(folder / "ledger.db");
  const std::string page = report_page(ledger);
  EXPECT_TRUE(has(page, "The ledger is empty: no season has been played."));
  EXPECT_TRUE(has(page, "0 entries"));
}

TEST_F(ReportPage, PutsMachinesSideBySide) {
  const std::string page = main_of(report_page({.ledgers = {&ledger_},
                                                .season = {},
                                                .plans = testing::sample_plans(),
                                                .searches = testing::sample_searches()}));
  const std::string part = page.substr(page.find("id=\"machines\""), page.find("id=\"season-0\""));
  EXPECT_TRUE(has(part, "a sample CPU, 4 threads"));
  EXPECT_TRUE(has(part, "wide_tiles")) << "the champion";
  EXPECT_TRUE(has(part, data(1.053))) << "a plan's gain";
  EXPECT_TRUE(has(part, data(1.095)));
  EXPECT_TRUE(has(part, "a sample GPU"));
  EXPECT_FALSE(has(part, "<script>"));
  EXPECT_EQ(count_of(part, "class=\"chart\""), 4U) << "three searches, one replay";
  EXPECT_EQ(count_of(part, "class=\"line random\" d=\"M0.0"), 1U) << "one at random over time";
}

// Of a search whose first leader was a mistake.
TEST_F(ReportPage, DrawsASearchAsItWent) {
  std::vector<MachinePlan> plans = testing::sample_plans();
  plans.resize(1);
  plans[0].entries.resize(1);
  plans[0].entries[0].story->trace = {{.seconds = 1, .tried = 6, .speedup = 2.761},
                                      {.seconds = 4, .tried = 60, .speedup = 1.13}};
  const std::string page =
      main_of(report_page({.ledgers = {&ledger_}, .season = {}, .plans = plans, .searches = {}}));
  EXPECT_TRUE(has(page, "the search: 1.130 at the end"));
  EXPECT_TRUE(has(page, ">2.761<")) << "what it believed for a time is drawn";
}

// Charts as the columns stand, and names of variants that break where a reader would.
TEST_F(ReportPage, ShowsMachinesInTheOrderOfTheirPlans) {
  std::vector<MachinePlan> plans = testing::sample_plans();
  std::swap(plans.front(), plans.back());
  const std::string page =
      main_of(report_page({.ledgers = {&ledger_}, .season = {}, .plans = plans, .searches = {}}));
  const std::size_t first = page.find("<figcaption>a sample GPU: ");
  EXPECT_NE(first, std::string::npos);
  EXPECT_LT(first, page.find("<figcaption>a sample CPU, 4 threads: "));
  EXPECT_TRUE(has(page, "<code>cpu_avx2:tile=2x16,<wbr>chunk=1024,<wbr>task=64x128</code>"));
  EXPECT_TRUE(has(page, "8\u00a0×\u00a0512\u00a0×\u00a02048, 16 tokens"));
}

// Two ledgers of two classes of machines: sharks' records of both.
TEST_F(ReportPage, PutsLedgersSideBySide) {
  Ledger other(folder_ / "other.db");
  testing::write_sample(other);
  const std::string page = main_of(report_page({.ledgers = {&ledger_, &other}, .season = {}}));
  EXPECT_TRUE(has(page, "Champions, machine by machine"));
  EXPECT_TRUE(has(page, "Sharks’ records, machine by machine"));
  EXPECT_EQ(count_of(page, "id=\"audit"), 2U);
  EXPECT_EQ(count_of(page, "a sample CPU, 4 threads: spring"), 2U + 2 * 2)
      << "two titles, and labels of two sharks";
  EXPECT_FALSE(has(main_of(report_page(other, "spring")), "machine by machine")) << "one alone";
}

}  // namespace
}  // namespace thresher
