// SPDX-License-Identifier: Apache-2.0
// The index of a checkpoint in several files: which file holds which tensor.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace thresher::checkpoint {

struct ShardIndex {
  std::vector<std::string> files;  // names inside the folder, each once
  // Names of tensors and which of `files` holds them.
  std::vector<std::pair<std::string, std::size_t>> tensors;
};

// `index` names the index file in messages. A file name that is more than a name, and so could
// leave the folder, is an Error; so are duplicates.
ShardIndex parse_shard_index(std::string_view json, std::string_view index);

}  // namespace thresher::checkpoint
