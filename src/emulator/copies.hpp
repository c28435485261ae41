// SPDX-License-Identifier: Apache-2.0
// Copies in flight.
#pragma once

#include <functional>
#include <vector>

#include "emulator/operation.hpp"
#include "emulator/shared_memory.hpp"

namespace thresher::emulator {

struct Barrier;

// A bulk copy from global memory; its bytes count towards the phase in which it was issued.
class BulkCopy final : public Operation {
 public:
  struct Target {
    const Thread* thread;
    SharedAddress destination;
    u32 bytes;
    Barrier* barrier;
    Actor actor;  // whose event, of the barrier's phase, stands for the copy
  };
  // `bring` writes the bytes, some time.
  BulkCopy(Block& block, const Target& target, std::function<void(u8*)> bring);
  void advance() override;
  bool done() const override { return done_; }

 private:
  Target target_;
  std::function<void(u8*)> bring_;
  u32 phase_;
  bool done_ = false;
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
