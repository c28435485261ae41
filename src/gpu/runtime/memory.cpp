// SPDX-License-Identifier: Apache-2.0
#include "gpu/runtime/memory.hpp"

#include <fmt/format.h>

#include "thresher/error.hpp"

namespace thresher::gpu {
namespace {

double mebibytes(std::size_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

std::string advice_when_full(const Device& device) {
  const MemoryUse use = device.memory_use();
  return fmt::format(
      "{:.0f} of {:.0f} MiB are free: end other processes on this GPU, or choose a smaller problem",
      mebibytes(use.free_bytes), mebibytes(use.total_bytes));
}

}  // namespace

DeviceBuffer::DeviceBuffer(const Device& device, std::size_t bytes) : bytes_(bytes) {
  const Context& context = *device.context();
  context.make_current();
  cuda::DevicePointer address = 0;
  if (bytes != 0) {
    const cuda::Result result = context.driver().cuMemAlloc(&address, bytes);
    const auto call = [&] { return fmt::format("cuMemAlloc({} bytes)", bytes); };
    if (result == cuda::kOutOfMemory) context.fail(result, call(), advice_when_full(device));
    context.check(result, call);
  }
  owned_ = {device.context(), address};
}

void DeviceBuffer::check_range(const char* what, std::size_t offset_bytes,
                               std::size_t count_bytes) const {
  if (offset_bytes <= bytes_ && count_bytes <= bytes_ - offset_bytes) return;
  throw Error(fmt::format("{} of {} bytes at offset {} does not fit a device buffer of {} bytes",
                          what, count_bytes, offset_bytes, bytes_));
}

void DeviceBuffer::copy_in_on(cuda::Stream stream, std::span<const std::byte> from,
                              std::size_t offset) const {
  check_range("a copy in", offset, from.size());
  if (from.empty()) return;
  owned_.context()->make_current();
  owned_.context()->check(
      owned_.driver().cuMemcpyHtoDAsync(address() + offset, from.data(), from.size(), stream),
      [&] { return fmt::format("cuMemcpyHtoDAsync({} bytes)", from.size()); });
}

// Copies of pageable memory return before the last bytes arrive, and our streams do not wait for
// the default stream, so only waiting for the whole device is safe.
void DeviceBuffer::wait_for_device() const {
  if (bytes_ == 0) return;
  owned_.context()->make_current();
  owned_.context()->check(owned_.driver().cuCtxSynchronize(), "cuCtxSynchronize");
}

void DeviceBuffer::copy_in(std::span<const std::byte> from, std::size_t offset_bytes) const {
  wait_for_device();
  copy_in_on(nullptr, from, offset_bytes);
  wait_for_device();
}

void DeviceBuffer::copy_out(std::span<std::byte> to, std::size_t offset_bytes) const {
  check_range("a copy out", offset_bytes, to.size());
  wait_for_device();
  if (to.empty()) return;
  owned_.context()->check(
      owned_.driver().cuMemcpyDtoHAsync(to.data(), address() + offset_bytes, to.size(), nullptr),
      [&] { return fmt::format("cuMemcpyDtoHAsync({} bytes)", to.size()); });
  wait_for_device();
}

void DeviceBuffer::fill(std::byte value) const {
  wait_for_device();
  if (bytes_ == 0) return;
  owned_.context()->check(owned_.driver().cuMemsetD8Async(
                              address(), static_cast<unsigned char>(value), bytes_, nullptr),
                          [&] { return fmt::format("cuMemsetD8Async({} bytes)", bytes_); });
  wait_for_device();
}

void DeviceBuffer::enqueue_copy_in(const Stream& stream, std::span<const std::byte> from,
                                   std::size_t offset_bytes) const {
  copy_in_on(stream.handle(), from, offset_bytes);
}

void DeviceBuffer::enqueue_copy_from(const Stream& stream, const DeviceBuffer& from) const {
  check_range("a copy on the device", 0, from.bytes());
  if (from.bytes() == 0) return;
  owned_.context()->make_current();
  owned_.context()->check(
      owned_.driver().cuMemcpyDtoDAsync(address(), from.address(), from.bytes(), stream.handle()),
      [&] { return fmt::format("cuMemcpyDtoDAsync({} bytes)", from.bytes()); });
}

cuda::IpcMemoryHandle DeviceBuffer::share() const {
  if (bytes_ == 0) throw Error("a device buffer of 0 bytes cannot be shared");
  owned_.context()->make_current();
  cuda::IpcMemoryHandle handle{};
  owned_.context()->check(owned_.driver().cuIpcGetMemHandle(&handle, address()),
                          "cuIpcGetMemHandle");
  return handle;
}

MappedBuffer::MappedBuffer(const Device& device, const cuda::IpcMemoryHandle& handle) {
  const Context& context = *device.context();
  context.make_current();
  cuda::DevicePointer address = 0;
  const cuda::Result result =
      context.driver().cuIpcOpenMemHandle(&address, handle, cuda::kIpcLazyEnablePeerAccess);
  if (result == cuda::kInvalidContext || result == cuda::kInvalidHandle) {
    context.fail(result, "cuIpcOpenMemHandle",
                 "a buffer is mapped by another process than its owner, while the owner keeps it");
  }
  context.check(result, "cuIpcOpenMemHandle");
  owned_ = {device.context(), address};
}

bool is_known_address(const Context& context, const void* address) {
  if (context.driver().cuPointerGetAttribute == nullptr) return true;
  context.make_current();
  unsigned memory_type = 0;
  // Anything else that it answers is no word about the address.
  return context.driver().cuPointerGetAttribute(&memory_type, cuda::kPointerMemoryType,
                                                reinterpret_cast<cuda::DevicePointer>(address)) !=
         cuda::kInvalidValue;
}

}  // namespace thresher::gpu
