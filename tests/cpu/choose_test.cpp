// SPDX-License-Identifier: Apache-2.0
#include "cpu/choose.hpp"

#include <gtest/gtest.h>

#include "cpu/body.hpp"

namespace thresher::cpu {
namespace {

const std::vector<Isa> kEverything(std::begin(kAllIsas), std::end(kAllIsas));

Isa choice(std::vector<std::int64_t> m, Activations activations = Activations::kNvfp4,
           const std::vector<Isa>& isas = kEverything) {
  Problem problem{.name = "p", .activations = activations};
  for (const std::int64_t rows : m) problem.groups.push_back({.m = rows, .n = 64, .k = 64});
  return choose_isa(problem, isas);
}

TEST(Choose, AmxFromTwelveRowsOn) {
  EXPECT_EQ(choice({12}), Isa::kAmx);
  EXPECT_EQ(choice({11}), Isa::kAvx512Vnni);
  // On the mean of the groups that have rows.
  EXPECT_EQ(choice({20, 4, 0, 0, 0}), Isa::kAmx);
  EXPECT_EQ(choice({20, 3, 0, 0, 0}), Isa::kAvx512Vnni);
  EXPECT_EQ(choice({0, 0}), Isa::kAvx512Vnni);
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
