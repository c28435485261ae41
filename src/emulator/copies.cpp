// SPDX-License-Identifier: Apache-2.0
#include "emulator/copies.hpp"

#include <cstring>
#include <utility>

#include "emulator/block.hpp"
#include "emulator/fault.hpp"
#include "emulator/grid.hpp"

namespace thresher::emulator {

BulkCopy::BulkCopy(Block& block, const Target& target, std::function<void(u8*)> bring)
    : Operation(block), target_(target), bring_(std::move(bring)), phase_(target.barrier->phase) {}

void BulkCopy::advance() {
  if (done_) return;
  done_ = true;
  bring_(block().shared.data(target_.destination));
  Barrier& barrier = *target_.barrier;
  if (barrier.phase != phase_) {
    fault(*target_.thread,
          "copied {} bytes to {:#x} for phase {} of the barrier at {:#x}, which completed without "
          "expecting them",
          target_.bytes, target_.destination, phase_, barrier.address);
  }
  barrier.bytes_missing -= target_.bytes;
  if (barrier.arrivals_missing == 0 && barrier.bytes_missing < 0) {
    fault(*target_.thread, "copied {} bytes more than phase {} of the barrier at {:#x} expects",
          -barrier.bytes_missing, phase_, barrier.address);
  }
  block().grid->complete_phase_if_due(barrier);
}

CopyToGlobal::CopyToGlobal(Block& block, void* destination, SharedAddress source, u32 bytes,
                           u32 group)
    : Operation(block), destination_(destination), source_(source), bytes_(bytes), group_(group) {}

void CopyToGlobal::advance() {
  if (!left_) {
    const u8* const source = block().shared.data(source_);
    in_flight_.assign(source, source + bytes_);
    left_ = true;
  } else if (!arrived_) {
    std::memcpy(destination_, in_flight_.data(), bytes_);
    arrived_ = true;
  }
}

void CopyPiece::advance() {
  if (done_) return;
  done_ = true;
  constexpr std::size_t kPieceBytes = 16;
  u8* const destination = block().shared.data(destination_);
  if (source_ == nullptr) {
    std::memset(destination, 0, kPieceBytes);
  } else {
    std::memcpy(destination, source_, kPieceBytes);
  }
}

}  // namespace thresher::emulator
