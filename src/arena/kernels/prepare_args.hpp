// SPDX-License-Identifier: Apache-2.0
// What a call of an arena entry hands to its first kernel: the same bytes as entry.py writes.
#pragma once

#include "gpu/gemm/kernels/gemm_args.hpp"

namespace thresher::arena {

using gpu::u32;
using gpu::u64;

// The bytes of all groups must fit a kernel's parameters (4 KB).
inline constexpr u32 kGroupsMax = 32;

// One group. Codes are row-major, k / 2 bytes a row. Scales are in blocks of 128 rows x 4 (512
// bytes, gpu/sm100/kernels/tensor_layout.hpp), along k first; those of rows that are not there may
// be anything. Addresses are multiples of 16; k is a multiple of 256.
struct ArenaGroup {
  u64 tokens = 0;
  u64 token_scales = 0;        // blocked; 0: nothing is to be made of them
  u64 plain_token_scales = 0;  // row-major: where the GEMM reads them, and the others are brought
  u64 weights = 0;
  u64 weight_scales = 0;
  u64 up = 0;  // the second matrix of a dual product
  u64 up_scales = 0;
  u64 images = 0;  // where the packed weights go
  u64 c = 0;
  u64 c_stride_elements = 0;
  u32 m = 0;
  u32 n = 0;
  u32 k = 0;
  u32 unused = 0;
};
static_assert(sizeof(ArenaGroup) == 96);

struct PrepareArgs {
  u64 entries = 0;  // GroupEntry, one per group
  u64 counts = 0;   // u32, likewise
  u32 group_count = 0;
  u32 matrix_count = 1;  // 2: dual
  u64 unused = 0;
  ArenaGroup groups[kGroupsMax];
};
static_assert(sizeof(PrepareArgs) == 32 + 96 * kGroupsMax && sizeof(PrepareArgs) <= 4096);

}  // namespace thresher::arena
