// SPDX-License-Identifier: Apache-2.0
// The CPU's model of time on problems whose tasks can be counted by hand.
#include "cpu/model.hpp"

#include <gtest/gtest.h>

#include "backend/makespan.hpp"

namespace thresher::cpu {
namespace {

Machine machine_with(int thread_count, double read_gb_per_s = 1000) {
  return {.rates = {.read_gb_per_s = read_gb_per_s, .nvfp4_gop_per_s = 100},
          .thread_count = thread_count};
}

Problem even_problem() { return {.name = "even", .groups = {{.m = 256, .n = 256, .k = 1024}}}; }

TEST(Makespan, TheNextPieceGoesToWhoIsFree) {
  EXPECT_EQ(makespan({}, 2), 0);
  EXPECT_EQ(makespan({3, 5}, 4), 5);
  EXPECT_EQ(makespan({3, 5, 1, 1, 1}, 2), 6);
  EXPECT_EQ(makespan({3, 5, 1, 1, 1}, 1), 11);
}

TEST(CpuModel, AnEvenProblemIsBalanced) {
  const ModelledRun run =
      modelled_run(even_problem(), default_variant(Isa::kPortable), machine_with(2));
  EXPECT_NEAR(run.balance, 1, 1e-9);
  EXPECT_GE(run.work, 1);
  // 2 * 256 * 256 * 1024 operations at 100 G/s, and what decoding takes.
  EXPECT_NEAR(run.us, run.work * 1342.17728, 1e-6);
}

TEST(CpuModel, GroupAfterGroupLeavesThreadsIdle) {
  // Groups of one task each: the second thread has nothing to do while a group runs.
  const Problem problem{.name = "p",
                        .groups = {{4, 32, 64}, {4, 32, 64}, {4, 32, 64}, {4, 32, 64}}};
  Variant variant = default_variant(Isa::kPortable);
  const ModelledRun together = modelled_run(problem, variant, machine_with(2));
  EXPECT_NEAR(together.balance, 1, 1e-9);
  variant.schedule = Schedule::kSequence;
  const ModelledRun in_turn = modelled_run(problem, variant, machine_with(2));
  EXPECT_NEAR(in_turn.balance, 0.5, 1e-9);
  EXPECT_NEAR(in_turn.us, 2 * together.us, 1e-9);
}

TEST(CpuModel, SmallerTilesDecodeMoreOften) {
  Variant variant = default_variant(Isa::kPortable);
  const double large = modelled_run(even_problem(), variant, machine_with(1)).work;
  variant.tile_rows = 4;
  const double small = modelled_run(even_problem(), variant, machine_with(1)).work;
  EXPECT_GT(small, large);
  EXPECT_NEAR(small, (4.0 + 2) / 4, 1e-9);  // decoding takes as long as two rows
}

// The choice counts the work that the model counts: of this CPU's tiles, as its plans cut them.
TEST(CpuModel, DefaultKnobsCostWhatTheirPlansDo) {
  for (const Isa isa : runnable_isas()) {
    if (isa == Isa::kPortable || isa == Isa::kAvx2)
      continue;  // tiles of floats of their own height
    for (const Activations activations : {Activations::kNvfp4, Activations::kBf16}) {
      for (const std::int64_t m : {1, 12, 33, 96, 300, 700}) {
        const Problem problem{.name = "p",
                              .activations = activations,
                              .groups = {{m, 256, 1024}, {2 * m, 256, 1024}, {0, 256, 1024}}};
        Machine machine = machine_with(2);
        machine.rates.fp16_gop_per_s = machine.rates.bf16_gop_per_s = 25;
        const double work = modelled_run(problem, default_variant(isa), machine).work;
        const double row = isa != Isa::kAmx ? 1 : activations == Activations::kNvfp4 ? 0.7 : 0.3;
        const double useful = 3.0 * static_cast<double>(m) * (256 / 16) * (1024 / 64);
        EXPECT_NEAR(default_cost(problem, isa), row * work * useful, 1e-6 * useful)
            << to_string(isa) << ", m = " << m;
      }
    }
  }
}

// By hand: two tiles of 32 rows after one decoded panel, and tiles of 17 and 16, which pay for 48.
TEST(CpuModel, AmxPaysForWholeTilesAndForExpandingWeights) {
  const auto cost = [](std::int64_t m, Activations activations) {
    return default_cost({.name = "p", .activations = activations, .groups = {{m, 16, 64}}},
                        Isa::kAmx);
  };
  EXPECT_NEAR(cost(64, Activations::kNvfp4), 64 * 0.7 + 11, 1e-9);
  EXPECT_NEAR(cost(33, Activations::kNvfp4), 48 * 0.7 + 11, 1e-9);
  EXPECT_NEAR(cost(1, Activations::kNvfp4), 16 * 0.7 + 11, 1e-9);
  EXPECT_NEAR(cost(512, Activations::kNvfp4), 512 * 0.7 + 2 * 11, 1e-9);  // two tasks
  EXPECT_NEAR(cost(64, Activations::kBf16), 64 * 0.3 + 5, 1e-9);
  EXPECT_EQ(cost(0, Activations::kNvfp4), 0);
}

// Where the ceiling is that of AMX's tiles, vectors are not taken to reach it.
TEST(CpuModel, VectorsAreAsSlowBesideTilesAsWithoutThem) {
  Machine plain = machine_with(1);
  plain.rates.fp16_gop_per_s = plain.rates.bf16_gop_per_s = 25;
  Machine tiles = plain;
  tiles.rates.nvfp4_gop_per_s = tiles.rates.bf16_gop_per_s = 700;
  for (const Activations activations : {Activations::kNvfp4, Activations::kBf16}) {
    Problem problem = even_problem();
    problem.activations = activations;
    EXPECT_NEAR(modelled_run(problem, default_variant(Isa::kPortable), tiles).us,
                modelled_run(problem, default_variant(Isa::kPortable), plain).us, 1e-6);
  }
}

TEST(CpuModel, StreamingStoresSpareTheRead) {
  Variant variant = default_variant(Isa::kPortable);
  const ModelledRun plain = modelled_run(even_problem(), variant, machine_with(1));
  variant.store = Store::kStreaming;
  const ModelledRun streaming = modelled_run(even_problem(), variant, machine_with(1));
  const double c_bytes = 256 * 256 * 2;
  EXPECT_NEAR(plain.bytes - streaming.bytes, c_bytes, 1e-6);
  EXPECT_NEAR(streaming.store_bytes, c_bytes, 1e-6);
}

TEST(CpuModel, TwoPassesWriteAndReadTheirGates) {
  Problem problem = even_problem();
  problem.op = Op::kDual;
  Variant variant = default_variant(Isa::kPortable);
  const ModelledRun fused = modelled_run(problem, variant, machine_with(1));
  variant.dual = Dual::kTwoPass;
  const ModelledRun passes = modelled_run(problem, variant, machine_with(1));
  EXPECT_NEAR(passes.bytes - fused.bytes, 2.0 * 4 * 256 * 256, 1e-6);
}

TEST(CpuModel, SlowMemoryIsWhatTakesTheTime) {
  const ModelledRun run =
      modelled_run(even_problem(), default_variant(Isa::kPortable), machine_with(1, 0.001));
  EXPECT_NEAR(run.us, run.bytes, 1e-6);  // a thousandth of a GB per second is a byte per us
}

}  // namespace
}  // namespace thresher::cpu
