// SPDX-License-Identifier: Apache-2.0
// The hardware vocabulary: everything a kernel asks of the machine, in words. One header, two
// bodies: PTX for sm_90a under NVRTC, the emulator (src/emulator/) under a host compiler. A kernel
// includes this file and nothing else of the machine, so that the same source runs on both.
//
// The list of words, with their contracts, is emulated.hpp; ptx_*.cuh repeats it with bodies.
// Shared memory is only touched through words, never through a C++ pointer: the emulator must see
// every access, and the address is 32 bits on the device.
//
// multiply, add and divide are the plain operators. Both compilers are told not to contract them
// into FMAs (-fmad=false, -ffp-contract=off), so they round as IEEE says and agree bit for bit.
#pragma once

#include "gpu/hw/types.hpp"
#include "gpu/hw/words.hpp"

#ifdef __CUDACC_RTC__
#include "gpu/hw/ptx.cuh"
#else
#include "gpu/hw/emulated.hpp"
#endif
