// SPDX-License-Identifier: Apache-2.0
// What the kernels are told: plain structs, the same bytes on host and device.
//
// The number of tokens of each group stands in device memory and is read by the kernels, so that a
// launch can be queued, or captured in a graph, before anybody knows it. The host knows a limit of
// all groups together, and kernels do not go beyond it whatever they read.
#pragma once

#include "factor.hpp"
#include "gpu/hw/types.hpp"

namespace thresher::gpu {

// One group, in device memory. Addresses are 64-bit numbers, as device code loads them. Of a group
// without tokens only n and k are looked at.
struct GroupEntry {
  // What every block asks for before it can fetch anything stands in one sector (32 bytes).
  u64 weights = 0;  // packed, 16-byte aligned; or, of kernels that copy boxes, their tensor map
  // NVFP4: codes, aligned to 8 bytes. fp16, bf16: values, aligned to 16. Rows are k apart.
  u64 activations = 0;
  u64 activation_scales = 0;  // NVFP4 only
  u32 n = 0;
  u32 k = 0;
  u64 c = 0;  // aligned to its element
  u64 c_stride_elements = 0;
  Factor factor;  // alpha and global scales; of the gate product if dual
  Factor factor_up;
};
static_assert(sizeof(GroupEntry) == 64);

// Rows of all groups, one group after the other; all groups have the same k, n and stride then.
// They travel with the launch, so that a call can go to other rows without anything being copied
// first.
struct RowsTable {
  u64 activations = 0;
  u64 activation_scales = 0;
  u64 c = 0;  // 0: every group has rows of its own, in its entry
  u64 c_stride_elements = 0;
};

struct GroupTable {
  const GroupEntry* entries = nullptr;
  const u32* token_counts = nullptr;  // one per group
  u32 token_limit = 0;                // of all groups together
  // 1: the counts do not change any more, and may be read while the kernels before still run. 0:
  // one of those may write them.
  u32 counts_known = 0;
  RowsTable rows;

  THRESHER_DEVICE bool rows_follow() const { return rows.c != 0; }
};

// Argument of the prologue (activation_images.cuh).
struct ImageArgs {
  GroupTable table;
  u8* images = nullptr;
  u32 group_count = 0;
};

// Argument of a GEMM launch. Pointers below `images` are null where the config does not need them.
struct GemmArgs {
  GroupTable table;
  u8* images = nullptr;
  float* gates = nullptr;  // two-pass dual: tokens of all groups x gate_stride_elements
  u64 gate_stride_elements = 0;
  float* partials = nullptr;  // tiles in parts: slots for the sums of one part each
  u32* counters = nullptr;    // tiles in parts: how many of a tile are done; zero between launches
  u32* image_counters = nullptr;  // prologue inside: two, likewise
  u32 first_group = 0;  // the launch computes groups first_group to first_group + group_count
  u32 group_count = 0;
};

}  // namespace thresher::gpu
