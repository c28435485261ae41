// SPDX-License-Identifier: Apache-2.0
// Types that a kernel is compiled for on a device, and that the emulator's kernels, compiled once
// for several of them, are told by the launch.
#pragma once

#include "gpu/hw/words.hpp"

namespace thresher::gpu::hw {

struct LaunchTypes {
  Operand operand = Operand::kFp16;  // what Operand::kOfLaunch stands for
  Operand stored = Operand::kFp16;   // what results of 16 bits are rounded to
  bool nvfp4 = false;                // activations came as NVFP4
};

// Of the launch whose kernel asks.
const LaunchTypes& launch_types();

}  // namespace thresher::gpu::hw
