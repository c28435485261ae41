// SPDX-License-Identifier: Apache-2.0
#include "emulator/device_memory.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "thresher/error.hpp"

namespace thresher::emulator {
namespace {

constexpr std::size_t kAlignmentBytes = 256;

std::uintptr_t as_number(const void* address) { return reinterpret_cast<std::uintptr_t>(address); }

}  // namespace

void* DeviceMemory::allocate(std::size_t bytes, std::string name) {
  // The allocation itself is not rounded up, so that the address sanitizer guards its true end.
  void* memory = nullptr;
  if (posix_memalign(&memory, kAlignmentBytes, bytes == 0 ? 1 : bytes) != 0) throw std::bad_alloc();
  std::memset(memory, 0xff, bytes);
  Range range;
  range.name = std::move(name);
  range.origin = as_number(memory);
  range.owned = {static_cast<std::byte*>(memory), &std::free};
  insert(memory, bytes, std::move(range));
  return memory;
}

void DeviceMemory::release(void* address) {
  const auto found = ranges_.find(as_number(address));
  if (found == ranges_.end() || found->second.owned == nullptr) {
    throw Error(fmt::format("{} was not allocated from this device memory", address));
  }
  ranges_.erase(found);
}

void DeviceMemory::add(void* address, std::size_t bytes, std::string name) {
  Range range;
  range.name = std::move(name);
  range.origin = as_number(address);
  insert(address, bytes, std::move(range));
}

void DeviceMemory::add_read_only(const void* address, std::size_t bytes, std::string name) {
  add_copy(address, bytes, std::move(name), address);
}

void DeviceMemory::add_copy(const void* address, std::size_t bytes, std::string name,
                            const void* origin) {
  Range range;
  range.name = std::move(name);
  range.read_only = true;
  range.origin = as_number(origin);
  insert(address, bytes, std::move(range));
}

void DeviceMemory::remove(const void* address) { ranges_.erase(as_number(address)); }

void DeviceMemory::insert(const void* address, std::size_t bytes, Range range) {
  const std::uintptr_t first = as_number(address);
  range.end = first + bytes;
  const auto next = ranges_.lower_bound(first);
  const bool meets_next = next != ranges_.end() && next->first < range.end;
  const bool meets_previous = next != ranges_.begin() && std::prev(next)->second.end > first;
  if (meets_next || meets_previous || (next != ranges_.end() && next->first == first)) {
    throw Error(fmt::format("device memory of {} bytes at {} overlaps {}", bytes, address,
                            describe(meets_previous ? std::prev(next) : next)));
  }
  ranges_.emplace(first, std::move(range));
}

std::optional<std::string> DeviceMemory::fault(const void* address, std::size_t bytes,
                                               bool write) const {
  const std::uintptr_t first = as_number(address);
  auto range = ranges_.upper_bound(first);
  if (range == ranges_.begin()) return "before all device memory";
  --range;
  if (first >= range->second.end || first + bytes > range->second.end) {
    return fmt::format("{} bytes from the start of {}", first - range->first, describe(range));
  }
  if (write && range->second.read_only) return "read-only: " + describe(range);
  return std::nullopt;
}

DeviceMemory::Ranges::const_iterator DeviceMemory::range_of(const void* address) const {
  return std::prev(ranges_.upper_bound(as_number(address)));
}

std::uintptr_t DeviceMemory::followed_at(const void* address) const {
  const auto range = range_of(address);
  return range->second.origin + (as_number(address) - range->first);
}

std::string DeviceMemory::place(const void* address) const {
  const auto range = range_of(address);
  return fmt::format("{} + {}", range->second.name.empty() ? "memory" : range->second.name,
                     as_number(address) - range->first);
}

std::string DeviceMemory::describe(Ranges::const_iterator range) const {
  return fmt::format("{} ({} bytes)", range->second.name.empty() ? "memory" : range->second.name,
                     range->second.end - range->first);
}

}  // namespace thresher::emulator
