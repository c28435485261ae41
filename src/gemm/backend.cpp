// SPDX-License-Identifier: Apache-2.0
#include "gemm/backend.hpp"

#include <fmt/format.h>

#include <array>

#include "thresher/error.hpp"

namespace thresher {
namespace {

// In the order of the enumerators.
constexpr std::array<std::string_view, 3> kWords = {"cpu", "gpu", "emulator"};

}  // namespace

std::string_view to_string(Backend backend) { return kWords[static_cast<std::size_t>(backend)]; }

Backend backend_from_string(std::string_view text) {
  for (std::size_t i = 0; i < kWords.size(); ++i) {
    if (text == kWords[i]) return static_cast<Backend>(i);
  }
  throw Error(fmt::format("unknown backend '{}'; there are cpu, gpu and emulator", text));
}

Backend backend_of_variant(std::string_view variant) {
  return variant.starts_with("gpu_") ? Backend::kGpu : Backend::kCpu;
}

}  // namespace thresher
