// SPDX-License-Identifier: Apache-2.0
// A made-up ledger: one season that others reported, and one of two measured rounds with pitches,
// ballots, matches, a veto, and credibilities. One pitch is hostile: its texts try to break out of
// the page.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "referee/statistics/analysis.hpp"
#include "referee/statistics/json.hpp"
#include "tank/ledger/ledger.hpp"

namespace thresher::testing {

inline constexpr const char* kHostile =
    "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&<!--";

struct SampleMatch {
  std::string pitch;
  std::vector<double> speedups;  // one per problem
  bool control = false;
};

inline constexpr int kSampleHeats = 6;
inline constexpr double kSlowedTruth = 0.95;

// Speedups with a wobble from heat to heat, so that intervals have a width.
inline MatchSamples sample_samples(const std::vector<double>& speedups) {
  MatchSamples samples{.problems = {"decode_g8_n4096_k7168", "g2_n3072_k4096", "g2_n4096_k1536"},
                       .slowed_truth = kSlowedTruth};
  for (int k = 0; k < kSampleHeats; ++k) {
    HeatSamples heat;
    for (int j = 0; j < static_cast<int>(speedups.size()); ++j) {
      const double champion_ns = 373000.0 / (1 + j) + 100 * k;
      const double wobble = std::exp(0.006 * std::sin(2.0 * k + j));
      const auto block = [&](double speedup) {
        const double other_ns = std::round(champion_ns / (speedup * wobble));
        return Block{j, k % 2 == 0, {champion_ns, champion_ns}, {other_ns, other_ns}};
      };
      heat.match.push_back(block(speedups[static_cast<std::size_t>(j)]));
      heat.same.push_back(block(1));
      heat.slowed.push_back(block(kSlowedTruth));
    }
    samples.heats.push_back(heat);
  }
  return samples;
}

class SampleLedger {
 public:
  explicit SampleLedger(Ledger& ledger) : ledger_(ledger) {}

  void write() {
    write_reported();
    write_start();
    for (const char* name : {"wide_tiles", "deep_prefetch", "hostile"}) write_pitch(name);
    write_round(1,
                {{"wide_tiles", {1.31, 1.12, 1.22}}, {"deep_prefetch", {0.97, 0.9, 0.93}, true}});
    add("champion", {{"round", 1}, {"champion", "wide_tiles"}, {"previous", "baseline"}});
    add("constraint", {{"id", "no_deep_prefetch"},
                       {"kind", "regression"},
                       {"claim", "prefetch beyond 4 lost in round 1"},
                       {"predicate", {{"knobs", {{"prefetch", "> 4"}}}}},
                       {"origin", "round 1"},
                       {"expires", "champion changes"}});
    add("veto", {{"round", 2},
                 {"pitch", "deep_prefetch"},
                 {"constraint", "no_deep_prefetch"},
                 {"reason", "prefetch = 8: lost in round 1"}});
    write_round(2, {{"hostile", {1.002, 0.995, 1.004}}});
    add("research", {{"round", 2}, {"findings", {"62 % of the time goes to unpacking scales"}}});
  }

 private:
  using Json = nlohmann::json;

  void add(const char* kind, const Json& data) { ledger_.append("spring", kind, "measured", data); }

  // As the seeds report it: ranges without a middle, no interval, no environment to speak of.
  void write_reported() {
    const auto report = [&](const char* kind, const Json& data) {
      ledger_.append("seeds", kind, "reported", data);
    };
    report("season", {{"name", "seeds"},
                      {"suite", "seeds"},
                      {"champion", "baseline"},
                      {"environment", {{"device", "B200"}}}});
    report("pitch", {{"name", "pipeline_stages"},
                     {"round", 1},
                     {"claim", {{"value", 1.643168}, {"low", 1.5}, {"high", 1.8}}}});
    report("sheet", {{"round", 1},
                     {"shark", "Shark 2"},
                     {"pitch", "pipeline_stages"},
                     {"scores", {{"speedup", 7}, {"risk", 8}}},
                     {"weights", {{"speedup", 0.6}, {"risk", 0.4}}},
                     {"total_on_sheet", 8.05},
                     {"total_recomputed", 7.4},
                     {"wrong", true}});
    report("ballot", {{"round", 1},
                      {"shark", "Shark 2"},
                      {"pitch", "pipeline_stages"},
                      {"score", 8.05},
                      {"vote", true},
                      {"forecast",
                       {{"p_works", nullptr},
                        {"log_speedup_median", nullptr},
                        {"log_speedup_low", std::log(1.5)},
                        {"log_speedup_high", std::log(1.8)}}},
                      {"reason", "Solid baseline, but not a 2x slam dunk"}});
    report("time", {{"round", 1},
                    {"problem", "g8_n4096_k7168"},
                    {"what", "pipeline_stages"},
                    {"microseconds", 488}});
    report("verdict", {{"round", 1},
                       {"pitch", "pipeline_stages"},
                       {"kind", "rejected"},
                       {"reason", "24 to 46 % slower than the baseline"},
                       {"speedup",
                        {{"value", 0.736842},
                         {"low", 0.684211},
                         {"high", 0.805195},
                         {"range", "over problems"}}}});
    report("round", {{"round", 1}, {"winner", "pipeline_stages"}, {"outcome", "rejected"}});
    report("round", {{"round", 2}, {"winner", "stream_parallelism"}, {"outcome", "open"}});
  }

  void write_start() {
    add("season",
        {{"name", "spring"},
         {"suite", "seeds"},
         {"backend", "cpu"},
         {"threads", 4},
         {"rubric", {{"name", "round_2"}, {"weights", {{"speedup", 0.6}, {"risk", 0.4}}}}},
         {"terms", DealTerms{}},
         {"environment", {{"cpu", "a sample CPU"}, {"rates", {{"read_gb_per_s", 21.375}}}}},
         {"champion", "baseline"},
         {"champion_hash", "c0ffee"}});
  }

  void write_pitch(const std::string& name) {
    const std::string text = name == "hostile" ? kHostile : "fewer, larger panels";
    add("pitch", {{"name", name},
                  {"title", text},
                  {"author", text},
                  {"family", "tile_shape"},
                  {"claim", {{"value", 1.4}, {"low", 1.2}, {"high", 1.65}}},
                  {"mechanism", text},
                  {"rollback", text},
                  {"text", text}});
  }

  void write_round(int round, const std::vector<SampleMatch>& matches) {
    for (const SampleMatch& match : matches) {
      write_ballot(round, "theorist", match.pitch, 1.15);
      write_ballot(round, "skeptic", match.pitch, 1.04);
    }
    for (const SampleMatch& match : matches) write_match(round, match);
    const double theorist = round == 1 ? 0.52 : 0.4375;
    add("credibility", {{"round", round},
                        {"weights", {{"theorist", theorist}, {"skeptic", 1 - theorist}}},
                        {"scores", {{"theorist", {{"crps", 0.041}, {"brier", 0.16}}}}},
                        {"effective_judges", nullptr}});
    add("round", {{"round", round}, {"winner", matches.front().pitch}, {"outcome", "accepted"}});
  }

  void write_ballot(int round, const std::string& shark, const std::string& pitch, double median) {
    add("ballot", {{"round", round},
                   {"shark", shark},
                   {"pitch", pitch},
                   {"score", 7.25},
                   {"vote", pitch == "wide_tiles"},
                   {"forecast",
                    {{"p_works", 0.625},
                     {"log_speedup_median", std::log(median)},
                     {"log_speedup_low", std::log(median) - 0.1},
                     {"log_speedup_high", std::log(median) + 0.1}}},
                   {"reason", pitch == "hostile" ? kHostile : "fits the machine's model"}});
  }

  void write_match(int round, const SampleMatch& match) {
    const MatchSamples samples = sample_samples(match.speedups);
    const Verdict verdict = decide(samples, DealTerms{}, AnalysisOptions{});
    const LedgerEntry entry = ledger_.append("spring", "match", "measured",
                                             {{"round", round},
                                              {"pitch", match.pitch},
                                              {"champion", round == 1 ? "baseline" : "wide_tiles"},
                                              {"challenger", match.pitch},
                                              {"suite", "seeds"},
                                              {"seed", 7},
                                              {"seconds", 12.5},
                                              {"control", match.control},
                                              {"samples", samples},
                                              {"verdict", verdict}});
    add("verdict", {{"round", round},
                    {"pitch", match.pitch},
                    {"kind", to_string(verdict.kind)},
                    {"check", verdict.check},
                    {"reason", verdict.reason},
                    {"speedup", verdict.estimate ? Json(verdict.estimate->speedup) : Json()},
                    {"control", match.control},
                    {"match", entry.id}});
  }

  Ledger& ledger_;
};

inline void write_sample(Ledger& ledger) { SampleLedger(ledger).write(); }

}  // namespace thresher::testing
