// SPDX-License-Identifier: Apache-2.0
// What the founding season concluded about Blackwell's tiles: "HARDWARE REQUIRES 128x128", and that
// every other tile is eliminated by a compile error. Each claim as its record has it, and what
// refutes it: 128 rows by 64 tokens multiply in the emulator, and compile.
#include <gtest/gtest.h>

#include <algorithm>

#include "gpu/gemm/entry_source.hpp"
#include "gpu/gemm/variant.hpp"
#include "gpu/runtime/compiler.hpp"
#include "support/scene.hpp"
#include "tank/pitch/constraint.hpp"
#include "tank/scratch_folder.hpp"
#include "tank/season/seeds_season.hpp"

namespace thresher {
namespace {

constexpr const char* kNarrow = "gpu_sm100:tokens=64";

TEST(SeedsClaims, ThatNIs128IsRefutedByRunning64) {
  const testing::ScratchFolder folder;
  Ledger ledger(folder / "ledger.db");
  import_seeds_season(ledger);
  const std::vector<Constraint> said = learned_constraints(ledger);
  const auto claim = std::find_if(
      said.begin(), said.end(), [](const Constraint& one) { return one.id == "seeds_tile_sizes"; });
  ASSERT_NE(claim, said.end());
  EXPECT_EQ(claim->kind, ConstraintKind::kHardware);
  EXPECT_EQ(claim->knobs.at("tile"), "!= 128x128x256");

  const std::vector<Constraint> facts = builtin_constraints();
  const std::vector<const Constraint*> refutations = refutations_of(*claim, facts);
  ASSERT_EQ(refutations.size(), 1u);
  EXPECT_EQ(refutations[0]->id, "sm100_fp4_n_side_step");
  EXPECT_TRUE(refutations[0]->shown_by.ends_with(kNarrow)) << refutations[0]->shown_by;
  EXPECT_TRUE(refutations_of(facts[0], facts).empty());

  const Engine engine({.device = "emulator:sm100"});
  for (const Op op : {Op::kGemm, Op::kDual}) {
    testing::Scene scene(engine, testing::make_problem({64, 9}, 256, 512, op));
    scene.run(engine, kNarrow);
    EXPECT_EQ(scene.why_wrong(), "") << to_string(op);
  }
}

TEST(SeedsClaims, ThatItDoesNotCompileIsRefutedByCompiling) {
  const std::vector<ReportedEntry> entries = seeds_season_entries();
  const bool was_said = std::any_of(entries.begin(), entries.end(), [](const ReportedEntry& one) {
    return one.kind == "verdict" && one.data.value("check", "") == "build" &&
           one.data.value("reason", "").find("HARDWARE REQUIRES 128x128") != std::string::npos;
  });
  EXPECT_TRUE(was_said);

  const gpu::NvrtcLookup found =
      gpu::find_nvrtc({.folders = gpu::pip_library_folders(THRESHER_VENV_DIR)});
  if (!found.nvrtc) GTEST_SKIP() << found.why_not;
  const gpu::Compiler compiler(*found.nvrtc);
  if (!compiler.compiles_for("sm_100a")) GTEST_SKIP() << compiler.version() << " has no sm_100a";
  const Problem problem{.name = "p", .groups = {{.m = 64, .n = 128, .k = 256}}};
  const gpu::GemmPlan plan =
      make_plan(gpu::variant_from_name(kNarrow).knobs,
                {problem, token_count(problem), {.compute_capability = 100, .sm_count = 148}});
  const std::string source = entry_source(plan.launches.front());
  const gpu::Compilation compilation =
      compiler.compile({.name = "entry.cu",
                        .source = source,
                        .headers = gpu::headers_of(source, kKernelSources),
                        .architecture = "sm_100a"});
  ASSERT_EQ(compilation.kernels.size(), 1u);
  EXPECT_FALSE(compilation.kernels.front().spills());
}

}  // namespace
}  // namespace thresher
