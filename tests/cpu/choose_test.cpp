// SPDX-License-Identifier: Apache-2.0
#include "cpu/choose.hpp"

#include <gtest/gtest.h>

#include <map>

#include "cpu/body.hpp"
#include "gemm/suite.hpp"

namespace thresher::cpu {
namespace {

const std::vector<Isa> kEverything(std::begin(kAllIsas), std::end(kAllIsas));

Isa choice(std::vector<std::int64_t> m, Activations activations = Activations::kNvfp4,
           const std::vector<Isa>& isas = kEverything) {
  Problem problem{.name = "p", .activations = activations};
  for (const std::int64_t rows : m) problem.groups.push_back({.m = rows, .n = 64, .k = 64});
  return choose_isa(problem, isas);
}

// A tile of 16 rows costs as much as 11 rows of vectors, and so does expanding the weights for it
// and all others of a task.
TEST(Choose, AmxWhereItIsLessWork) {
  EXPECT_EQ(choice({16}), Isa::kAvx512Vnni);
  EXPECT_EQ(choice({29}), Isa::kAvx512Vnni);
  EXPECT_EQ(choice({30}), Isa::kAmx);
  EXPECT_EQ(choice({32}), Isa::kAmx);
  EXPECT_EQ(choice({33}), Isa::kAvx512Vnni);  // 16 rows and 17 pay for 48
  EXPECT_EQ(choice({48}), Isa::kAvx512Vnni);  // 24 rows twice for 64
  EXPECT_EQ(choice({49}), Isa::kAmx);
  EXPECT_EQ(choice({256}), Isa::kAmx);
  // Groups weigh as much as they cost; those without rows nothing.
  EXPECT_EQ(choice({256, 4, 4, 0, 0}), Isa::kAmx);
  EXPECT_EQ(choice({30, 4, 0, 0, 0}), Isa::kAvx512Vnni);
  EXPECT_EQ(choice({0, 0}), Isa::kAvx512Vnni);
}

TEST(Choose, FloatsGiveWayToAmxSooner) {
  EXPECT_EQ(choice({7}, Activations::kBf16), Isa::kAvx512Vnni);
  EXPECT_EQ(choice({8}, Activations::kBf16), Isa::kAmx);
}

// The choice of every suite's problems, with AMX and without it.
TEST(Choose, OfTheSuites) {
  const std::vector<Isa> vectors(kEverything.begin(), kEverything.end() - 1);
  const std::map<std::string, std::vector<std::string>> on_vectors_beside_amx = {
      {"seeds", {}},
      {"dual", {}},
      {"dual_wide", {}},
      {"decode",
       {"g8_m1_n4096_k7168", "g8_m16_n4096_k7168", "g32_m4_n4096_k7168", "g8_m16_n7168_k2048"}},
      {"experts",
       {"g8_m24_n6144_k3072", "g64_m16_n1536_k2048", "g128_skewed_n1536_k1024",
        "g256_m4_n1024_k1024"}}};
  for (const auto& [suite, names] : on_vectors_beside_amx) {
    std::vector<std::string> found;
    for (const Problem& problem : load_suite(suite).problems) {
      EXPECT_EQ(choose_isa(problem, vectors), Isa::kAvx512Vnni) << problem.name;
      if (choose_isa(problem, kEverything) != Isa::kAmx) found.push_back(problem.name);
    }
    EXPECT_EQ(found, names) << suite;
  }
}

TEST(Choose, AmxWhereItsTilesAreExact) {
  EXPECT_EQ(choice({100}, Activations::kBf16), Isa::kAmx);
  EXPECT_EQ(choice({100}, Activations::kFp16), Isa::kAvx512Vnni);
  if (!can_run(Isa::kAmx)) GTEST_SKIP() << "this CPU has no AMX: its body cannot be asked";
  for (const Activations activations :
       {Activations::kNvfp4, Activations::kFp16, Activations::kBf16}) {
    EXPECT_EQ(choice({100}, activations) == Isa::kAmx,
              body(Isa::kAmx).kernels(activations).tile_rows_max > 0)
        << to_string(activations);
  }
}

TEST(Choose, TheWidestVectorsThatThereAre) {
  EXPECT_EQ(choice({100}, Activations::kNvfp4, {Isa::kPortable}), Isa::kPortable);
  EXPECT_EQ(choice({100}, Activations::kNvfp4, {Isa::kPortable, Isa::kAvx2}), Isa::kAvx2);
  EXPECT_EQ(choice({100}, Activations::kNvfp4, {Isa::kPortable, Isa::kAvx2, Isa::kAvx512}),
            Isa::kAvx512);
  EXPECT_EQ(best_vector_isa(kEverything), Isa::kAvx512Vnni);
}

TEST(Choose, OnThisCpu) {
  const Problem problem{.name = "p", .groups = {{.m = 100, .n = 64, .k = 64}}};
  EXPECT_EQ(choose(problem).isa, choose_isa(problem, runnable_isas()));
  EXPECT_EQ(choose(problem), default_variant(choose(problem).isa));
  EXPECT_EQ(best_vector_isa(), best_vector_isa(runnable_isas()));
}

}  // namespace
}  // namespace thresher::cpu
