// SPDX-License-Identifier: Apache-2.0
// What computes: the CPU, a GPU, or the GPU's kernels on the CPU.
#pragma once

#include <cstdint>
#include <string_view>

namespace thresher {

enum class Backend : std::uint8_t { kCpu, kGpu, kEmulator };

std::string_view to_string(Backend backend);  // "cpu", "gpu", "emulator"
// Throws Error listing the allowed words.
Backend backend_from_string(std::string_view text);

// The backend whose name a variant's begins with: "gpu_sm90:stages=2" is kGpu.
Backend backend_of_variant(std::string_view variant);

}  // namespace thresher
