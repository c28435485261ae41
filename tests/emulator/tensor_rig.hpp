// SPDX-License-Identifier: Apache-2.0
// One tile of a block-scaled product from shared memory to registers: 128 rows times N columns, 256
// deep. Every step can be left out or done wrongly, which is what the tests of faults do.
#pragma once

#include <algorithm>
#include <functional>
#include <span>
#include <vector>

#include "emulator/faults.hpp"
#include "emulator/launch.hpp"
#include "gemm/random.hpp"
#include "gpu/hw/hw.cuh"

namespace thresher::emulator {

using namespace gpu;  // NOLINT(google-build-using-namespace)

struct TensorTile {
  u32 columns = 64;
  std::vector<u8> a_codes, a_scales;  // 128 x 128 bytes, 128 x 16
  std::vector<u8> b_codes, b_scales;

  static constexpr u32 kRowBytes = 128;
  static constexpr u32 kScalesPerRow = 16;

  // Scales from `low` to `high` as E4M3 codes.
  explicit TensorTile(u32 column_count, u8 low = 0x30, u8 high = 0x40) : columns(column_count) {
    Random random(column_count);
    const auto fill = [&](std::vector<u8>& bytes, u32 count, int from, int to) {
      for (u32 i = 0; i < count; ++i) bytes.push_back(static_cast<u8>(random.between(from, to)));
    };
    fill(a_codes, 128 * kRowBytes, 0, 255);
    fill(a_scales, 128 * kScalesPerRow, low, high);
    fill(b_codes, columns * kRowBytes, 0, 255);
    fill(b_scales, columns * kScalesPerRow, low, high);
  }

  static double value(u8 codes, u32 k) {
    constexpr double kValues[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
    const u32 code = k % 2 == 0 ? codes & 15u : codes >> 4;
    return code < 8 ? kValues[code] : -kValues[code - 8];
  }
  static double scale(u8 code) {
    const int exponent = code >> 3 & 15;
    const int mantissa = code & 7;
    return exponent == 0 ? mantissa * 0x1p-9 : (8 + mantissa) * std::exp2(exponent - 10);
  }
  // What the sum of row and column should be.
  double sum(u32 row, u32 column) const {
    double total = 0;
    for (u32 k = 0; k < 256; ++k) {
      total += value(a_codes[row * kRowBytes + k / 2], k) *
               scale(a_scales[row * kScalesPerRow + k / 16]) *
               value(b_codes[column * kRowBytes + k / 2], k) *
               scale(b_scales[column * kScalesPerRow + k / 16]);
    }
    return total;
  }
};

// What is done otherwise than it should be. Words are given as they are, and changed.
struct TensorChanges {
  std::function<void(hw::BlockScaledMma&)> mma = [](hw::BlockScaledMma&) {};
  std::function<void(hw::TensorAddress&, u64&)> copy = [](hw::TensorAddress&, u64&) {};
  std::function<void(hw::TensorAddress&)> load = [](hw::TensorAddress&) {};
  std::function<void(hw::TensorAddress&, u32&)> release = [](hw::TensorAddress&, u32&) {};
  u32 allocated = 512;
  bool fence_async = true;
  bool copy_scales = true;
  bool commit = true;
  bool wait = true;
  bool fence_after = true;
  bool wait_loads = true;
  bool wait_names_values = true;  // or others
  bool fence_before = true;
  bool frees = true;
  bool frees_after_wait = true;
  bool second_tile = false;       // once more with the same scales, over the first one's sums
  bool waits_for_readers = true;  // before that
  bool second_allocation = false;
  bool add_at_first = false;
  bool barrier_fence = true;
  bool store_first = false;  // ones, to which the MMAs add
  std::function<void(hw::TensorAddress&)> store = [](hw::TensorAddress&) {};
  bool wait_stores = true;
  bool fence_before_stored = true;
  bool fence_after_stored = true;
  bool loads_stored = false;  // the warps look at once
};

inline constexpr u32 kTensorThreads = 160;  // four warps that load, and one that multiplies

// By all threads: codes with each row's 16-byte chunks permuted by the row's number.
inline void put_codes(hw::SharedAddress at, std::span<const u8> codes) {
  for (u32 i = static_cast<u32>(hw::thread_index()); i < codes.size(); i += kTensorThreads) {
    const u32 row = i / 128;
    const u32 chunk = i % 128 / 16 ^ row % 8;
    hw::store_shared(at + row * 128 + chunk * 16 + i % 16, codes[i]);
  }
}

// Scales as 128 x 4 blocks, all rows' blocks of one step after the other; `stride` blocks from one
// step to the next, unless that is 0.
inline void put_scales(hw::SharedAddress at, std::span<const u8> scales, u32 stride = 0) {
  const auto rows = static_cast<u32>(scales.size()) / TensorTile::kScalesPerRow;
  const u32 blocks = (rows + 127) / 128;
  for (u32 i = static_cast<u32>(hw::thread_index()); i < blocks * 128 * 16; i += kTensorThreads) {
    const u32 row = i / 16;
    const u32 step = i % 16 / 4;
    hw::store_shared(at + (step * (stride == 0 ? blocks : stride) + row / 128) * 512 +
                         row % 32 * 16 + row % 128 / 32 * 4 + i % 4,
                     row < rows ? scales[i] : u8{0});
  }
}

class TensorRig {
 public:
  TensorRig(const TensorTile& tile, const TensorChanges& changes, std::vector<float>* sums)
      : tile_(tile), changes_(changes), sums_(sums) {}

  void operator()() const {
    const hw::SharedAddress base = hw::shared_base();
    put_codes(base + kA, tile_.a_codes);
    put_scales(base + kAScales, tile_.a_scales);
    put_codes(base + kB, tile_.b_codes);
    put_scales(base + kBScales, tile_.b_scales);
    if (changes_.fence_async) hw::fence_async();
    if (hw::thread_index() == 0) {
      for (u32 i = 0; i < 4; ++i) hw::barrier_init(base + kBarriers + 8 * i, i % 2 == 0 ? 1 : 128);
      if (changes_.barrier_fence) hw::barrier_init_fence();
    }
    if (hw::warp_index() == 4) {
      hw::tensor_allocate(base + kSlot, changes_.allocated);
      if (changes_.second_allocation) hw::tensor_allocate(base + kSlot + 4, 32);
      hw::tensor_allocate_no_more();
    }
    hw::sync_block();
    const auto tensor = hw::load_shared<u32>(base + kSlot);
    if (changes_.store_first) store_ones(tensor);
    if (hw::warp_index() == 4) {
      if (hw::elect_one()) multiply(base, tensor);
      hw::sync_warp();
    } else {
      load(base, tensor);
    }
    hw::sync_block();
    if (changes_.frees_after_wait) hw::tensor_fence_after();
    if (hw::warp_index() == 4 && changes_.frees) {
      hw::TensorAddress first = tensor;
      u32 columns = changes_.allocated;
      changes_.release(first, columns);
      hw::tensor_free(first, columns);
    }
  }

  static std::string run(const TensorChanges& changes, std::uint64_t seed = 0, u32 columns = 64) {
    const TensorTile tile(columns);
    return fault_of(options(seed), TensorRig(tile, changes, nullptr));
  }

  static LaunchOptions options(std::uint64_t seed, TensorSums sums = TensorSums::kInOrder) {
    return {
        .thread_count = kTensorThreads, .shared_bytes = kBytes, .seed = seed, .tensor_sums = sums};
  }

 private:
  static constexpr u32 kA = 0;
  static constexpr u32 kB = 16384;
  static constexpr u32 kAScales = 49152;
  static constexpr u32 kBScales = 51200;
  static constexpr u32 kBarriers = 55296;  // full, read, full again, read again
  static constexpr u32 kSlot = kBarriers + 32;
  static constexpr u32 kBytes = kSlot + 16;

  void multiply(hw::SharedAddress base, hw::TensorAddress tensor) const {
    tile(base, tensor, 0);
    if (!changes_.second_tile) return;
    if (changes_.waits_for_readers) {
      hw::barrier_wait(base + kBarriers + 8, 0);
      if (changes_.fence_after) hw::tensor_fence_after();
    }
    tile(base, tensor, 2);
  }

  void tile(hw::SharedAddress base, hw::TensorAddress tensor, u32 barrier) const {
    const u32 blocks = (tile_.columns + 127) / 128;
    const hw::TensorAddress a_scales = tensor + 256;
    const hw::TensorAddress b_scales = tensor + 288;
    for (u32 step = 0; step < 4; ++step) {
      if (changes_.copy_scales && barrier == 0) {
        copy(a_scales + 4 * step, base + kAScales + 512 * step);
        for (u32 block = 0; block < blocks; ++block) {
          copy(b_scales + 4 * (step * blocks + block),
               base + kBScales + 512 * (step * blocks + block));
        }
      }
      hw::BlockScaledMma mma{
          .sums = tensor,
          .a = hw::tensor_descriptor(base + kA + 32 * step, 1024, hw::Swizzle::k128),
          .b = hw::tensor_descriptor(base + kB + 32 * step, 1024, hw::Swizzle::k128),
          .instruction = hw::block_scaled_instruction(tile_.columns),
          .a_scales = a_scales + 4 * step,
          .b_scales = b_scales + 4 * step * blocks,
          .add = step > 0 || changes_.add_at_first};
      changes_.mma(mma);
      hw::tensor_multiply(mma);
    }
    if (changes_.commit) hw::tensor_commit(base + kBarriers + 8 * barrier);
  }

  // By the warps that load later, and told to the one that multiplies.
  void store_ones(hw::TensorAddress tensor) const {
    for (u32 column = 0; hw::warp_index() < 4 && column < tile_.columns; column += 8) {
      float ones[8];
      std::fill_n(ones, 8, 1.0f);
      hw::TensorAddress first =
          tensor + hw::tensor_address(static_cast<u32>(hw::warp_index()) * 32, column);
      changes_.store(first);
      hw::tensor_store(first, ones);
    }
    if (hw::warp_index() < 4) {
      if (changes_.wait_stores) hw::tensor_wait_stores();
      if (changes_.loads_stored) look_at_ones(tensor);
      if (changes_.fence_before_stored) hw::tensor_fence_before();
    }
    hw::sync_block();
    if (changes_.fence_after_stored) hw::tensor_fence_after();
  }

  static void look_at_ones(hw::TensorAddress tensor) {
    float values[8];
    hw::tensor_load(tensor + hw::tensor_address(static_cast<u32>(hw::warp_index()) * 32, 0),
                    values);
    hw::tensor_wait_loads(values);
    if (values[0] != 1.0f || values[7] != 1.0f) throw Error("other values than were stored");
  }

  void copy(hw::TensorAddress to, hw::SharedAddress from) const {
    u64 descriptor = hw::tensor_descriptor(from, 128, hw::Swizzle::kNone);
    changes_.copy(to, descriptor);
    hw::tensor_copy_scales(to, descriptor);
  }

  void load(hw::SharedAddress base, hw::TensorAddress tensor) const {
    for (u32 tile = 0; tile < (changes_.second_tile ? 2u : 1u); ++tile) {
      if (changes_.wait) hw::barrier_wait(base + kBarriers + 16 * tile, 0);
      if (changes_.fence_after) hw::tensor_fence_after();
      for (u32 column = 0; column < tile_.columns; column += 8) {
        float values[8];
        hw::TensorAddress first =
            tensor + hw::tensor_address(static_cast<u32>(hw::warp_index()) * 32, column);
        changes_.load(first);
        hw::tensor_load(first, values);
        float others[8];
        if (changes_.wait_loads) {
          hw::tensor_wait_loads(changes_.wait_names_values ? values : others);
        }
        for (u32 i = 0; sums_ != nullptr && i < 8; ++i) {
          (*sums_)[static_cast<u32>(hw::thread_index()) * tile_.columns + column + i] = values[i];
        }
      }
      if (changes_.fence_before) hw::tensor_fence_before();
      hw::barrier_arrive(base + kBarriers + 16 * tile + 8);
    }
  }

  const TensorTile& tile_;
  const TensorChanges& changes_;
  std::vector<float>* sums_;
};

}  // namespace thresher::emulator
