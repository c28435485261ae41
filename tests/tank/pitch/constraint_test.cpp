// SPDX-License-Identifier: Apache-2.0
#include "tank/pitch/constraint.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "engine/backends.hpp"
#include "gemm/suite.hpp"
#include "nvfp4/error_message.hpp"
#include "tank/scratch_folder.hpp"
#include "tank/season/season.hpp"

namespace thresher {
namespace {

using nvfp4::error_message;
using testing::ScratchFolder;

Pitch knob_pitch(std::map<std::string, std::string> knobs, std::string backend = "cpu") {
  return {.name = "p",
          .suite = "seeds",
          .backend = std::move(backend),
          .family = "idea",
          .knobs = std::move(knobs)};
}

// A pitch whose knobs have been laid over a champion.
Pitch variant_pitch(std::map<std::string, std::string> knobs, const std::string& variant) {
  Pitch pitch = knob_pitch(std::move(knobs));
  pitch.contestant.variant = variant;
  return pitch;
}

std::string vetoed_by(const Pitch& pitch) {
  const std::optional<Veto> veto = find_veto(pitch, builtin_constraints(), {.suite = "seeds"});
  return veto ? veto->constraint : "none";
}

Constraint stages_lost() {
  return {.id = "stages_lost",
          .kind = ConstraintKind::kRegression,
          .claim = "Prefetching lost.",
          .backend = "cpu",
          .knobs = {{"stages", "> 1"}},
          .origin = "ledger entry 7",
          .scope = "seeds",
          .expires = std::string(kExpiresWithChampion),
          .champion_hash = "c0",
          .season = "spring"};
}

const ConstraintContext kContext{
    .suite = "seeds", .season = "spring", .champion_hash = "c0", .device = "epyc"};

TEST(Constraint, ShippedOnesAreWhole) {
  std::set<std::string> ids;
  for (const Constraint& constraint : builtin_constraints()) {
    EXPECT_TRUE(ids.insert(constraint.id).second) << constraint.id;
    EXPECT_FALSE(constraint.claim.empty() || constraint.origin.empty()) << constraint.id;
    EXPECT_TRUE(constraint.claim.ends_with('.')) << constraint.claim;
    EXPECT_FALSE(describe_predicate(constraint).empty()) << constraint.id;
  }
  EXPECT_TRUE(ids.contains("sm100_fp4_m_side"));
  EXPECT_TRUE(ids.contains("one_stream"));
}

// Round 2 of the seeds' season, and what it should have learned from it.
TEST(Constraint, TheTilesOfBlackwell) {
  const auto tile = [](const char* text) {
    return vetoed_by(knob_pitch({{"tile", text}}, "gpu_sm100"));
  };
  EXPECT_EQ(tile("64x128x256"), "sm100_fp4_m_side");
  EXPECT_EQ(tile("128x128x256"), "none");
  EXPECT_EQ(tile("256x64x256"), "none") << "a pair of CTAs, and N need not be 128";
  EXPECT_EQ(tile("128x8x64"), "none");
  EXPECT_EQ(tile("128x100x256"), "sm100_fp4_n_side_step");
  EXPECT_EQ(tile("128x264x256"), "sm100_fp4_n_side_most");
  EXPECT_EQ(tile("128x128x96"), "sm100_fp4_k_step");
}

TEST(Constraint, TheTilesOfHopper) {
  const auto on = [](const char* isa, const char* knob, const char* value) {
    return vetoed_by(knob_pitch({{"isa", isa}, {knob, value}}, "gpu"));
  };
  EXPECT_EQ(on("sm90", "rows", "96"), "sm90_wgmma_m_side");
  EXPECT_EQ(on("sm90", "tokens", "12"), "sm90_wgmma_n_side_step");
  EXPECT_EQ(on("sm90", "tokens", "264"), "sm90_wgmma_n_side_most");
  EXPECT_EQ(on("sm90", "tokens", "248"), "none");
  // What Hopper cannot is no reason elsewhere.
  EXPECT_EQ(on("sm100", "rows", "96"), "sm100_rows");
  EXPECT_EQ(on("sm80", "rows", "96"), "none");
}

// Every veto of a variant for Blackwell is of something that its kernel refuses, by its own facts.
TEST(Constraint, LimitsOfBlackwellAreThoseOfTheKernel) {
  const std::map<std::string, std::string> vetoes = {
      {"gpu_sm100:rows=192", "sm100_rows"},
      {"gpu_sm100:tokens=168,stages=2,blocks=2", "sm100_tensor_memory"},
      {"gpu_sm100:steps=2", "sm100_nothing_to_decode"},
      {"gpu_sm100:prologue=kernel", "sm100_no_images"},
      {"gpu_sm100:prologue=inside", "sm100_no_images"},
      {"gpu_sm100:warpgroups=2", "sm100_four_warps_store"},
      {"gpu_sm100:arrive=warp", "sm100_commits_free_stages"},
      {"gpu_sm100:roles=same", "sm100_roles"},
      {"gpu_sm100:kernel=plain", "sm100_has_no_plain_kernel"},
      {"gpu_sm80:loads=multicast", "loads_of_blackwell"},
      {"gpu_sm90:loads=boxes", "loads_of_blackwell"}};
  const Problem problem = load_suite("seeds").problems[0];
  for (const auto& [variant, constraint] : vetoes) {
    Pitch pitch = variant_pitch({}, variant);
    pitch.backend = "gpu";
    EXPECT_EQ(vetoed_by(pitch), constraint) << variant;
    const bool for_blackwell = variant.starts_with("gpu_sm100");
    const Machine machine{.limits = {.compute_capability = for_blackwell ? 100 : 90}};
    EXPECT_FALSE(backend_of_variant(variant).supports(problem, variant, machine).ok) << variant;
  }
  // And nothing that it runs is vetoed.
  const Machine b200{.limits = {.compute_capability = 100, .sm_count = 148}};
  for (const char* variant :
       {"gpu_sm100", "gpu_sm100:tokens=160,stages=2,blocks=2", "gpu_sm100:rows=256",
        "gpu_sm100:tokens=256,stages=2,blocks=2,loads=multicast", "gpu_sm100:loads=boxes"}) {
    Pitch pitch = variant_pitch({}, variant);
    pitch.backend = "gpu";
    EXPECT_EQ(vetoed_by(pitch), "none") << variant;
    const Support support = backend_of_variant(variant).supports(problem, variant, b200);
    EXPECT_TRUE(support.ok) << variant << ": " << support.why_not;
  }
}

// Every such veto is of something that the kernels' own support table refuses too.
TEST(Constraint, LimitsOfHopperAreThoseOfTheKernels) {
  const Suite suite = load_suite("seeds");
  const std::map<std::string, std::string> vetoes = {
      {"gpu_sm90:tokens=256,rows=256,stages=3", "sm90_registers"},
      {"gpu_sm90:tokens=128,rows=256,warpgroups=1", "sm90_registers_one_warpgroup"},
      {"gpu_sm90:tokens=224,stages=7", "sm90_shared_memory"},
      {"gpu_sm90:schedule=balanced,split_k=2", "balanced_schedule_cuts_k_itself"}};
  for (const auto& [variant, constraint] : vetoes) {
    Pitch pitch = variant_pitch({}, variant);
    pitch.backend = "gpu";
    EXPECT_EQ(vetoed_by(pitch), constraint) << variant;
    EXPECT_FALSE(backend_of_variant(variant).supports(suite.problems[0], variant, {}).ok)
        << variant;
  }
  // Blackwell's sums are in tensor memory, and 256 rows are two blocks'.
  for (const char* variant : {"gpu_sm90:tokens=256,stages=6", "gpu_sm100:rows=256"}) {
    Pitch most = variant_pitch({}, variant);
    most.backend = "gpu";
    EXPECT_EQ(vetoed_by(most), "none") << variant;
  }
  Pitch odd = variant_pitch({}, "gpu_sm100:tokens=24,rows=256");
  odd.backend = "gpu";
  EXPECT_EQ(vetoed_by(odd), "sm100_pair_n_side_step");
}

TEST(Constraint, ThePlainKernelTakesNoNotice) {
  const auto on_plain = [](const char* knob, const char* value) {
    Pitch pitch = knob_pitch({{knob, value}}, "gpu");
    pitch.contestant = contestant_against(pitch, baseline(backend_named("gpu")));
    return vetoed_by(pitch);
  };
  EXPECT_EQ(on_plain("stages", "2"), "plain_kernel_has_one_stage");
  EXPECT_EQ(on_plain("store", "staged"), "plain_kernel_stores_directly");
  EXPECT_EQ(on_plain("store", "vectors"), "plain_kernel_stores_directly");
  EXPECT_EQ(on_plain("schedule", "balanced"), "plain_kernel_walks_tiles");
  EXPECT_EQ(on_plain("split_k", "2"), "plain_kernel_keeps_k_whole");
  EXPECT_EQ(on_plain("rows", "256"), "plain_kernel_rows");
  EXPECT_EQ(on_plain("kernel", "pipelined"), "none");
  EXPECT_EQ(on_plain("tokens", "64"), "none");
  EXPECT_EQ(on_plain("launches", "streams"), "none");
}

TEST(Constraint, ReasonsNameClaimValueAndSource) {
  const std::optional<Veto> veto = find_veto(knob_pitch({{"tile", "64x128x256"}}, "gpu_sm100"),
                                             builtin_constraints(), {.suite = "seeds"});
  ASSERT_TRUE(veto);
  EXPECT_EQ(veto->reason,
            "The M side of Blackwell's FP4 instruction is 128 rows, or 256 for a pair of CTAs. "
            "(this pitch: backend gpu_sm100, tile_rows = 64; source: PTX ISA 9.7.16, tcgen05.mma "
            "kind::mxf4nvf4; CUTLASS static_asserts in mma_sm100_umma.hpp)");
}

TEST(Constraint, InstructionSetsLimitKnobs) {
  EXPECT_EQ(vetoed_by(variant_pitch({{"store", "streaming"}}, "cpu_portable:store=streaming")),
            "portable_stores_plainly");
  EXPECT_EQ(vetoed_by(variant_pitch({{"store", "streaming"}}, "cpu_avx2:store=streaming")), "none");
  EXPECT_EQ(vetoed_by(variant_pitch({{"stages", "8"}}, "cpu_portable:stages=8")),
            "portable_prefetches_nothing");
  EXPECT_EQ(vetoed_by(variant_pitch({{"decode", "panel"}}, "cpu_portable:decode=panel")),
            "portable_decodes_directly");
  EXPECT_EQ(vetoed_by(variant_pitch({{"decode", "direct"}}, "cpu_amx:decode=direct")),
            "amx_multiplies_panels");
  EXPECT_EQ(vetoed_by(variant_pitch({{"tile", "32x16"}}, "cpu_avx512:tile=32x16")),
            "vector_tile_rows");
  EXPECT_EQ(vetoed_by(variant_pitch({{"tile", "8x32"}}, "cpu_avx2:tile=8x32")),
            "avx2_tile_columns");
  EXPECT_EQ(vetoed_by(variant_pitch({{"tile", "8x32"}}, "cpu_avx512:tile=8x32")), "none");
}

TEST(Constraint, KnobsOfTheChampionCount) {
  const std::map<std::string, std::string> split = {{"roles", "split"}};
  EXPECT_EQ(vetoed_by(variant_pitch(split, "cpu_avx2:decode=direct,roles=split")),
            "split_roles_share_panels");
  EXPECT_EQ(vetoed_by(variant_pitch(split, "cpu_avx2:decode=panel,roles=split")), "none");
  EXPECT_EQ(vetoed_by(knob_pitch(split)), "none") << "nobody knows yet what it will run with";
}

TEST(Constraint, BlamesNoPitchForWhatTheChampionDoes) {
  const std::vector<Constraint> constraints = {stages_lost()};
  EXPECT_FALSE(
      find_veto(variant_pitch({{"tile", "8x16"}}, "cpu_avx2:tile=8x16"), constraints, kContext));
  EXPECT_TRUE(
      find_veto(variant_pitch({{"stages", "4"}}, "cpu_avx2:stages=4"), constraints, kContext));
  Constraint rule = stages_lost();
  rule.kind = ConstraintKind::kRule;
  EXPECT_TRUE(find_veto(variant_pitch({}, "cpu_avx2"), {rule}, kContext))
      << "a whole variant answers for all of its knobs";
  EXPECT_FALSE(find_veto(variant_pitch({}, "cpu_avx2"), constraints, kContext))
      << "but is another idea than the one knob that lost";
}

TEST(Constraint, AllPartsMustMeet) {
  Constraint constraint = stages_lost();
  constraint.family = "pipeline_stages";
  Pitch pitch = knob_pitch({{"stages", "3"}});
  EXPECT_FALSE(find_veto(pitch, {constraint}, kContext)) << "another family";
  pitch.family = "pipeline_stages";
  EXPECT_TRUE(find_veto(pitch, {constraint}, kContext));
  pitch.backend = "gpu";
  EXPECT_FALSE(find_veto(pitch, {constraint}, kContext)) << "another backend";
  pitch = knob_pitch({{"stages", "1"}});
  pitch.family = "pipeline_stages";
  EXPECT_FALSE(find_veto(pitch, {constraint}, kContext)) << "another value";
}

TEST(Constraint, LearnedOnesYieldToNewEvidenceAndFactsDoNot) {
  Pitch pitch = knob_pitch({{"stages", "3"}});
  const std::optional<Veto> veto = find_veto(pitch, {stages_lost()}, kContext);
  ASSERT_TRUE(veto);
  EXPECT_EQ(veto->constraint, "stages_lost");
  EXPECT_EQ(veto->reason,
            "Prefetching lost. (this pitch: backend cpu, stages = 3; source: ledger entry 7); "
            "new_evidence in the pitch would reopen it");
  pitch.new_evidence = "a profile that shows stalls";
  EXPECT_FALSE(find_veto(pitch, {stages_lost()}, kContext));
  Constraint fact = stages_lost();
  fact.kind = ConstraintKind::kHardware;
  EXPECT_TRUE(find_veto(pitch, {fact}, kContext));
}

TEST(Constraint, ReopensWhenTheChampionChanges) {
  ConstraintContext context = kContext;
  EXPECT_TRUE(is_active(stages_lost(), context));
  context.champion_hash = "c1";
  EXPECT_EQ(why_inactive(stages_lost(), context), "reopened: the champion has changed since");
  EXPECT_FALSE(find_veto(knob_pitch({{"stages", "3"}}), {stages_lost()}, context));
}

TEST(Constraint, SpeaksOfItsScopeOnly) {
  Constraint constraint = stages_lost();
  for (const char* scope : {"", "seeds", "spring", "epyc"}) {
    constraint.scope = scope;
    EXPECT_TRUE(is_active(constraint, kContext)) << scope;
  }
  constraint.scope = "dual";
  EXPECT_EQ(why_inactive(constraint, kContext), "speaks of dual only");
}

TEST(Constraint, RulesEndWithTheirSeason) {
  Constraint rule = stages_lost();
  rule.kind = ConstraintKind::kRule;
  rule.expires = kExpiresWithSeason;
  EXPECT_TRUE(is_active(rule, kContext));
  rule.season = "winter";
  EXPECT_EQ(why_inactive(rule, kContext), "ended with season winter");

  Pitch streams = knob_pitch({}, "gpu_sm100");
  streams.family = "stream_parallelism";
  EXPECT_FALSE(find_veto(streams, builtin_constraints(), kContext));
  EXPECT_EQ(find_veto(streams, builtin_constraints(), {.season = "gpu_mode"}).value().constraint,
            "one_stream");
}

TEST(Constraint, WhatOthersReportBindsNobody) {
  Constraint constraint = stages_lost();
  constraint.reported = true;
  EXPECT_EQ(why_inactive(constraint, kContext), "reported, not measured here: it binds nobody");
}

TEST(Lesson, VetoesTheSameKnobsAgainstTheSameChampion) {
  const Pitch lost = knob_pitch({{"stages", "16"}, {"store", "streaming"}});
  const std::optional<Constraint> lesson = lesson_of(lost, {.season = "spring",
                                                            .round = 3,
                                                            .suite = "seeds",
                                                            .champion_hash = "c0",
                                                            .reason = "8 % slower",
                                                            .verdict_entry = 41});
  ASSERT_TRUE(lesson);
  EXPECT_EQ(lesson->id, "spring_round3_p");
  EXPECT_EQ(lesson->claim, "p lost in round 3: 8 % slower.");
  EXPECT_EQ(lesson->origin, "ledger entry 41, season spring");
  EXPECT_EQ(describe_predicate(*lesson), "backend cpu, stages = 16, store = streaming");
  EXPECT_TRUE(find_veto(lost, {*lesson}, kContext));
  EXPECT_FALSE(find_veto(knob_pitch({{"stages", "16"}}), {*lesson}, kContext))
      << "half of it is new";
  EXPECT_FALSE(
      find_veto(knob_pitch({{"stages", "16"}, {"store", "streaming"}, {"decode", "direct"}}),
                {*lesson}, kContext))
      << "with another knob it is another idea";

  const std::optional<Constraint> variant = lesson_of(variant_pitch({}, "cpu_avx2:stages=4"), {});
  ASSERT_TRUE(variant);
  EXPECT_EQ(variant->knobs.at("isa"), "= avx2");
  EXPECT_EQ(variant->knobs.at("stages"), "= 4");
  EXPECT_EQ(variant->knobs.at("dual"), "= fused");

  Pitch command = knob_pitch({});
  command.contestant = {.kind = ContestantKind::kCommand, .name = "p", .command = {"x"}};
  EXPECT_FALSE(lesson_of(command, {}));
}

TEST(Lesson, GoesThroughTheLedger) {
  const ScratchFolder folder;
  Ledger ledger(folder / "ledger.db");
  ledger.append("spring", "constraint", "measured", constraint_entry(stages_lost()));
  ledger.append("seeds", "constraint", "reported", constraint_entry(stages_lost()));
  const std::vector<Constraint> learned = learned_constraints(ledger);
  ASSERT_EQ(learned.size(), 2u);
  EXPECT_EQ(constraint_entry(learned[0]), constraint_entry(stages_lost()));
  EXPECT_EQ(learned[0].season, "spring");
  EXPECT_TRUE(is_active(learned[0], kContext));
  EXPECT_FALSE(is_active(learned[1], kContext));
}

TEST(Lesson, NamesTheEntryThatIsNone) {
  const auto complaint = [](auto change) {
    LedgerEntry entry{.id = 9, .season = "s", .source = "measured"};
    entry.data = constraint_entry(stages_lost());
    change(entry.data);
    return error_message([&] { constraint_from_entry(entry); });
  };
  using Json = nlohmann::json;
  EXPECT_EQ(complaint([](Json& data) { data.erase("claim"); }),
            "ledger entry 9: constraint: claim: no text");
  EXPECT_EQ(complaint([](Json& data) { data["kind"] = "hunch"; }),
            "ledger entry 9: constraint: kind: \"hunch\" is none of hardware, rule, regression");
  EXPECT_EQ(complaint([](Json& data) { data["predicate"] = 3; }),
            "ledger entry 9: constraint: predicate: no object");
  EXPECT_EQ(complaint([](Json& data) { data["predicate"]["knobs"]["stages"] = "many"; }),
            "ledger entry 9: constraint: predicate.knobs.stages: \"many\" is no condition; such as "
            "'= sequence', '> 1', '!= 128 and != 256' or 'not a multiple of 8' is allowed");
}

std::string faults_of(const char* text) {
  return error_message([&] { parse_constraints(text, "x.toml"); });
}

TEST(ConstraintFile, ListsEveryFault) {
  EXPECT_EQ(faults_of("a = 1"),
            "x.toml:1:1: the file has no [[constraint]] tables\n"
            "x.toml:1:1: unknown key \"a\"; a constraint file has constraint");
  EXPECT_EQ(faults_of("[[constraint]]\nid = \"x\"\nkind = \"regression\"\nexpires = \"soon\"\n"
                      "scop = \"\"\n"),
            "x.toml:1:1: the constraint has neither backend, family nor knobs; it would veto every "
            "pitch\n"
            "x.toml:1:1: the constraint has no claim\n"
            "x.toml:1:1: the constraint has no origin\n"
            "x.toml:3:8: kind = \"regression\" is none of hardware, rule\n"
            "x.toml:4:11: expires = \"soon\" is none of never, season ends\n"
            "x.toml:5:1: unknown key \"scop\"; a constraint has id, kind, claim, backend, family, "
            "knobs, origin, scope, expires, refutes, shown_by; did you mean 'scope'?");
  EXPECT_EQ(faults_of("[[constraint]]\nid = \"x\"\nclaim = \"c.\"\nkind = \"hardware\"\n"
                      "backend = \"gpu\"\norigin = \"o\"\nexpires = \"never\"\nrefutes = \"y\"\n"),
            "x.toml:1:1: what refutes a claim says both: refutes, and shown_by");
}

TEST(ConstraintFile, ChecksConditionsScopesAndIds) {
  const std::string head =
      "[[constraint]]\nid = \"x\"\nkind = \"rule\"\nclaim = \"c.\"\norigin = \"o\"\n";
  EXPECT_EQ(faults_of((head + "expires = \"never\"\nknobs = {stages = \"plenty\"}").c_str()),
            "x.toml:7:19: \"plenty\" is no condition; such as '= sequence', '> 1', '!= 128 and != "
            "256' or 'not a multiple of 8' is allowed");
  EXPECT_EQ(faults_of((head + "expires = \"never\"\nknobs = 3\nfamily = \"f\"").c_str()),
            "x.toml:7:9: knobs is an integer; a table such as {stages = \"> 1\"} is allowed");
  EXPECT_EQ(faults_of((head + "expires = \"season ends\"\nfamily = \"f\"").c_str()),
            "x.toml:1:1: the constraint expires when the season ends, and its scope names none");
  const std::string whole = head + "expires = \"never\"\nfamily = \"f\"\n";
  EXPECT_EQ(faults_of(whole.c_str()), "no error");
  EXPECT_EQ(faults_of((whole + whole).c_str()), "x.toml:8:1: the id \"x\" is taken");
}

}  // namespace
}  // namespace thresher
