// SPDX-License-Identifier: Apache-2.0
#include "tune/variant_space.hpp"

#include <gtest/gtest.h>

#include <set>

#include "engine/backends.hpp"

namespace thresher::tune {
namespace {

VariantSpace space_of(const char* backend, Op op) {
  const Problem problem{.name = "p", .op = op, .groups = {{.m = 16, .n = 256, .k = 512}}};
  const MachineRates rates{40, 1000, 400, 400};
  return variant_space(backend_named(backend), problem, {.rates = rates, .thread_count = 2});
}

TEST(VariantSpace, HasOnlyWhatRunsAndEachOnce) {
  for (const char* backend : {"cpu", "gpu"}) {
    const VariantSpace found = space_of(backend, Op::kGemm);
    EXPECT_GT(found.names.size(), 500U) << backend;
    EXPECT_EQ(std::set<std::string>(found.names.begin(), found.names.end()).size(),
              found.names.size());
    EXPECT_EQ(found.space.points.size(), found.names.size());
    EXPECT_EQ(found.space.guesses.size(), found.names.size());
    for (const double guess : found.space.guesses) ASSERT_GT(guess, 0);
    const std::string& last = found.names.back();
    EXPECT_EQ(found.find(last), found.names.size() - 1);
    EXPECT_EQ(found.find("no such"), std::nullopt);
  }
}

TEST(VariantSpace, HasTheEnginesDefault) {
  const VariantSpace found = space_of("cpu", Op::kGemm);
  EXPECT_TRUE(found.find(backend_named("cpu").choices().front()));
}

// Also those that no grid has, with their neighbours.
TEST(VariantSpace, HasWhatTheEngineChoosesFrom) {
  const Problem problem{.name = "p", .groups = {{.m = 16, .n = 256, .k = 512}}};
  const MachineRates rates{40, 1000, 400, 400};
  for (const char* name : {"cpu", "gpu"}) {
    const Backend& backend = backend_named(name);
    const VariantSpace found = space_of(name, Op::kGemm);
    for (const std::string& choice : backend.choices()) {
      const bool runs = backend.supports(problem, choice, {.rates = rates, .thread_count = 2}).ok;
      EXPECT_EQ(found.find(choice).has_value(), runs) << choice;
    }
  }
}

TEST(VariantSpace, LeavesOutKnobsWithoutASay) {
  const auto knobs = [](Op op) { return space_of("cpu", op).space.knobs.size(); };
  EXPECT_EQ(knobs(Op::kDual), knobs(Op::kGemm) + 1);
}

}  // namespace
}  // namespace thresher::tune
