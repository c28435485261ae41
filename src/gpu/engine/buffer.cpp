// SPDX-License-Identifier: Apache-2.0
// Device memory in the caller's hands.
#include "gpu/engine/state.hpp"

namespace thresher {

GpuBuffer::GpuBuffer(std::unique_ptr<State> state) : state_(std::move(state)) {}
GpuBuffer::GpuBuffer(GpuBuffer&&) noexcept = default;
GpuBuffer& GpuBuffer::operator=(GpuBuffer&&) noexcept = default;
GpuBuffer::~GpuBuffer() = default;

void* GpuBuffer::data() const { return state_->buffer.pointer<void>(); }
std::size_t GpuBuffer::bytes() const { return state_->buffer.bytes(); }
void GpuBuffer::copy_in(std::span<const std::byte> from) const { state_->buffer.copy_in(from); }
void GpuBuffer::copy_out(std::span<std::byte> to) const { state_->buffer.copy_out(to); }

GpuBuffer GpuEngine::allocate(std::size_t bytes) const {
  return GpuBuffer(std::make_unique<GpuBuffer::State>(
      GpuBuffer::State{gpu::DeviceBuffer(state_->device, bytes)}));
}

void GpuEngine::synchronize() const { state_->device.synchronize(); }

}  // namespace thresher
