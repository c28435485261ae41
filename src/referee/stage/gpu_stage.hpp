// SPDX-License-Identifier: Apache-2.0
// The inputs of contestants on a GPU. As in stage.hpp the referee owns them and keeps its own copy;
// only where they lie differs:
//   shared memory   weights, and the tables of the calls, which say where everything is
//   device memory   the same weights at the same offsets, and behind them the activations
// Activations reach the device when their calls are bound, and shared memory never: nobody can
// compute with them before the clock runs.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gpu/runtime/device.hpp"
#include "gpu/runtime/memory.hpp"
#include "gpu/runtime/stream.hpp"
#include "referee/stage/rotation.hpp"
#include "referee/stage/stage.hpp"

namespace thresher::referee {

// Device memory is shared in blocks of this size; a smaller piece would show its neighbours to
// whoever maps it.
inline constexpr std::int64_t kSharedBlockBytes = std::int64_t{2} << 20;
std::size_t whole_blocks(std::int64_t bytes);

// A problem that will be put on stage, and how often.
struct GpuEntry {
  Problem problem;
  Rotation rotation;
};

// One call of a batch before it is bound.
struct UnboundCall {
  std::int64_t id = 0;  // of the staged problem
  std::int64_t activations_offset = 0;
  std::vector<OutputPlace> outputs;
};

class GpuStage final : public Stage {
 public:
  GpuStage(const gpu::Device& device, std::span<const GpuEntry> entries, Room room);

  StagedProblem put(const Problem& problem, Inputs inputs) override;
  void clear() override { used_ = 0; }
  // In both memories.
  bool weights_intact(const StagedProblem& staged) const override;

  // In two steps: room for a problem, whose inputs are the caller's to draw, and writing its
  // weights there, as often as they change. The latter for several problems at a time.
  StagedProblem reserve(const Problem& problem);
  void write(const StagedProblem& staged);

  // Offsets for the activations of `call_count` calls, in random order.
  std::vector<std::int64_t> draw_places(const Problem& problem, int call_count,
                                        Random& random) const;
  // Puts the tables and the list of a batch into shared memory; returns the offset of the list.
  std::int64_t put_batch(const StagedProblem& staged, std::span<const UnboundCall> calls);
  // Queues the activations of `inputs` for the device, those of several places at a time. sync()
  // before anybody runs, and before a place is used again.
  void put_activations(const Problem& problem, const Inputs& inputs, std::int64_t offset);
  void sync();

  bool call_intact(const Problem& problem, const Inputs& inputs, std::int64_t offset) const;

  const Arena& arena() const { return arena_; }
  const gpu::DeviceBuffer& device_memory() const { return device_memory_; }
  const gpu::Device& device() const { return device_; }
  const gpu::Stream& stream() const { return stream_; }

 private:
  struct Sizes {
    std::int64_t weights = 0;
    std::int64_t tables = 0;       // shared memory, behind the weights
    std::int64_t activations = 0;  // device memory, behind the weights
  };
  static Sizes sizes_of(std::span<const GpuEntry> entries, Room room);
  GpuStage(const gpu::Device& device, Sizes sizes);

  const Sizes sizes_;
  const gpu::Device& device_;
  gpu::Stream stream_;
  Arena arena_;
  gpu::DeviceBuffer device_memory_;
  std::vector<std::byte> images_;  // activations on their way to the device, by place
  std::int64_t used_ = 0;
  std::int64_t next_id_ = 0;
};

}  // namespace thresher::referee
