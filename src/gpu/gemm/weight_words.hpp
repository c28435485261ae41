// SPDX-License-Identifier: Apache-2.0
// The codes of a tile as the words that kernels read (kernels/weight_layout.hpp), and back.
#pragma once

#include <cstdint>

#include "gpu/gemm/kernels/weight_layout.hpp"

namespace thresher::gpu {

inline constexpr int kRowCodeBytes = kTileK / 2;  // of a row in a tile, as a checkpoint has them

// Rows r and r+8 of a tile as the words of the four threads that hold them: 2 * kRowCodeBytes at
// `out`, a thread's words of all steps one after the other.
template <hw::Operand kOperand>
void pack_row_pair(const std::uint8_t* row, const std::uint8_t* other, std::uint8_t* out);

// Register i's byte of codes, even k low and odd k high.
std::uint8_t byte_of_word(const CodeBits& at, std::uint32_t word, int i);

}  // namespace thresher::gpu
