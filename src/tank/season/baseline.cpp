// SPDX-License-Identifier: Apache-2.0
#include "tank/season/baseline.hpp"

#include "cpu/choose.hpp"
#include "gpu/sm90/variant.hpp"

namespace thresher {

Contestant cpu_baseline() {
  cpu::Variant variant = cpu::default_variant(cpu::best_vector_isa());
  variant.decode = cpu::Decode::kDirect;
  variant.tile_rows = 4;
  variant.tile_columns = 16;
  variant.stages = 0;
  variant.schedule = cpu::Schedule::kSequence;
  variant.store = cpu::Store::kPlain;
  variant.roles = cpu::Roles::kSame;
  variant.dual = cpu::Dual::kTwoPass;
  const std::string name = cpu::name(variant);
  return {.kind = ContestantKind::kVariant, .name = name, .variant = name};
}

Contestant gpu_baseline() {
  const std::string name = gpu::sm90::name(gpu::sm90::plain_variant());
  return {
      .kind = ContestantKind::kVariant, .name = name, .variant = name, .backend = Backend::kGpu};
}

Contestant baseline(Backend backend) {
  return backend == Backend::kGpu ? gpu_baseline() : cpu_baseline();
}

}  // namespace thresher
