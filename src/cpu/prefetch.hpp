// SPDX-License-Identifier: Apache-2.0
// Brings a superblock of packed weights towards the core before a tile needs it.
#pragma once

#include <cstdint>

#include "cpu/panel.hpp"

namespace thresher::cpu {
namespace {

inline void prefetch_superblock(const std::uint8_t* p) {
  for (int line = 0; line < kSuperblockBytes; line += 64) __builtin_prefetch(p + line, 0, 3);
}

}  // namespace
}  // namespace thresher::cpu
