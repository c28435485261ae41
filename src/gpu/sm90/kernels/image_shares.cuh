// SPDX-License-Identifier: Apache-2.0
// The prologue inside the GEMM: its consumers make the images before they multiply.
//
// The work is cut into as many shares as the launch has consumer warpgroups. A warpgroup takes a
// share, makes it, says so, and takes another until none is left. So each makes one, as a rule; but
// if some blocks cannot start yet, because another kernel has their SMs, those that run make theirs
// too, and nobody ever waits for a block that has not started.
//
// Two counters: shares taken, counting those who found none left; and shares made, in the low half
// of the other word, with the loaders that know all of them to be in its high half. Whoever comes
// last sets a counter back to zero.
#pragma once

#include "gpu/gemm/kernels/activation_images.cuh"
#include "gpu/gemm/kernels/gemm_args.hpp"
#include "gpu/gemm/kernels/gemm_config.hpp"
#include "gpu/gemm/kernels/stage_ring.cuh"
#include "gpu/hw/hw.cuh"

namespace thresher::gpu::sm90 {

template <GemmConfig kConfig>
class ImageShares {
 public:
  THRESHER_DEVICE ImageShares(const GemmArgs& args, const StageRing<kConfig>& ring)
      : args_(args), ring_(ring) {}

  // By all consumers, which need neither ring nor book for it.
  THRESHER_DEVICE void make() const {
    const ImageArgs args{
        .table = args_.table, .images = args_.images, .group_count = group_count()};
    constexpr u32 kWarps = hw::kWarpgroupThreads / hw::kWarpThreads;
    const u32 warp = static_cast<u32>(hw::warp_index()) % kWarps;
    const u32 asked = ask();
    ImageTasks<kImages.cut> tasks(args.table, args.group_count);  // while the answer is awaited
    for (u32 share = answer(asked); share < share_count(); share = answer(ask())) {
      hw::wait_for_previous_kernel();
      tasks.rewind();
      make_images<kImages, kPieces>(args, tasks, share * kWarps + warp, share_count() * kWarps);
      hw::fence_async_global();
      sync();
      if (thread() == 0) {
        hw::fence_device();  // behind the barrier, so that it covers what all of them stored
        hw::atomic_add(made(), 1);
      }
    }
    // The next launch may take shares once all of this one are taken.
    hw::sync_named(kConsumersBarrier, consumer_threads(kConfig));
    if (hw::thread_index() == 0) hw::start_next_kernel();
  }

  // By the loader, before it fetches an image. Until the kernel before has ended, the count may be
  // that one's.
  THRESHER_DEVICE void wait() const {
    hw::wait_for_previous_kernel();
    while (hw::load_global_acquire(made()) % kKnown != share_count()) {
    }
    hw::fence_async_global();
  }

  // By the loader, some time after it has waited.
  THRESHER_DEVICE void leave() const {
    const u32 others = static_cast<u32>(hw::block_count()) - 1;
    if (hw::atomic_add(made(), kKnown) / kKnown != others) return;
    hw::atomic_add(made(), 0u - (hw::block_count() * kKnown + share_count()));
  }

 private:
  static constexpr ImageConfig kImages{.activations = kConfig.activations,
                                       .cut = token_cut(kConfig)};
  static constexpr int kPieces = 4;
  static constexpr u32 kKnown = 1 << 16;

  THRESHER_DEVICE static u32 share_count() {
    return static_cast<u32>(hw::block_count() * kConfig.consumer_warpgroups);
  }
  THRESHER_DEVICE u32 group_count() const { return args_.first_group + args_.group_count; }
  THRESHER_DEVICE u32* taken() const { return args_.image_counters; }
  THRESHER_DEVICE u32* made() const { return args_.image_counters + 1; }

  // Takes a share for the warpgroup; thread 0 knows which, and tells the others.
  THRESHER_DEVICE u32 ask() const { return thread() == 0 ? hw::atomic_add(taken(), 1) : 0; }
  THRESHER_DEVICE u32 answer(u32 asked) const {
    const hw::SharedAddress flag =
        ring_.base + StageRing<kConfig>::kLayout.flags + 4 * static_cast<u32>(warpgroup());
    if (thread() == 0) {
      if (asked == 2 * share_count() - 1) {
        hw::atomic_add(taken(), 0u - 2 * share_count());
        hw::fence_device();
      }
      hw::store_shared(flag, asked);
    }
    sync();
    const u32 share = hw::uniform(hw::load_shared<u32>(flag));
    sync();  // before the flag is written again
    return share;
  }

  THRESHER_DEVICE static int warpgroup() { return hw::thread_index() / hw::kWarpgroupThreads; }
  THRESHER_DEVICE static int thread() { return hw::thread_index() % hw::kWarpgroupThreads; }
  THRESHER_DEVICE static void sync() { hw::sync_named(1 + warpgroup(), hw::kWarpgroupThreads); }

  const GemmArgs& args_;
  const StageRing<kConfig>& ring_;
};

}  // namespace thresher::gpu::sm90
