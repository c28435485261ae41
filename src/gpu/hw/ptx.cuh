// SPDX-License-Identifier: Apache-2.0
// The vocabulary in PTX for sm_90a, by idea. The contracts of the words stand in emulated.hpp.
//
// Every asm is volatile: the compiler then keeps them in program order, which is what makes a load
// stay behind the wait it depends on. Those that publish or acquire memory also clobber it.
#pragma once

#include "gpu/hw/ptx_barrier.cuh"
#include "gpu/hw/ptx_memory.cuh"
#include "gpu/hw/ptx_pairs.cuh"
#include "gpu/hw/ptx_threads.cuh"
#include "gpu/hw/sm100/ptx_pair.cuh"
#include "gpu/hw/sm100/ptx_tensor.cuh"
#include "gpu/hw/sm80/ptx_mma.cuh"
#include "gpu/hw/sm90/ptx_cluster.cuh"
#include "gpu/hw/sm90/ptx_copy.cuh"
#include "gpu/hw/sm90/ptx_mma.cuh"
