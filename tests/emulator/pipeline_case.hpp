// SPDX-License-Identifier: Apache-2.0
// Inputs, images and the expected result of the pipeline kernel. It knows nothing of the emulator,
// so that a run on a GPU can be judged by the same code.
#pragma once

#include <cstdint>
#include <vector>

#include "emulator/pipeline_kernel.cuh"
#include "gemm/random.hpp"
#include "nvfp4/half.hpp"

namespace thresher::gpu {

// Small integers: every product and sum is exact, so any order of additions gives the same bits.
struct PipelineCase {
  int columns;
  int tile_count;
  int step_count;
  std::vector<std::uint16_t> a;  // tiles x 64 x k
  std::vector<std::uint16_t> b;  // tiles x columns x k
  std::vector<U32x4> a_image;
  std::vector<std::uint8_t> b_image;
  std::vector<std::uint16_t> expected;  // tiles x 64 x columns

  PipelineCase(int column_count, int tiles, int steps, std::uint64_t seed)
      : columns(column_count), tile_count(tiles), step_count(steps) {
    Random random(seed);
    const std::size_t k = k_elements();
    a.resize(static_cast<std::size_t>(tiles) * 64 * k);
    b.resize(static_cast<std::size_t>(tiles) * static_cast<std::size_t>(columns) * k);
    for (auto* const matrix : {&a, &b}) {
      for (std::uint16_t& value : *matrix) {
        value = nvfp4::float_to_fp16(static_cast<float>(random.between(-3, 3)));
      }
    }
    build_a_image();
    build_b_image();
    build_expected();
  }

  std::size_t k_elements() const { return static_cast<std::size_t>(step_count) * 64; }
  std::size_t c_elements() const { return expected.size(); }

 private:
  std::uint32_t a_pair(std::size_t tile, std::size_t row, std::size_t k) const {
    const std::uint16_t* const pair = &a[(tile * 64 + row) * k_elements() + k];
    return pair[0] | static_cast<std::uint32_t>(pair[1]) << 16;
  }

  void build_a_image() {
    for (std::size_t tile = 0; tile < static_cast<std::size_t>(tile_count); ++tile) {
      for (std::size_t slice = 0; slice < k_elements() / 16; ++slice) {
        for (std::size_t t = 0; t < 128; ++t) {
          const std::size_t row = t / 32 * 16 + t % 32 / 4;
          const std::size_t k = slice * 16 + t % 4 * 2;
          a_image.push_back({a_pair(tile, row, k), a_pair(tile, row + 8, k),
                             a_pair(tile, row, k + 8), a_pair(tile, row + 8, k + 8)});
        }
      }
    }
  }

  // Byte b of row r of a 64-deep step lies at r*128 + b with address bits 4..6 xored by the row.
  void build_b_image() {
    const auto rows = static_cast<std::size_t>(columns);
    b_image.resize(b.size() * 2);
    for (std::size_t i = 0; i < b.size(); ++i) {
      const std::size_t k = i % k_elements();
      const std::size_t row = i / k_elements() % rows;
      const std::size_t tile = i / k_elements() / rows;
      const std::size_t block = tile * static_cast<std::size_t>(step_count) + k / 64;
      const std::size_t byte = (block * rows + row) * 128 + ((k % 64 * 2) ^ (row % 8 * 16));
      b_image[byte] = static_cast<std::uint8_t>(b[i]);
      b_image[byte + 1] = static_cast<std::uint8_t>(b[i] >> 8);
    }
  }

  void build_expected() {
    const std::size_t k = k_elements();
    const auto rows = static_cast<std::size_t>(columns);
    for (std::size_t row = 0; row < static_cast<std::size_t>(tile_count) * 64; ++row) {
      for (std::size_t column = 0; column < rows; ++column) {
        const std::size_t b_row = row / 64 * rows + column;
        float sum = 0;
        for (std::size_t i = 0; i < k; ++i) {
          sum += nvfp4::fp16_to_float(a[row * k + i]) * nvfp4::fp16_to_float(b[b_row * k + i]);
        }
        expected.push_back(nvfp4::float_to_fp16(sum));
      }
    }
  }
};

}  // namespace thresher::gpu
