// SPDX-License-Identifier: Apache-2.0
#include "emulator/shared_memory.hpp"

#include <fmt/format.h>

#include <bit>

#include "emulator/block.hpp"
#include "emulator/fault.hpp"

namespace thresher::emulator {
namespace {

constexpr u32 kPieceBytes = 16;
constexpr u32 kWholePiece = 0xffff;

template <typename Function>
void for_each_piece(u32 offset, u32 bytes, Function function) {
  while (bytes > 0) {
    const u32 first = offset % kPieceBytes;
    const u32 count = std::min(bytes, kPieceBytes - first);
    function(offset / kPieceBytes, ((1u << count) - 1) << first);
    offset += count;
    bytes -= count;
  }
}

SharedAddress address_of(u32 byte_index) { return kSharedBase + byte_index; }

// The thread of `access` that does not know of `event`, or null.
const Thread* ignorant_thread(const Access& access, Actor actor, u32 event) {
  for (int i = 0; i < access.thread_count; ++i) {
    const Thread* const thread = access.threads[i];
    if (thread->knowledge.seen(actor) < event) return thread;
  }
  return nullptr;
}

}  // namespace

SharedMemory::SharedMemory(u32 bytes)
    : bytes_(bytes, 0xff),
      pieces_((bytes + kPieceBytes - 1) / kPieceBytes),
      byte_stamps_(pieces_.size() * kPieceBytes) {}

std::string SharedMemory::misplaced(SharedAddress address, u32 bytes, u32 alignment_bytes) const {
  if (address % alignment_bytes != 0)
    return fmt::format("not aligned to {} bytes", alignment_bytes);
  const u64 end = u64{kSharedBase} + bytes_.size();
  if (address < kSharedBase || u64{address} + bytes > end) {
    return fmt::format("outside shared memory ({:#x} to {:#x})", kSharedBase, end);
  }
  return "";
}

void SharedMemory::note_read(SharedAddress address, u32 bytes, const Access& access) {
  for_each_piece(address - kSharedBase, bytes,
                 [&](u32 index, u32 mask) { read_piece(index, mask, access); });
}

void SharedMemory::note_write(SharedAddress address, u32 bytes, const Access& access) {
  const Writer writer = access.async ? Writer::kCopy : Writer::kStore;
  write(address, bytes, access, {.event = access.event, .actor = access.actor, .writer = writer});
}

void SharedMemory::note_barrier(SharedAddress address, const Access& access) {
  write(address, sizeof(u64), access,
        {.event = access.event, .actor = access.actor, .writer = Writer::kBarrier});
}

void SharedMemory::write(SharedAddress address, u32 bytes, const Access& access, Stamp stamp) {
  for_each_piece(address - kSharedBase, bytes,
                 [&](u32 index, u32 mask) { write_piece(index, mask, access, stamp); });
}

void SharedMemory::read_piece(u32 piece_index, u32 byte_mask, const Access& access) {
  Piece& piece = pieces_[piece_index];
  const u32 first_byte = piece_index * kPieceBytes;
  if (!piece.mixed) {
    check_read(first_byte + static_cast<u32>(std::countr_zero(byte_mask)), piece.stamp, access);
  } else {
    for (u32 i = 0; i < kPieceBytes; ++i) {
      if ((byte_mask >> i & 1) != 0) {
        check_read(first_byte + i, byte_stamps_[first_byte + i], access);
      }
    }
  }
  for (Reader& reader : piece.readers) {
    if (reader.actor == access.actor && reader.byte_mask == byte_mask) {
      reader.event = access.event;
      return;
    }
  }
  piece.readers.push_back(
      {.event = access.event, .actor = access.actor, .byte_mask = static_cast<u16>(byte_mask)});
}

void SharedMemory::write_piece(u32 piece_index, u32 byte_mask, const Access& access, Stamp stamp) {
  Piece& piece = pieces_[piece_index];
  const u32 first_byte = piece_index * kPieceBytes;
  check_readers(piece_index, byte_mask, access);
  if (!piece.mixed) {
    check_overwrite(first_byte + static_cast<u32>(std::countr_zero(byte_mask)), piece.stamp,
                    access);
    if (byte_mask == kWholePiece || piece.stamp == stamp) {
      piece.stamp = stamp;
      return;
    }
    std::fill_n(&byte_stamps_[first_byte], kPieceBytes, piece.stamp);
    piece.mixed = true;
  }
  bool uniform = true;
  for (u32 i = 0; i < kPieceBytes; ++i) {
    Stamp& byte = byte_stamps_[first_byte + i];
    if ((byte_mask >> i & 1) != 0) {
      check_overwrite(first_byte + i, byte, access);
      byte = stamp;
    }
    uniform = uniform && byte == stamp;
  }
  if (uniform) {
    piece.stamp = stamp;
    piece.mixed = false;
  }
}

void SharedMemory::check_read(u32 byte_index, Stamp stamp, const Access& access) {
  if (stamp.writer == Writer::kNobody) {
    fault(*access.threads[0], "reads shared address {:#x}{}, which nobody has written",
          address_of(byte_index), access.by);
  }
  check_known(byte_index, stamp, access, "reads");
}

void SharedMemory::check_overwrite(u32 byte_index, Stamp stamp, const Access& access) {
  if (stamp.writer != Writer::kNobody) check_known(byte_index, stamp, access, "writes");
}

// An MMA visits hundreds of pieces with one stamp, so the last stamp that passed is remembered.
void SharedMemory::check_known(u32 byte_index, Stamp stamp, const Access& access,
                               const char* verb) {
  if (stamp == stamp_known_ && access.threads == stamp_checked_by_.threads &&
      access.actor == stamp_checked_by_.actor && access.event == stamp_checked_by_.event &&
      access.async == stamp_checked_by_.async) {
    return;
  }
  const SharedAddress address = address_of(byte_index);
  const Block& block = *access.threads[0]->block;
  if (stamp.writer == Writer::kBarrier) {
    fault(*access.threads[0], "{} shared address {:#x}{}, which holds a barrier", verb, address,
          access.by);
  }
  if (const Thread* const thread = ignorant_thread(access, stamp.actor, stamp.event)) {
    fault(*thread, "{} shared address {:#x}{}, which {}", verb, address, access.by,
          block.describe_write(stamp.actor, stamp.event));
  }
  if (access.async && stamp.writer == Writer::kStore) {
    for (int i = 0; i < access.thread_count; ++i) {
      if (access.threads[i]->knowledge.fenced(stamp.actor) >= stamp.event) continue;
      fault(*access.threads[i],
            "{} shared address {:#x}{}, but {} stored there without fence_async before the "
            "barrier",
            verb, address, access.by,
            stamp.actor < block.threads.size() ? fmt::format("thread {}", stamp.actor)
                                               : std::string("a copy of pieces"));
    }
  }
  stamp_known_ = stamp;
  stamp_checked_by_ = access;
}

void SharedMemory::check_readers(u32 piece_index, u32 byte_mask, const Access& access) {
  std::vector<Reader>& readers = pieces_[piece_index].readers;
  for (std::size_t i = 0; i < readers.size();) {
    const u32 overlap = readers[i].byte_mask & byte_mask;
    if (overlap != 0) {
      if (const Thread* const thread =
              ignorant_thread(access, readers[i].actor, readers[i].event)) {
        const u32 byte = piece_index * kPieceBytes + static_cast<u32>(std::countr_zero(overlap));
        fault(*thread, "writes shared address {:#x}{}, which {}", address_of(byte), access.by,
              thread->block->describe_read(readers[i].actor));
      }
      readers[i].byte_mask = static_cast<u16>(readers[i].byte_mask & ~byte_mask);
    }
    if (readers[i].byte_mask == 0) {
      readers[i] = readers.back();
      readers.pop_back();
    } else {
      ++i;
    }
  }
}

}  // namespace thresher::emulator
