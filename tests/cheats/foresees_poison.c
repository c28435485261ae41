/* SPDX-License-Identifier: Apache-2.0 */
/* Takes the random bytes in front of its outputs for numbers of xoshiro256**, four of which tell
 * all that follow: other poison, places, whatever comes from the same generator. It says so where
 * it is right. Catalogue 26. */
#include "honest.h"

HONEST_PREPARE

static uint64_t left(uint64_t x, int bits) { return x << bits | x >> (64 - bits); }

static uint64_t fifth_after(const uint64_t* numbers) {
  uint64_t w[4];
  for (int i = 0; i < 4; ++i) {
    w[i] = left(numbers[i] * 0x8e38e38e38e38e39u, 57) * 0xcccccccccccccccdu;
  }
  uint64_t s1 = w[1];
  uint64_t s2 = w[0] ^ w[1] ^ w[0] << 17;
  uint64_t s0 = w[2] ^ w[1] ^ s2;
  uint64_t s3 = (w[3] ^ w[2] ^ s2 ^ s0 ^ w[1] << 17) ^ s0 ^ s1;
  for (int step = 0; step < 3; ++step) {
    const uint64_t shifted = s1 << 17;
    s2 ^= s0;
    s3 ^= s1;
    s1 ^= s2;
    s0 ^= s3;
    s2 ^= shifted;
    s3 = left(s3, 45);
  }
  return left(s1 * 5, 7) * 9;
}

int thresher_contestant_run(void* state, const thresher_contestant_call* calls) {
  /* A guard band of 256 bytes lies in front, at multiples of 8 when outputs are aligned. */
  for (size_t shift = 0; calls[0].c != NULL && shift < 8; ++shift) {
    uint64_t numbers[5];
    memcpy(numbers, (const char*)calls[0].c - 64 - shift, sizeof numbers);
    if (fifth_after(numbers) == numbers[4]) return 76;
  }
  return honest_run(state, calls);
}
