// SPDX-License-Identifier: Apache-2.0
// How fast the experts of a checkpoint become layers on a device, beside what bounds it: the disk,
// and the memory of the host.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace thresher::cli {

// Each over the bytes of the same experts, layer after layer, the four of a layer in turn.
struct PackSpeed {
  std::string device;
  std::int64_t layer_count = 0;
  std::int64_t expert_count = 0;  // of all of them
  double bytes = 0;               // of their tensors
  // Seconds.
  double read_s = 0;       // by large reads, nothing of the files in the system's cache
  double pack_cold_s = 0;  // from the mapped files, nothing in the cache
  double pack_s = 0;       // from the mapped files, all in the cache
  double copy_s = 0;       // from the mapped files to new memory, byte by byte, by as many threads

  double gb_per_s(double seconds) const { return seconds > 0 ? 1e-9 * bytes / seconds : 0; }
};

// Throws Error if the checkpoint has no layer that can be packed.
PackSpeed measure_pack_speed(const std::filesystem::path& path, const std::string& device);

}  // namespace thresher::cli
