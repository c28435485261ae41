// SPDX-License-Identifier: Apache-2.0
// Device memory: owned here, or owned by another process and mapped into this one.
#pragma once

#include <cstddef>
#include <span>
#include <type_traits>

#include "gpu/runtime/context.hpp"
#include "gpu/runtime/device.hpp"
#include "gpu/runtime/stream.hpp"

namespace thresher::gpu {

class DeviceBuffer {
 public:
  // No memory: address 0.
  DeviceBuffer() = default;
  // Contents are indeterminate. 0 bytes take no memory. Throws Error saying how much is free.
  DeviceBuffer(const Device& device, std::size_t bytes);
  DeviceBuffer(DeviceBuffer&& other) noexcept
      : owned_(std::move(other.owned_)), bytes_(std::exchange(other.bytes_, 0)) {}
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    owned_ = std::move(other.owned_);
    bytes_ = std::exchange(other.bytes_, 0);
    return *this;
  }

  std::size_t bytes() const { return bytes_; }
  cuda::DevicePointer address() const { return owned_.handle(); }
  // For kernel arguments. Only the device may follow it.
  template <typename T>
  T* pointer(std::size_t offset_bytes = 0) const {
    return reinterpret_cast<T*>(address() + offset_bytes);
  }

  // Done when they return, after everything queued on any stream: for setting up and for checking,
  // not for timed code. Throw Error if the range does not lie in the buffer.
  void copy_in(std::span<const std::byte> from, std::size_t offset_bytes = 0) const;
  void copy_out(std::span<std::byte> to, std::size_t offset_bytes = 0) const;
  void fill(std::byte value) const;

  // Queued on `stream`; host memory must live until the stream has come this far.
  void enqueue_copy_in(const Stream& stream, std::span<const std::byte> from,
                       std::size_t offset_bytes = 0) const;
  void enqueue_copy_from(const Stream& stream, const DeviceBuffer& from) const;

  // Lets another process map the buffer, for as long as this object lives.
  cuda::IpcMemoryHandle share() const;

 private:
  void check_range(const char* what, std::size_t offset_bytes, std::size_t count_bytes) const;
  void copy_in_on(cuda::Stream stream, std::span<const std::byte> from, std::size_t offset) const;
  void wait_for_device() const;

  Owned<cuda::DevicePointer, &Driver::cuMemFree> owned_;
  std::size_t bytes_ = 0;
};

// A buffer of another process. It must not outlive that process's DeviceBuffer.
class MappedBuffer {
 public:
  MappedBuffer(const Device& device, const cuda::IpcMemoryHandle& handle);

  cuda::DevicePointer address() const { return owned_.handle(); }
  template <typename T>
  T* pointer(std::size_t offset_bytes = 0) const {
    return reinterpret_cast<T*>(address() + offset_bytes);
  }

 private:
  Owned<cuda::DevicePointer, &Driver::cuIpcCloseMemHandle> owned_;
};

// Whether the driver knows what lies there: memory of a device, or of the host that was made known
// to it. A kernel that goes elsewhere ends its context. True where the driver cannot be asked.
bool is_known_address(const Context& context, const void* address);

// Values as the bytes that copies take.
template <typename Range>
auto bytes_of(Range& range) {
  using Value = std::remove_reference_t<decltype(*std::data(range))>;
  static_assert(std::is_trivially_copyable_v<Value>);
  const std::span<Value> values(std::data(range), std::size(range));
  if constexpr (std::is_const_v<Value>) {
    return std::as_bytes(values);
  } else {
    return std::as_writable_bytes(values);
  }
}

}  // namespace thresher::gpu
