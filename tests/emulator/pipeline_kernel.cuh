// SPDX-License-Identifier: Apache-2.0
// A small kernel with everything a real one has: a producer warp that fills stages by bulk copies,
// a consumer warpgroup that multiplies A from registers by B from swizzled shared memory, and an
// epilogue through shared memory. The same source runs in the emulator and on a GPU.
//
// C[t] (64 x columns, fp16) = A[t] (64 x k) * B[t]^T (columns x k), k in steps of 64. In memory,
// for each tile and step: A as fragments, one U32x4 for each of 4 slices of 16 k and 128 threads; B
// as rows of 128 bytes in the 128-byte swizzle. Tiles are dealt to the blocks in turn.
//
// `fault` breaks one thing; the tests demand that the emulator notices each of them.
#pragma once

#include "gpu/hw/hw.cuh"

namespace thresher::gpu {

enum class PipelineFault {
  kNone,
  kBarrierNotFenced,     // no barrier_init_fence
  kBarrierNotSynced,     // no sync_block after the barriers are initialised
  kArrivalsTooMany,      // a stage expects one release fewer than it gets
  kArrivalsTooFew,       // and one more
  kParityWrong,          // the consumer waits for the wrong phase
  kReleaseNotAwaited,    // the producer refills a stage without waiting for its release
  kReleaseBeforeRead,    // the consumer releases a stage when it has only issued its MMAs
  kReleaseUnsynced,      // one lane releases a stage for lanes that may still read it
  kBytesNotExpected,     // the producer arrives without announcing the bytes
  kBytesTooMany,         // it announces more than it copies
  kCopyTooLong,          // a copy writes past its stage
  kCopyMisaligned,       // a copy starts 8 bytes into its source
  kDescriptorShifted,    // B one row late
  kDescriptorStride,     // groups of 8 rows overlap
  kSwizzleWrong,         // B read with another swizzle than it was written with
  kMmaNotFenced,         // A registers written, no mma_fence
  kMmaNotAwaited,        // sums read while in flight
  kFragmentOverwritten,  // one set of A registers for two steps in flight
  kStoreNotFenced,       // no fence_async between the epilogue's stores and its copy
  kStoreNotSynced,       // no barrier between them
  kStageOverwritten,     // the next epilogue stores while the copy of the last one reads
  kCopyNotAwaited,       // the block ends while its last copy reads
};

struct PipelineConfig {
  int columns = 64;     // a multiple of 16
  int stage_count = 3;  // 2 at least: a stage is released one step after its own
  PipelineFault fault = PipelineFault::kNone;

  constexpr bool operator==(const PipelineConfig&) const = default;
};

struct PipelineArgs {
  const U32x4* a;
  const u8* b;
  u16* c;
  int tile_count;
  int step_count;
};

inline constexpr int kPipelineThreads = 160;  // four consumer warps, one producer warp
inline constexpr u32 kPipelineABytes = 4 * 128 * 16;

template <PipelineConfig kConfig>
struct Pipeline {
  static constexpr PipelineFault kFault = kConfig.fault;
  static constexpr u32 kBBytes = kConfig.columns * 128;
  static constexpr u32 kStageBytes = kPipelineABytes + kBBytes;
  static constexpr u32 kStages = kConfig.stage_count;
  static constexpr u32 kCBytes = 64 * kConfig.columns * 2;
  // Stages, staging for C, then two barriers per stage.
  static constexpr u32 kSharedBytes = kStages * kStageBytes + kCBytes + 16 * kStages;

  using Sums = float[kConfig.columns / 2];
  using Fragments = u32[4][4];

  static THRESHER_DEVICE hw::SharedAddress stage(u32 index) {
    return hw::shared_base() + index * kStageBytes;
  }
  static THRESHER_DEVICE hw::SharedAddress staging() { return stage(kStages); }
  static THRESHER_DEVICE hw::SharedAddress full(u32 index) {
    return staging() + kCBytes + 16 * index;
  }
  static THRESHER_DEVICE hw::SharedAddress empty(u32 index) { return full(index) + 8; }

  static THRESHER_DEVICE void init_barriers() {
    constexpr u32 kReleases = kFault == PipelineFault::kArrivalsTooMany  ? 3
                              : kFault == PipelineFault::kArrivalsTooFew ? 5
                                                                         : 4;
    if (hw::thread_index() == 0) {
      for (u32 i = 0; i < kStages; ++i) {
        hw::barrier_init(full(i), 1);
        hw::barrier_init(empty(i), kReleases);
      }
      if (kFault != PipelineFault::kBarrierNotFenced) hw::barrier_init_fence();
    }
    if (kFault != PipelineFault::kBarrierNotSynced) hw::sync_block();
  }

  // The producer is one thread; it fills a stage once that has been released.
  static THRESHER_DEVICE void fill(const PipelineArgs& args, i64 block, u32 use_index) {
    const u32 index = use_index % kStages;
    const u32 round = use_index / kStages;
    if (kFault != PipelineFault::kReleaseNotAwaited)
      hw::barrier_wait(empty(index), (round & 1) ^ 1);
    const u32 extra = kFault == PipelineFault::kBytesTooMany ? 16 : 0;
    if (kFault == PipelineFault::kBytesNotExpected) {
      hw::barrier_arrive(full(index));
    } else {
      hw::barrier_arrive_expect(full(index), kStageBytes + extra);
    }
    const u8* a = reinterpret_cast<const u8*>(args.a) + block * kPipelineABytes;
    if (kFault == PipelineFault::kCopyMisaligned) a += 8;
    hw::copy_to_shared(stage(index), a, kPipelineABytes, full(index));
    const u32 surplus = kFault == PipelineFault::kCopyTooLong ? 16 : 0;
    hw::copy_to_shared(stage(index) + kPipelineABytes, args.b + block * kBBytes, kBBytes + surplus,
                       full(index));
  }

  static THRESHER_DEVICE void produce(const PipelineArgs& args) {
    u32 use_index = 0;
    for (int tile = hw::block_index(); tile < args.tile_count; tile += hw::block_count()) {
      for (int step = 0; step < args.step_count; ++step) {
        fill(args, static_cast<i64>(tile) * args.step_count + step, use_index++);
      }
    }
  }

  // The consumers are one warpgroup; each warp releases a stage by one arrival.
  static THRESHER_DEVICE void release(u32 use_index) {
    if (kFault != PipelineFault::kReleaseUnsynced) hw::sync_warp();
    if (hw::lane_index() == 0) hw::barrier_arrive(empty(use_index % kStages));
  }

  static THRESHER_DEVICE u64 b_descriptor(u32 index, u32 slice) {
    constexpr hw::Swizzle kSwizzle =
        kFault == PipelineFault::kSwizzleWrong ? hw::Swizzle::kNone : hw::Swizzle::k128;
    const u32 shift = kFault == PipelineFault::kDescriptorShifted ? 128 : 0;
    const u32 stride = kFault == PipelineFault::kDescriptorStride ? 512 : 1024;
    return hw::descriptor(stage(index) + kPipelineABytes + 32 * slice + shift, 0, stride, kSwizzle);
  }

  // Issues the MMAs of one step, then waits for those of the step before and releases its stage.
  static THRESHER_DEVICE void multiply(u32 use_index, bool first, Fragments& fragments,
                                       Sums& sums) {
    const u32 index = use_index % kStages;
    const u32 parity = use_index / kStages & 1;
    hw::barrier_wait(full(index), kFault == PipelineFault::kParityWrong ? parity ^ 1 : parity);
    THRESHER_UNROLL
    for (u32 slice = 0; slice < 4; ++slice) {
      const U32x4 words = hw::load_shared<U32x4>(
          stage(index) + (slice * 128 + static_cast<u32>(hw::thread_index())) * 16);
      fragments[slice][0] = words.x;
      fragments[slice][1] = words.y;
      fragments[slice][2] = words.z;
      fragments[slice][3] = words.w;
    }
    if (kFault != PipelineFault::kMmaNotFenced || use_index == 0) hw::mma_fence();
    THRESHER_UNROLL
    for (u32 slice = 0; slice < 4; ++slice) {
      hw::mma<kConfig.columns, hw::Operand::kFp16>(sums, fragments[slice],
                                                   b_descriptor(index, slice), !first || slice > 0);
    }
    hw::mma_commit();
    if (kFault == PipelineFault::kReleaseBeforeRead) release(use_index);
    if (first) return;
    hw::mma_wait<1>();
    if (kFault != PipelineFault::kReleaseBeforeRead) release(use_index - 1);
  }

  // 16 rows x 16 columns per warp and instruction.
  static THRESHER_DEVICE void store_tile(Sums& sums) {
    const u32 lane = static_cast<u32>(hw::lane_index());
    const u32 row = static_cast<u32>(hw::warp_index()) * 16 + lane % 16;
    THRESHER_UNROLL
    for (int j = 0; j < kConfig.columns / 16; ++j) {
      const float* d = sums + 8 * j;
      const u32 column = static_cast<u32>(j) * 16 + lane / 16 * 8;
      hw::store_matrix_x4(staging() + (row * kConfig.columns + column) * 2,
                          hw::pack_fp16x2(d[0], d[1]), hw::pack_fp16x2(d[2], d[3]),
                          hw::pack_fp16x2(d[4], d[5]), hw::pack_fp16x2(d[6], d[7]));
    }
  }

  static THRESHER_DEVICE void finish(const PipelineArgs& args, int tile, Sums& sums) {
    if (hw::thread_index() == 0 && kFault != PipelineFault::kStageOverwritten) {
      hw::copy_wait_read<0>();
    }
    hw::sync_named(1, 128);
    store_tile(sums);
    if (kFault != PipelineFault::kStoreNotFenced) hw::fence_async();
    if (kFault != PipelineFault::kStoreNotSynced) hw::sync_named(1, 128);
    if (hw::thread_index() == 0) {
      hw::copy_to_global(args.c + static_cast<i64>(tile) * (kCBytes / 2), staging(), kCBytes);
      hw::copy_commit();
    }
  }

  static THRESHER_DEVICE void consume(const PipelineArgs& args) {
    u32 use_index = 0;
    for (int tile = hw::block_index(); tile < args.tile_count; tile += hw::block_count()) {
      Sums sums;
      // Two sets of A registers: one is being read by the MMAs in flight.
      Fragments even;
      Fragments odd;
      Fragments& second = kFault == PipelineFault::kFragmentOverwritten ? even : odd;
      for (int step = 0; step < args.step_count; step += 2) {
        multiply(use_index++, step == 0, even, sums);
        if (step + 1 < args.step_count) multiply(use_index++, false, second, sums);
      }
      if (kFault == PipelineFault::kMmaNotAwaited) finish(args, tile, sums);
      hw::mma_wait<0>();
      hw::hide(sums);
      if (kFault != PipelineFault::kReleaseBeforeRead) release(use_index - 1);
      if (kFault != PipelineFault::kMmaNotAwaited) finish(args, tile, sums);
    }
    if (hw::thread_index() == 0 && kFault != PipelineFault::kCopyNotAwaited) {
      hw::copy_wait_read<0>();
    }
  }
};

template <PipelineConfig kConfig>
THRESHER_DEVICE void pipeline_kernel(const PipelineArgs& args) {
  using Roles = Pipeline<kConfig>;
  Roles::init_barriers();
  if (hw::warp_index() == 4) {
    if (hw::elect_one()) Roles::produce(args);
  } else {
    Roles::consume(args);
  }
}

}  // namespace thresher::gpu
