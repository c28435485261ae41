// SPDX-License-Identifier: Apache-2.0
// Copies in flight.
#pragma once

#include <vector>

#include "emulator/operation.hpp"
#include "emulator/shared_memory.hpp"

namespace thresher::emulator {

struct Barrier;

// A bulk copy from global memory; its bytes count towards the phase in which it was issued.
class BulkCopy : public Operation {
 public:
  struct Target {
    const Thread* thread;
    SharedAddress destination;
    u32 bytes;
    Barrier* barrier;
  };
  BulkCopy(Block& block, const Target& target);
  void advance() final;
  bool done() const final { return done_; }

 protected:
  virtual void bring(u8* destination) const = 0;

 private:
  Target target_;
  u32 phase_;
  bool done_ = false;
};

class CopyToShared final : public BulkCopy {
 public:
  CopyToShared(Block& block, const Target& target, const void* source)
      : BulkCopy(block, target), source_(source), bytes_(target.bytes) {}

 private:
  void bring(u8* destination) const override;

  const void* source_;
  u32 bytes_;
};

// A box of a matrix, brought into the swizzle.
struct Box {
  gpu::hw::MatrixExtents matrix;
  u64 row = 0;
  u64 byte = 0;

  u32 bytes() const { return matrix.box_rows * gpu::hw::kBoxRowBytes; }
  // What the matrix has of the box: of its rows, and of each of them.
  u32 rows_there() const;
  u32 bytes_there() const;
  const u8* row_at(u32 index) const;
};

class CopyBox final : public BulkCopy {
 public:
  CopyBox(Block& block, const Target& target, const Box& box)
      : BulkCopy(block, target), box_(box) {}

 private:
  void bring(u8* destination) const override;

  Box box_;
};

// A bulk copy to global memory: first it leaves shared memory, later it arrives.
class CopyToGlobal final : public Operation {
 public:
  CopyToGlobal(Block& block, void* destination, SharedAddress source, u32 bytes, u32 group);
  void advance() override;
  bool done() const override { return arrived_; }
  bool has_left() const { return left_; }
  u32 group() const { return group_; }

 private:
  void* destination_;
  SharedAddress source_;
  u32 bytes_;
  u32 group_;  // of its thread, counted from 1
  std::vector<u8> in_flight_;
  bool left_ = false;
  bool arrived_ = false;
};

// 16 bytes that a thread copies from global to shared memory.
class CopyPiece final : public Operation {
 public:
  // Without a source it brings zeros.
  CopyPiece(Block& block, SharedAddress destination, const void* source, u32 group)
      : Operation(block), destination_(destination), source_(source), group_(group) {}
  void advance() override;
  bool done() const override { return done_; }
  u32 group() const { return group_; }

 private:
  SharedAddress destination_;
  const void* source_;
  u32 group_;  // of its thread, counted from 1
  bool done_ = false;
};

}  // namespace thresher::emulator
