// SPDX-License-Identifier: Apache-2.0
// Work in flight: what the machine does by itself, some time after a thread asked for it.
#pragma once

namespace thresher::emulator {

struct Block;

// The grid calls advance() at random moments; waiting threads call it until it is done.
class Operation {
 public:
  explicit Operation(Block& block) : block_(block) {}
  virtual ~Operation() = default;
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;

  // One step; nothing where it is done already.
  virtual void advance() = 0;
  virtual bool done() const = 0;
  Block& block() const { return block_; }

 private:
  Block& block_;
};

}  // namespace thresher::emulator
