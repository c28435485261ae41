// SPDX-License-Identifier: Apache-2.0
// Made-up ledgers. `write_sample`: one season that others reported, and one of two measured rounds
// with pitches, ballots, matches, a veto, and credibilities. One pitch is hostile: its texts try to
// break out of the page. `write_nine`: a season of nine pitches with every kind of verdict, in the
// words of real ones. `write_lost`: one in which nothing won.
#pragma once

#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "referee/statistics/analysis.hpp"
#include "referee/statistics/json.hpp"
#include "report/machines.hpp"
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
                       .slowed_truth = kSlowedTruth,
                       .timing = CallTiming{}};
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

struct SampleVerdict {
  int round = 0;
  const char* pitch = "";
  const char* title = "";
  double claim_low = 1;
  double claim_high = 1;
  const char* kind = "";
  nlohmann::json speedup;  // {value, low, high}, or null
  const char* reason = "";
};

inline nlohmann::json sample_speedup(double value, const nlohmann::json& low,
                                     const nlohmann::json& high) {
  return {{"value", value}, {"low", low}, {"high", high}};
}

// A name that offers no place to break, and intervals that are open or as wide as the axis.
inline std::vector<SampleVerdict> nine_verdicts() {
  return {
      {1, "stream_parallelism", "All groups at once", 4, 7, "unclear",
       sample_speedup(0.987, 0.966, 1.009),
       "g8_n1024_k1024: 0.965x, at least 0.893x; 0.971x is allowed; not even 499 more heats would "
       "tell (stopped after 10 heats by the limit of 14 s)"},
      {1, "tile_sizes", "A register tile that fits the rows", 2, 3, "rejected",
       sample_speedup(0.988, 0.979, 0.997), "geomean 0.988x, at most 1.000x; 1.010x was asked"},
      {1, "pipeline_stages", "Fetch weights ahead of their multiplication", 1.5, 1.8, "accepted",
       sample_speedup(1.294, 1.283, 1.304),
       "geomean 1.294x, at least 1.280x; 1.010x was asked, and no problem is more than 3.0 % "
       "slower"},
      {1, "torch_compile", "Let the compiler do the work", 10, 50, "invalid", nullptr,
       "said at 'hello': /usr/bin/python3 has no package 'torch'"},
      {2, "warp_specialisation", "Some threads decode, the others multiply", 1.25, 1.4, "rejected",
       sample_speedup(0.455, 0.451, 0.459), "geomean 0.455x, at most 0.460x; 1.010x was asked"},
      {2, "fused_dual", "Gate and up in one pass", 1, 1.2, "accepted",
       sample_speedup(1.015, 1.004, 1.026),
       "geomean 1.015x, at least 1.001x; 1.010x was asked, and no problem is more than 3.0 % "
       "slower"},
      {3, "streaming_epilogue_with_a_name_that_offers_no_place_to_break_it",
       "Results go to memory past the caches", 1.12, 1.15, "unclear",
       sample_speedup(1.333, 0.0, "inf"),
       "1 complete heats; a verdict needs 4 (stopped after 1 heats by the limit of 15 s)"},
      {3, "triton", "A kernel in Triton", 1.02, 1.07, "wrong", nullptr,
       "g8_n1024_k1024: group 1, row 17: 3 of 4096 values beyond the bound"},
      {3, "graph", "Replay a prepared plan", 1.11, 1.11, "unclear",
       sample_speedup(1.216, 0.417, 3.543), "the time of 15 s was over before the first heat was"},
  };
}

inline void write_verdicts(Ledger& ledger, const std::vector<SampleVerdict>& verdicts) {
  const auto add = [&](const char* kind, const nlohmann::json& data) {
    ledger.append("season", kind, "measured", data);
  };
  add("season", {{"suite", "tank"},
                 {"champion", "cpu_avx512vnni:decode=direct,tile=4x16,stages=0,dual=two_pass"},
                 {"environment", {{"cpu", "a sample CPU"}}}});
  for (const SampleVerdict& one : verdicts) {
    add("pitch", {{"name", one.pitch},
                  {"title", one.title},
                  {"claim",
                   {{"value", std::sqrt(one.claim_low * one.claim_high)},
                    {"low", one.claim_low},
                    {"high", one.claim_high}}}});
  }
  for (const SampleVerdict& one : verdicts) {
    add("ballot", {{"round", one.round},
                   {"shark", "Skeptic"},
                   {"pitch", one.pitch},
                   {"forecast", {{"p_works", 0.5}, {"log_speedup_median", std::log(1.04)}}},
                   {"reason", "it has been claimed before"}});
    add("verdict", {{"round", one.round},
                    {"pitch", one.pitch},
                    {"kind", one.kind},
                    {"reason", one.reason},
                    {"speedup", one.speedup}});
    if (std::string_view(one.kind) == "accepted") {
      add("champion", {{"round", one.round},
                       {"pitch", one.pitch},
                       {"champion", "cpu_avx512vnni:decode=direct,tile=4x16,stages=8"}});
    }
    add("round", {{"round", one.round}, {"winner", one.pitch}, {"outcome", one.kind}});
  }
  add("end", {{"reason", "time"}, {"match_seconds", 92.4}});
}

inline void write_nine(Ledger& ledger) { write_verdicts(ledger, nine_verdicts()); }

inline void write_lost(Ledger& ledger) {
  std::vector<SampleVerdict> verdicts = nine_verdicts();
  std::erase_if(verdicts,
                [](const SampleVerdict& one) { return std::string_view(one.kind) == "accepted"; });
  write_verdicts(ledger, verdicts);
}

// Plans of two machines, one of them with a search at random beside it, and one replay.
inline std::vector<MachinePlan> sample_plans() {
  const auto entry = [](std::int64_t tokens, bool better, bool at_random) {
    return PlanEntry{.of = {.op = Op::kDual, .groups = 8, .n = 512, .k = 2048},
                     .tokens = tokens,
                     .variant = better ? "cpu_avx2:tile=2x16,chunk=1024,task=64x128" : "cpu_avx2",
                     .choice = "cpu_avx2",
                     .better = better,
                     .speedup = better ? 1.053 : 1,
                     .low = better ? 1.013 : 1,
                     .high = better ? 1.095 : 1,
                     .reason = better ? "accepted: 1.053x" : kHostile,
                     .story = PlanStory{.space = 8640,
                                        .tried = 354,
                                        .choice_us = 9240,
                                        .at_random = at_random,
                                        .trace = {{.seconds = 2, .tried = 6, .speedup = 1.01},
                                                  {.seconds = 9, .tried = 60, .speedup = 1.06}}}};
  };
  const PlanFingerprint epyc{
      .backend = "cpu", .device = "a sample CPU", .thread_count = 4, .version = "0"};
  return {{.fingerprint = epyc, .entries = {entry(16, true, false), entry(64, false, false)}},
          {.fingerprint = epyc, .entries = {entry(16, false, true)}},
          {.fingerprint = {.backend = "gpu", .device = "a sample GPU", .version = "0"},
           .entries = {entry(16, true, false)}}};
}

inline std::vector<report::SimulatedSearch> sample_searches() {
  return {{.space = "convolution",
           .run_count = 100,
           .search = {0.5, 0.9, 1},
           .random = {0.5, 0.6, 0.7}}};
}

}  // namespace thresher::testing
