// SPDX-License-Identifier: Apache-2.0
// Makes an NVFP4 checkpoint of one in bf16, fp16 or fp32: the experts' matrices, or all linear
// layers, are rounded by a maker's rules and written in its spelling; every other tensor and every
// other file is copied as it is.
//
// gate and up of an expert share one global scale, as both makers write them. The result appears
// under its name only when it is whole. Of a checkpoint that is quantised in part what is plain is
// rounded, if its files say so in the same maker's format (new_configs.hpp).
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "thresher/checkpoint.hpp"

namespace thresher::checkpoint {

struct Requantization {
  std::filesystem::path from;
  std::filesystem::path to;  // a folder that is not there yet
  CheckpointFormat format = CheckpointFormat::kCompressedTensors;
  bool linears = false;  // all linear layers, and not only the experts'
  int thread_count = 0;
  // Called once, with how often `progress` will be called.
  std::function<void(std::int64_t tensor_count)> begin = {};
  // Called before each tensor that is rounded or copied.
  std::function<void(const std::string& tensor)> progress = {};
};

struct RequantizationReport {
  std::int64_t matrix_count = 0;
  std::int64_t element_count = 0;  // of them
  std::int64_t copied_count = 0;   // tensors
  std::uint64_t bytes_before = 0;  // of tensors
  std::uint64_t bytes_after = 0;
};

// Throws Error, and leaves nothing behind then.
RequantizationReport requantize(const Requantization& job);

}  // namespace thresher::checkpoint
