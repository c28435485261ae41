// SPDX-License-Identifier: Apache-2.0
// Where the operands of a peer that is a program lie: in memory that it maps, the host's or a
// device's. Tables and a copy of all inputs lie in an arena of the host either way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "gpu/runtime/device.hpp"
#include "referee/protocol.hpp"
#include "referee/stage/arena.hpp"

namespace thresher::bench {

struct ProgramRoom {
  std::size_t input_bytes = 0;
  std::size_t output_bytes = 0;
};

class ProgramMemory {
 public:
  explicit ProgramMemory(std::size_t input_bytes)
      : inputs_(referee::ChildAccess::kRead, input_bytes) {}
  ProgramMemory(const ProgramMemory&) = delete;
  ProgramMemory& operator=(const ProgramMemory&) = delete;
  virtual ~ProgramMemory() = default;

  const referee::Arena& inputs() const { return inputs_; }
  virtual const referee::Arena& shared_outputs() const = 0;
  // What the program is told of it after its greeting, without a token.
  virtual std::optional<referee::Request> introduction() const = 0;
  // Whether calls are single ones, or batches.
  virtual bool takes_batches() const = 0;

  // So many bytes of the inputs have been written.
  virtual void send_inputs(std::size_t bytes) = 0;
  // As the host sees them: what is written there reaches the program by send_outputs(), and what
  // that has written is there after fetch_outputs().
  virtual std::span<std::byte> outputs() = 0;
  virtual void send_outputs() = 0;
  virtual void fetch_outputs() = 0;

 private:
  referee::Arena inputs_;
};

std::unique_ptr<ProgramMemory> make_host_memory(const ProgramRoom& room);
// The device must outlive it; `index` is its number.
std::unique_ptr<ProgramMemory> make_device_memory(const gpu::Device& device, int index,
                                                  const ProgramRoom& room);

}  // namespace thresher::bench
