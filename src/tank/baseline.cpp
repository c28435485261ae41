// SPDX-License-Identifier: Apache-2.0
#include "tank/baseline.hpp"

#include <algorithm>

#include "cpu/choose.hpp"

namespace thresher {
namespace {

bool is_dual_only(const Suite& suite) {
  return std::all_of(suite.problems.begin(), suite.problems.end(),
                     [](const Problem& problem) { return problem.op == Op::kDual; });
}

}  // namespace

Contestant cpu_baseline(const Suite& suite) {
  cpu::Variant variant = cpu::default_variant(cpu::best_vector_isa());
  variant.decode = cpu::Decode::kDirect;
  variant.tile_rows = 4;
  variant.tile_columns = 16;
  variant.stages = 0;
  variant.schedule = cpu::Schedule::kSequence;
  variant.store = cpu::Store::kPlain;
  variant.roles = cpu::Roles::kSame;
  // Two passes run nothing else, so that a mixed suite starts fused.
  variant.dual = is_dual_only(suite) ? cpu::Dual::kTwoPass : cpu::Dual::kFused;
  const std::string name = cpu::name(variant);
  return {.kind = ContestantKind::kVariant, .name = name, .variant = name};
}

}  // namespace thresher
