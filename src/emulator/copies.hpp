// SPDX-License-Identifier: Apache-2.0
// Copies in flight.
#pragma once

#include <vector>

#include "emulator/operation.hpp"
#include "emulator/shared_memory.hpp"

namespace thresher::emulator {

struct Barrier;

// A bulk copy from global memory; its bytes count towards the phase in which it was issued.
class CopyToShared final : public Operation {
 public:
  struct Args {
    const Thread* thread;
    SharedAddress destination;
    const void* source;
    u32 bytes;
    Barrier* barrier;
  };
  CopyToShared(Block& block, const Args& args);
  void advance() override;
  bool done() const override { return done_; }

 private:
  Args args_;
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
