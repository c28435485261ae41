// SPDX-License-Identifier: Apache-2.0
// The header of a safetensors file: 8 bytes that say how long it is, JSON that says where each
// tensor lies, then the tensors, one after the other without a gap.
//
// Strict: what does not describe every byte of the file exactly once is refused, and so are
// duplicates, which JSON parsers would settle silently. docs/checkpoints.md lists the rules.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "thresher/checkpoint.hpp"

namespace thresher::checkpoint {

inline constexpr std::uint64_t kHeaderLengthBytes = 8;
inline constexpr std::uint64_t kHeaderBytesMax = 100'000'000;  // the format's own limit

struct Header {
  std::vector<Tensor> tensors;  // in the order of the header
  std::map<std::string, std::string> metadata;
};

// How many bytes of JSON follow the first eight. `file` names the file in messages.
std::uint64_t header_bytes(std::string_view first_eight, std::uint64_t file_bytes,
                           std::string_view file);

// `json` are those bytes. Throws Error that names file, tensor and offset.
Header parse_header(std::string_view json, std::uint64_t file_bytes, std::string_view file);

// 0: there is no such type.
int dtype_bits(std::string_view dtype);

}  // namespace thresher::checkpoint
