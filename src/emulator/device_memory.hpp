// SPDX-License-Identifier: Apache-2.0
// What kernels may touch of the host's memory: the emulator's stand-in for device memory. Global
// loads, stores and bulk copies outside these ranges are faults.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace thresher::emulator {

class DeviceMemory {
 public:
  // Memory of its own, aligned to 256 bytes as a driver's allocations are, and filled with 0xff
  // bytes: NaN in every format, so that a read of what nobody wrote shows.
  void* allocate(std::size_t bytes, std::string name = "");
  // Throws Error where `address` did not come from allocate().
  void release(void* address);

  // The caller's memory, which must outlive its registration. Ranges must not overlap.
  void add(void* address, std::size_t bytes, std::string name = "");
  void add_read_only(const void* address, std::size_t bytes, std::string name = "");
  void remove(const void* address);

  // Why an access of so many bytes is not allowed, or nothing.
  std::optional<std::string> fault(const void* address, std::size_t bytes, bool write) const;

 private:
  struct Range {
    std::uintptr_t end = 0;
    bool read_only = false;
    std::string name;
    std::unique_ptr<std::byte, void (*)(void*)> owned{nullptr, nullptr};
  };
  using Ranges = std::map<std::uintptr_t, Range>;

  void insert(const void* address, std::size_t bytes, Range range);
  std::string describe(Ranges::const_iterator range) const;

  Ranges ranges_;  // by first byte
};

}  // namespace thresher::emulator
