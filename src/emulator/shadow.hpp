// SPDX-License-Identifier: Apache-2.0
// The shadow of a stretch of memory: for every byte who wrote it last, for every 16 bytes who has
// read them since. What makes an access wrong is the memory's to say (shared_memory.hpp,
// global_history.hpp): it hands in a check that sees each stamp, or each reader, once.
//
// Stamps are kept per 16 bytes while all 16 agree, which is the case for copies and MMAs, and per
// byte only where they do not.
#pragma once

#include <algorithm>
#include <bit>
#include <vector>

#include "emulator/knowledge.hpp"
#include "rounding.hpp"

namespace thresher::emulator {

inline constexpr u32 kShadowPieceBytes = 16;

// A Stamp can be compared; a Reader has a `byte_mask` and an `event`, and is_like() says whether it
// is another but for its event.
template <typename Stamp, typename Reader>
class Shadow {
 public:
  explicit Shadow(u32 bytes) : pieces_(divide_up(bytes, kShadowPieceBytes)) {}

  // check(byte index, stamp)
  template <typename Check>
  void read(u32 first, u32 bytes, Reader reader, Check check) {
    for_each_piece(first, bytes, [&](u32 index, u32 mask) {
      visit_stamps(index, mask, check);
      reader.byte_mask = static_cast<u16>(mask);
      note_reader(pieces_[index].readers, reader);
    });
  }

  // check_reader(byte index, reader), check(byte index, stamp)
  template <typename CheckReader, typename Check>
  void write(u32 first, u32 bytes, const Stamp& stamp, CheckReader check_reader, Check check) {
    for_each_piece(first, bytes, [&](u32 index, u32 mask) {
      forget_readers(index, mask, check_reader);
      visit_stamps(index, mask, check);
      set_stamps(index, mask, stamp);
    });
  }

 private:
  static constexpr u32 kWholePiece = 0xffff;

  struct Piece {
    Stamp stamp;  // of all 16 bytes, unless mixed
    bool mixed = false;
    std::vector<Reader> readers;
  };

  template <typename Function>
  static void for_each_piece(u32 offset, u32 bytes, Function function) {
    while (bytes > 0) {
      const u32 first = offset % kShadowPieceBytes;
      const u32 count = std::min(bytes, kShadowPieceBytes - first);
      function(offset / kShadowPieceBytes, ((1u << count) - 1) << first);
      offset += count;
      bytes -= count;
    }
  }

  static u32 first_byte(u32 mask) { return static_cast<u32>(std::countr_zero(mask)); }

  template <typename Check>
  void visit_stamps(u32 index, u32 mask, Check& check) {
    const u32 begin = index * kShadowPieceBytes;
    if (!pieces_[index].mixed) return check(begin + first_byte(mask), pieces_[index].stamp);
    for (; mask != 0; mask &= mask - 1) {
      const u32 byte = begin + first_byte(mask);
      check(byte, byte_stamps_[byte]);
    }
  }

  void set_stamps(u32 index, u32 mask, const Stamp& stamp) {
    Piece& piece = pieces_[index];
    if (mask == kWholePiece || (!piece.mixed && piece.stamp == stamp)) {
      piece.stamp = stamp;
      piece.mixed = false;
      return;
    }
    if (byte_stamps_.empty()) byte_stamps_.resize(pieces_.size() * kShadowPieceBytes);
    Stamp* const stamps = &byte_stamps_[index * kShadowPieceBytes];
    if (!piece.mixed) std::fill_n(stamps, kShadowPieceBytes, piece.stamp);
    for (u32 left = mask; left != 0; left &= left - 1) stamps[first_byte(left)] = stamp;
    piece.mixed = !std::all_of(stamps, stamps + kShadowPieceBytes,
                               [&](const Stamp& other) { return other == stamp; });
    piece.stamp = stamp;
  }

  static void note_reader(std::vector<Reader>& readers, const Reader& reader) {
    for (Reader& other : readers) {
      if (other.byte_mask == reader.byte_mask && other.is_like(reader)) {
        other.event = reader.event;
        return;
      }
    }
    readers.push_back(reader);
  }

  template <typename Check>
  void forget_readers(u32 index, u32 mask, Check& check) {
    std::vector<Reader>& readers = pieces_[index].readers;
    for (std::size_t i = 0; i < readers.size();) {
      const u32 overlap = readers[i].byte_mask & mask;
      if (overlap != 0) check(index * kShadowPieceBytes + first_byte(overlap), readers[i]);
      readers[i].byte_mask = static_cast<u16>(readers[i].byte_mask & ~mask);
      if (readers[i].byte_mask == 0) {
        readers[i] = readers.back();
        readers.pop_back();
      } else {
        ++i;
      }
    }
  }

  std::vector<Piece> pieces_;
  std::vector<Stamp> byte_stamps_;  // used where a piece is mixed
};

}  // namespace thresher::emulator
