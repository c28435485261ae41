// SPDX-License-Identifier: Apache-2.0
// Every variant that this machine can run obeys the arithmetic contract on every edge problem.
#include <gtest/gtest.h>

#include <map>

#include "cpu/variant.hpp"
#include "gemm/suite.hpp"
#include "support/scene.hpp"
#include "thresher/engine.hpp"

namespace thresher {
namespace {

using testing::make_problem;
using testing::Scene;

constexpr std::uint64_t kVariantsSeed = 20260401;

// False where the variant says that it cannot run the problem.
bool expect_contract(const Engine& engine, const std::string& variant, const Problem& problem,
                     InputFamily family) {
  if (!engine.supports(problem, variant).ok) return false;
  Scene scene(engine, problem, family, kVariantsSeed);
  scene.run(engine, variant);
  const Conformance result = scene.conformance();
  EXPECT_TRUE(result.ok) << variant << " on " << problem.name << ", family " << to_string(family)
                         << ": " << result.first_failure
                         << "\nrepeat: thresher verify --suite edges"
                         << " --problem " << problem.name << " --variant " << variant
                         << " --family " << to_string(family) << " --seed " << kVariantsSeed;
  EXPECT_TRUE(scene.guards_intact()) << variant << " on " << problem.name << " wrote out of bounds";
  return true;
}

class EveryVariant : public ::testing::TestWithParam<InputFamily> {};

TEST_P(EveryVariant, ObeysTheContractOnEdges) {
  const Engine engine({.thread_count = 2});
  const Suite edges = load_suite("edges");
  for (const std::string& variant : engine.variants()) {
    int run_count = 0;
    for (const Problem& problem : edges.problems) {
      run_count += expect_contract(engine, variant, problem, GetParam()) ? 1 : 0;
    }
    EXPECT_GT(run_count, 0) << variant << " ran nothing";
  }
}

INSTANTIATE_TEST_SUITE_P(Families, EveryVariant,
                         ::testing::Values(InputFamily::kExact, InputFamily::kNatural,
                                           InputFamily::kFull),
                         [](const auto& family) { return std::string(to_string(family.param)); });

// Every row count of every register tile, direct and decoded.
TEST(Tiles, EveryHeightIsExact) {
  const Engine engine({.thread_count = 1});
  for (const cpu::Isa isa : cpu::runnable_isas()) {
    for (int rows = 1; rows <= 40; ++rows) {
      const Problem problem = make_problem({rows}, 50, 144);
      for (const cpu::Decode decode : {cpu::Decode::kDirect, cpu::Decode::kPanel}) {
        cpu::Variant variant = cpu::default_variant(isa);
        variant.decode = decode;
        variant.chunk_elements = 64;
        expect_contract(engine, name(variant), problem, InputFamily::kExact);
      }
    }
  }
}

TEST(Variants, AgreeBitForBitAcrossBodiesTilesAndThreads) {
  for (const Op op : {Op::kGemm, Op::kDual}) {
    for (const Activations activations :
         {Activations::kNvfp4, Activations::kFp16, Activations::kBf16}) {
      const Problem problem = make_problem({5, 0, 37, 1}, 70, 720, op, activations);
      std::map<bool, std::vector<std::uint8_t>> expected;  // AMX adds in another order
      for (const int thread_count : {1, 2, 3}) {
        const Engine engine({.thread_count = thread_count});
        for (const std::string& variant : engine.variants()) {
          if (!engine.supports(problem, variant).ok) continue;
          Scene scene(engine, problem, InputFamily::kNatural, kVariantsSeed);
          scene.run(engine, variant);
          auto& bytes = expected[variant.starts_with("cpu_amx")];
          if (bytes.empty()) bytes = scene.output_bytes();
          EXPECT_EQ(bytes, scene.output_bytes()) << variant << ", " << thread_count << " threads, "
                                                 << to_string(op) << ", " << to_string(activations);
        }
      }
    }
  }
}

TEST(Variants, StreamingStoresHandleAlignedRows) {
  const Engine engine({.thread_count = 1});
  for (const Output output : {Output::kFp16, Output::kBf16, Output::kFp32}) {
    // A stride of 61 + 3 elements puts rows on 32-byte boundaries for every output type.
    const Problem problem = make_problem({9}, 61, 128, Op::kGemm, Activations::kNvfp4, output);
    for (const cpu::Isa isa : cpu::runnable_isas()) {
      cpu::Variant variant = cpu::default_variant(isa);
      variant.store = cpu::Store::kStreaming;
      expect_contract(engine, name(variant), problem, InputFamily::kExact);
    }
  }
}

}  // namespace
}  // namespace thresher
