// SPDX-License-Identifier: Apache-2.0
#include "emulator/copies.hpp"

#include <algorithm>
#include <cstring>

#include "emulator/block.hpp"
#include "emulator/fault.hpp"
#include "emulator/grid.hpp"

namespace thresher::emulator {

BulkCopy::BulkCopy(Block& block, const Target& target)
    : Operation(block), target_(target), phase_(target.barrier->phase) {}

void BulkCopy::advance() {
  if (done_) return;
  done_ = true;
  bring(block().shared.data(target_.destination));
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

void CopyToShared::bring(u8* destination) const { std::memcpy(destination, source_, bytes_); }

u32 Box::rows_there() const {
  const u64 left = matrix.row_count - std::min(matrix.row_count, row);
  return static_cast<u32>(std::min<u64>(left, matrix.box_rows));
}

u32 Box::bytes_there() const {
  const u64 left = matrix.row_bytes - std::min(matrix.row_bytes, byte);
  return static_cast<u32>(std::min<u64>(left, gpu::hw::kBoxRowBytes));
}

const u8* Box::row_at(u32 index) const {
  return static_cast<const u8*>(matrix.values) + (row + index) * matrix.row_bytes + byte;
}

void CopyBox::bring(u8* destination) const {
  constexpr u32 kChunkBytes = 16;
  std::memset(destination, 0, box_.bytes());
  for (u32 r = 0; r < box_.rows_there(); ++r) {
    for (u32 byte = 0; byte < box_.bytes_there(); byte += kChunkBytes) {
      const u32 place = (byte / kChunkBytes) ^ (r % 8);
      std::memcpy(destination + r * gpu::hw::kBoxRowBytes + place * kChunkBytes,
                  box_.row_at(r) + byte, kChunkBytes);
    }
  }
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
