// SPDX-License-Identifier: Apache-2.0
// What this CPU can execute, as far as the kernels care, and where it keeps its data.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace thresher::cpu {

// The bodies of the kernels, plainest first.
enum class Isa : std::uint8_t { kPortable, kAvx2, kAvx512, kAvx512Vnni, kAmx };

inline constexpr Isa kAllIsas[] = {Isa::kPortable, Isa::kAvx2, Isa::kAvx512, Isa::kAvx512Vnni,
                                   Isa::kAmx};

std::string_view to_string(Isa isa);  // "portable", "avx2", "avx512", "avx512vnni", "amx"

// Whether CPU and operating system both allow it. Asking for AMX also asks the kernel for its
// tiles.
bool can_run(Isa isa);

// The features that are missing for `isa` here, empty if it can run.
const std::string& missing_features(Isa isa);

// Every body that can run here, plainest first.
std::vector<Isa> runnable_isas();
// The last of them. A machine has one speed of light, that of the best instructions it has,
// whichever a variant uses.
inline Isa best_isa() { return runnable_isas().back(); }

struct Caches {
  std::int64_t l1d_bytes = 0;
  std::int64_t l2_bytes = 0;
  std::int64_t l3_bytes = 0;
};

std::string cpu_model();
Caches caches();
// Cores this process may run on (affinity and cgroup quota respected), at least 1.
int usable_core_count();

}  // namespace thresher::cpu
