// SPDX-License-Identifier: Apache-2.0
// What tests of the C twin share: handles that free themselves, and memory for matrices.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "thresher/nvfp4.hpp"
#include "thresher/thresher.h"

namespace thresher::testing {

template <class Handle, void (*destroy)(Handle*)>
struct Destroy {
  void operator()(Handle* handle) const { destroy(handle); }
};
template <class Handle, void (*destroy)(Handle*)>
using Owned = std::unique_ptr<Handle, Destroy<Handle, destroy>>;
using OwnedEngine = Owned<thresher_engine, thresher_engine_destroy>;
using OwnedWeights = Owned<thresher_weights, thresher_weights_destroy>;
using OwnedPlan = Owned<thresher_plan, thresher_plan_destroy>;
using OwnedWorkspace = Owned<thresher_workspace, thresher_workspace_destroy>;
using OwnedBuffer = Owned<thresher_buffer, thresher_buffer_destroy>;
using OwnedCall = Owned<thresher_call, thresher_call_destroy>;

inline OwnedEngine make_engine(const thresher_engine_options& options) {
  thresher_engine* engine = nullptr;
  EXPECT_EQ(thresher_engine_create(&options, &engine), THRESHER_OK) << thresher_last_error();
  return OwnedEngine(engine);
}

inline thresher_nvfp4_view c_view(const Nvfp4Matrix& matrix) {
  return {matrix.codes.data(), matrix.scales.data(), matrix.rows, matrix.k_elements,
          matrix.global_scale};
}

// Memory for a matrix, and the struct that lends it.
struct Memory {
  Memory(std::int64_t rows, std::int64_t k)
      : codes(static_cast<std::size_t>(rows * k / 2)),
        scales(static_cast<std::size_t>(rows * k / 16)),
        buffer{codes.data(), scales.data(), rows, k, -1.0f} {}

  void expect(const Nvfp4Matrix& matrix) const {
    EXPECT_EQ(codes, matrix.codes);
    EXPECT_EQ(scales, matrix.scales);
    EXPECT_EQ(buffer.global_scale, matrix.global_scale);
  }

  std::vector<std::uint8_t> codes;
  std::vector<std::uint8_t> scales;
  thresher_nvfp4_buffer buffer;
};

}  // namespace thresher::testing
