// SPDX-License-Identifier: Apache-2.0
// Walks a cut of a plan: pack the activations of all groups, then compute the tiles of all groups.
#pragma once

#include <span>

#include "cpu/packed_weights.hpp"
#include "cpu/plan.hpp"
#include "cpu/pool.hpp"

namespace thresher::cpu {

// What a group multiplies and where its rows lie, or those of all groups of which its own are a
// part.
struct GroupBuffers {
  const std::uint8_t* a_codes = nullptr;
  const std::uint8_t* a_scales = nullptr;
  const std::uint16_t* a16 = nullptr;
  const PackedWeights* weights = nullptr;
  void* c = nullptr;
  std::int64_t c_stride_elements = 0;
  Factor factor;  // alpha and global scales, without the kernels' unit
  Factor factor_up;
};

// Where the first NaN activation scale stands, if there is one.
struct NanScale {
  bool found = false;
  std::int64_t group_index = 0;
  std::int64_t row = 0;
  std::int64_t block = 0;
};

struct CallBuffers {
  std::span<const GroupBuffers> groups;
  bool rows_follow = false;  // the rows of all groups, each other
};

// Allocates nothing. `buffers` has one entry per group, and may be the table at the start of
// `workspace`, which is plan.workspace_bytes long and 64-byte aligned. When a NaN scale is found
// nothing is written to any C.
NanScale run(const CpuPlan& plan, const Cut& cut, const CallBuffers& buffers,
             std::uint8_t* workspace, Pool& pool);

// What run() does but for tiles: threads are sent off as often, and find nothing to do.
void rehearse(const CpuPlan& plan, Pool& pool);

}  // namespace thresher::cpu
