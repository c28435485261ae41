// SPDX-License-Identifier: Apache-2.0
#include "gpu/gemm/weight_words.hpp"

#include <array>
#include <cstring>

namespace thresher::gpu {
namespace {

constexpr int kQuadThreads = 4;
constexpr int kWords = kQuadThreads * kStepsPerTile;

// Something of every word, in the compiler's own vectors: the words of four threads at step 0, then
// at step 1 and so on.
using WordBytes = std::uint8_t __attribute__((vector_size(kWords)));
using WordHalves = std::uint16_t __attribute__((vector_size(2 * kWords)));
using Words = std::uint32_t __attribute__((vector_size(4 * kWords)));
// WordBytes, four to a number: their shifts are one instruction, and leave bytes alone where the
// bits that would cross into the next one are masked.
using FourBytes = std::uint32_t __attribute__((vector_size(kWords)));

constexpr std::uint32_t each(std::uint32_t byte) { return 0x01010101u * byte; }

// Of each register, the codes in the low nibbles; the high ones are not looked at.
using RegisterCodes = std::array<FourBytes, 4>;

// Registers 0 and 2 of row r, or 1 and 3 of row r+8, have every other four bytes.
void load_row(const std::uint8_t* row, FourBytes& first, FourBytes& second) {
  FourBytes begin;
  FourBytes end;
  std::memcpy(&begin, row, sizeof begin);
  std::memcpy(&end, row + sizeof begin, sizeof end);
  first = __builtin_shufflevector(begin, end, 0, 2, 4, 6);
  second = __builtin_shufflevector(begin, end, 1, 3, 5, 7);
}

// Which register has its magnitude at a bit.
constexpr std::size_t register_at(const CodeBits& at, int bit) {
  std::size_t i = 0;
  while (at.magnitude[i] != bit) ++i;
  return i;
}

template <hw::Operand kOperand>
void make_halves(const RegisterCodes& codes, WordHalves& halves) {
  constexpr CodeBits kAt = code_bits(kOperand);
  static_assert(kAt.sign[0] == 15 && kAt.sign[2] == 14 && kAt.sign[3] == 13 && kAt.sign[1] == 12);
  constexpr std::uint32_t kSign = each(8);
  constexpr std::uint32_t kMagnitude = each(7);
  const FourBytes signs = (codes[0] & kSign) | (codes[2] & kSign) >> 1 | (codes[3] & kSign) >> 2 |
                          (codes[1] & kSign) >> 3;
  const FourBytes upper =
      (codes[register_at(kAt, 9)] & kMagnitude) << 3 | (codes[register_at(kAt, 6)] & kMagnitude);
  const FourBytes lower =
      (codes[register_at(kAt, 3)] & kMagnitude) << 3 | (codes[register_at(kAt, 0)] & kMagnitude);
  const auto low = reinterpret_cast<WordBytes>((upper & each(0x03)) << 6 | lower);
  const auto high = reinterpret_cast<WordBytes>(signs << 4 | (upper & each(0x3c)) >> 2);
  halves = __builtin_convertvector(low, WordHalves) | __builtin_convertvector(high, WordHalves)
                                                          << 8;
}

}  // namespace

template <hw::Operand kOperand>
void pack_row_pair(const std::uint8_t* row, const std::uint8_t* other, std::uint8_t* out) {
  RegisterCodes codes;
  load_row(row, codes[0], codes[2]);
  load_row(other, codes[1], codes[3]);
  WordHalves even;
  make_halves<kOperand>(codes, even);
  for (FourBytes& own : codes) own >>= 4;
  WordHalves odd;
  make_halves<kOperand>(codes, odd);
  const Words words = __builtin_convertvector(even, Words) | __builtin_convertvector(odd, Words)
                                                                 << 16;
  std::uint32_t by_thread[kQuadThreads][kStepsPerTile];
  for (int thread = 0; thread < kQuadThreads; ++thread) {
    for (int step = 0; step < kStepsPerTile; ++step) {
      by_thread[thread][step] = words[step * kQuadThreads + thread];
    }
  }
  std::memcpy(out, by_thread, sizeof by_thread);
}

template void pack_row_pair<hw::Operand::kFp16>(const std::uint8_t*, const std::uint8_t*,
                                                std::uint8_t*);
template void pack_row_pair<hw::Operand::kBf16>(const std::uint8_t*, const std::uint8_t*,
                                                std::uint8_t*);

std::uint8_t byte_of_word(const CodeBits& at, std::uint32_t word, int i) {
  const auto code = [&](std::uint32_t half) {
    return (half >> at.sign[i] & 1) << 3 | (half >> at.magnitude[i] & 7);
  };
  return static_cast<std::uint8_t>(code(word & 0xffff) | code(word >> 16) << 4);
}

}  // namespace thresher::gpu
