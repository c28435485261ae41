// SPDX-License-Identifier: Apache-2.0
// How fast a machine is cannot be tested on another; that every ceiling is measured and
// makes sense can.
#include "cpu/calibrate.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "cpu/calibrate_loops.hpp"
#include "cpu/pages.hpp"

namespace thresher::cpu {
namespace {

void expect_sensible(const Ceilings& ceilings, int thread_count) {
  EXPECT_EQ(ceilings.thread_count, thread_count);
  for (const double rate :
       {ceilings.read_gb_per_s, ceilings.integer_gop_per_s, ceilings.fma_gflop_per_s}) {
    EXPECT_TRUE(std::isfinite(rate));
    EXPECT_GT(rate, 0);
  }
  EXPECT_TRUE(std::isfinite(ceilings.noise));
  EXPECT_GE(ceilings.noise, 0);
}

TEST(Calibrate, MeasuresEveryBodyThatRunsHere) {
  for (const Isa isa : runnable_isas()) {
    SCOPED_TRACE(to_string(isa));
    expect_sensible(measure_ceilings(isa, 1, 0.02), 1);
  }
}

TEST(Calibrate, TakesMoreThreadsThanCores) {
  const int thread_count = usable_core_count() + 1;
  expect_sensible(measure_ceilings(runnable_isas().back(), thread_count, 0.02), thread_count);
}

#if defined(__x86_64__)

// A loop that strays would crash here or under the address sanitizer: the buffer ends
// where it should.
TEST(Calibrate, ReadLoopsStayInsideTheirStreams) {
  for (const int stream_count : {1, 2, 4, 8}) {
    const std::int64_t stream_bytes = 3 * kReadStepBytes;
    const Pages pages(static_cast<std::size_t>(stream_bytes * stream_count));
    const ReadArgs args{
        .data = pages.data(), .stream_bytes = stream_bytes, .stream_count = stream_count};
    if (can_run(Isa::kAvx2)) read_avx2(args);
    if (can_run(Isa::kAvx512)) read_avx512(args);
  }
}

// Operations per iteration are what a rate is made of, so they are written out once more.
TEST(Calibrate, LoopsCountTheirOperations) {
  EXPECT_EQ(fma_loop_avx2().operations_per_iteration, 12 * 8 * 2);
  EXPECT_EQ(multiply_add_loop_avx2().operations_per_iteration, 12 * 32 * 2);
  EXPECT_EQ(fma_loop_avx512().operations_per_iteration, 12 * 16 * 2);
  EXPECT_EQ(multiply_add_loop_avx512().operations_per_iteration, 12 * 64 * 2);
  EXPECT_EQ(multiply_add_loop_avx512vnni().operations_per_iteration, 12 * 64 * 2);
  EXPECT_EQ(multiply_add_loop_amx().operations_per_iteration, 4 * 16 * 16 * 32 * 2);
}

#endif

}  // namespace
}  // namespace thresher::cpu
