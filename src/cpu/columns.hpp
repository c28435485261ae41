// SPDX-License-Identifier: Apache-2.0
// The 16 columns of a panel as one value, in the compiler's portable vectors: each including file
// gets the registers of the instruction set it is compiled for. Passed by reference, because how
// such a value is passed by value depends on the instruction set.
#pragma once

#include <cstdint>
#include <cstring>

#include "cpu/panel.hpp"

namespace thresher::cpu {

using Columns = float __attribute__((vector_size(kPanelColumns * sizeof(float))));
using BitColumns =
    std::uint32_t __attribute__((vector_size(kPanelColumns * sizeof(std::uint32_t))));
using HalfColumns =
    std::uint16_t __attribute__((vector_size(kPanelColumns * sizeof(std::uint16_t))));

}  // namespace thresher::cpu
