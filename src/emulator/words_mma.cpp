// SPDX-License-Identifier: Apache-2.0
// The words of wgmma.
#include "emulator/fault.hpp"
#include "emulator/grid.hpp"
#include "gpu/hw/emulated.hpp"

namespace thresher::gpu::hw {

using emulator::fault;
using emulator::self;
using emulator::Thread;
using emulator::Warpgroup;

namespace {

void issue(emulator::MmaRequest request) {
  Thread& thread = self();
  if (request.shape.operand == Operand::kOfLaunch) request.shape.operand = launch_types().operand;
  Warpgroup& warpgroup = thread.warpgroup();
  if (warpgroup.meeting.size() != kWarpgroupThreads) {
    fault(thread, "issues an MMA, but its warpgroup has only {} threads", warpgroup.meeting.size());
  }
  warpgroup.requests[static_cast<std::size_t>(thread.index % kWarpgroupThreads)] = request;
  if (warpgroup.meeting.join(thread, request.a != nullptr ? "mma from registers" : "mma")) {
    warpgroup.issue();
    warpgroup.meeting.release();
  }
}

}  // namespace

void mma_fence(Site site) {
  if (!leaves_out(site, "mma_fence")) ++self().mma.fence_count;
}

void mma_commit(Site site) {
  if (!leaves_out(site, "mma_commit")) ++self().mma.group_count;
}

void mma_wait_groups(int pending, const Site& site) {
  if (leaves_out(site, "mma_wait")) return;
  Thread& thread = self();
  thread.block->grid->pause(thread);
  thread.warpgroup().wait(thread, static_cast<u32>(pending));
}

void mma_from_registers(MmaShape shape, float* d, const u32* a, u64 b_descriptor, bool add) {
  issue({.shape = shape, .d = d, .a = a, .b_descriptor = b_descriptor, .add = add});
}

void mma_from_shared(MmaShape shape, float* d, u64 a_descriptor, u64 b_descriptor, bool add) {
  issue({.shape = shape,
         .d = d,
         .a_descriptor = a_descriptor,
         .b_descriptor = b_descriptor,
         .add = add});
}

void report_descriptor(SharedAddress address, u32 leading_bytes, u32 stride_bytes) {
  fault(self(),
        "makes a descriptor of address {:#x}, leading {} and stride {} bytes; all three must be "
        "multiples of 16",
        address, leading_bytes, stride_bytes);
}

}  // namespace thresher::gpu::hw
