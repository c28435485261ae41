// SPDX-License-Identifier: Apache-2.0
// What a compiled kernel takes of the machine: registers, spills, stack, shared memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace thresher::gpu {

struct KernelResources {
  std::string kernel;
  int register_count = 0;
  std::int64_t stack_bytes = 0;          // per thread; spilled registers live here too
  std::int64_t static_shared_bytes = 0;  // dynamic shared memory is the launch's choice
  // Known from the compiler's log only: the driver does not say.
  std::optional<std::int64_t> spill_store_bytes;
  std::optional<std::int64_t> spill_load_bytes;

  bool spills() const { return spill_store_bytes.value_or(0) + spill_load_bytes.value_or(0) > 0; }
  bool operator==(const KernelResources&) const = default;
};

// "gemm: 168 registers, no spills, 0 bytes of stack, 1024 bytes of static shared memory"
std::string to_string(const KernelResources& resources);

// What ptxas -v wrote.
struct PtxasReport {
  std::vector<KernelResources> kernels;  // entry functions, in the log's order
  // Everything else it had to say, line by line: warnings, and above all the notes that a wgmma was
  // serialised or a register reallocation ignored.
  std::vector<std::string> notes;
};

PtxasReport parse_ptxas_log(std::string_view log);

}  // namespace thresher::gpu
