// SPDX-License-Identifier: Apache-2.0
#include "bench/program_memory.hpp"

#include <cstring>

#include "gpu/runtime/memory.hpp"
#include "referee/stage/gpu_stage.hpp"

namespace thresher::bench {
namespace {

using referee::Arena;
using referee::ChildAccess;
using referee::Request;
using referee::RequestKind;

constexpr std::size_t kNoOutputBytes = 4096;

class HostMemory : public ProgramMemory {
 public:
  explicit HostMemory(const ProgramRoom& room)
      : ProgramMemory(room.input_bytes), outputs_(ChildAccess::kReadWrite, room.output_bytes) {}

  const Arena& shared_outputs() const override { return outputs_; }
  std::optional<Request> introduction() const override { return std::nullopt; }
  bool takes_batches() const override { return false; }
  void send_inputs(std::size_t) override {}
  std::span<std::byte> outputs() override { return {outputs_.data(), outputs_.bytes()}; }
  void send_outputs() override {}
  void fetch_outputs() override {}

 private:
  Arena outputs_;
};

referee::DeviceHandle handle_of(const gpu::DeviceBuffer& buffer) {
  const gpu::cuda::IpcMemoryHandle handle = buffer.share();
  referee::DeviceHandle bytes;
  static_assert(sizeof handle == sizeof bytes);
  std::memcpy(bytes.data(), handle.bytes, sizeof handle);
  return bytes;
}

// Whoever maps less than a whole block sees its neighbours too.
std::size_t shared_bytes(std::size_t bytes) {
  return referee::whole_blocks(static_cast<std::int64_t>(bytes));
}

class DeviceMemory : public ProgramMemory {
 public:
  DeviceMemory(const gpu::Device& device, int index, const ProgramRoom& room)
      : ProgramMemory(room.input_bytes),
        index_(index),
        device_inputs_(device, shared_bytes(room.input_bytes)),
        device_outputs_(device, shared_bytes(room.output_bytes)),
        outputs_(room.output_bytes),
        unused_(ChildAccess::kReadWrite, kNoOutputBytes) {}

  const Arena& shared_outputs() const override { return unused_; }
  std::optional<Request> introduction() const override {
    return Request{.kind = RequestKind::kDevice,
                   .input_bytes = static_cast<std::int64_t>(device_inputs_.bytes()),
                   .output_bytes = static_cast<std::int64_t>(device_outputs_.bytes()),
                   .device_index = index_,
                   .input_handle = handle_of(device_inputs_),
                   .output_handle = handle_of(device_outputs_)};
  }
  bool takes_batches() const override { return true; }
  void send_inputs(std::size_t bytes) override { device_inputs_.copy_in({inputs().data(), bytes}); }
  std::span<std::byte> outputs() override { return outputs_; }
  void send_outputs() override { device_outputs_.copy_in(outputs_); }
  void fetch_outputs() override { device_outputs_.copy_out(outputs_); }

 private:
  const int index_;
  gpu::DeviceBuffer device_inputs_;
  gpu::DeviceBuffer device_outputs_;
  std::vector<std::byte> outputs_;
  Arena unused_;  // what every program inherits
};

}  // namespace

std::unique_ptr<ProgramMemory> make_host_memory(const ProgramRoom& room) {
  return std::make_unique<HostMemory>(room);
}

std::unique_ptr<ProgramMemory> make_device_memory(const gpu::Device& device, int index,
                                                  const ProgramRoom& room) {
  return std::make_unique<DeviceMemory>(device, index, room);
}

}  // namespace thresher::bench
