// SPDX-License-Identifier: Apache-2.0
// For contestants that differ in nothing but their time.
#pragma once

#include "honest.cuh"

__device__ int call_count;

// Nothing else runs meanwhile: a kernel begins when the one before it has ended.
__device__ void spin_us(unsigned long long wanted_us) {
  unsigned long long begin;
  unsigned long long now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(begin));
  do {
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  } while (now - begin < 1000 * wanted_us);
}
