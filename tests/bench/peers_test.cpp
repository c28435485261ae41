// SPDX-License-Identifier: Apache-2.0
// A peer that computes something else would be a straw man: peers obey the arithmetic contract too.
#include "bench/peers.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <deque>

#include "bench/float_rows.hpp"
#include "bench/openblas.hpp"
#include "gemm/bound.hpp"
#include "gemm/conformance.hpp"
#include "measure/witness.hpp"
#include "nvfp4/half.hpp"

namespace thresher::bench {
namespace {

TEST(HostPeers, ObeyTheContract) {
  if (Openblas::find() == nullptr) GTEST_SKIP() << Openblas::how_to_install();
  for (const int thread_count : {1, 2}) {
    const Engine engine({.thread_count = thread_count});
    const std::unique_ptr<Peers> peers = find_peers(engine, {.problems = {}, .programs = false});
    for (const Op op : {Op::kGemm, Op::kDual}) {
      for (const Activations activations :
           {Activations::kNvfp4, Activations::kFp16, Activations::kBf16}) {
        // One row goes through SGEMV, no rows through nothing, 300 columns through three chunks.
        const Problem problem{.name = "peer",
                              .op = op,
                              .activations = activations,
                              .output = Output::kFp16,
                              .groups = {{.m = 7, .n = 300, .k = 96},
                                         {.m = 0, .n = 40, .k = 32},
                                         {.m = 1, .n = 130, .k = 48}}};
        const Inputs inputs = make_inputs(problem, InputFamily::kNatural, 21);
        const PeerEntrants made = peers->make(problem, inputs, 1, nullptr);
        ASSERT_EQ(made.entrants.size(), 2u);
        EXPECT_EQ(made.entrants[0].name, "openblas_sgemm");
        EXPECT_EQ(made.entrants[1].name, "openblas_dequant");
        for (const measure::Entrant& peer : made.entrants) {
          for (std::uint64_t call = 0; call < 3; ++call) {  // on different copies of the weights
            peer.poison(0, call);
            peer.enqueue(0);
            const Conformance conformance = check_outputs(peer.problem, inputs, peer.fetch(0), {});
            EXPECT_TRUE(conformance.ok)
                << peer.name << ", " << to_string(op) << ", " << to_string(activations) << ": "
                << conformance.first_failure;
            EXPECT_EQ(peer.find_trespass(), "");
          }
        }
      }
    }
  }
}

// What a peer wrote, rounded once to a type of 16 bits.
struct RoundedOutputs {
  RoundedOutputs(const Problem& problem, const std::vector<OutputView>& outputs, Output output) {
    for (std::size_t g = 0; g < outputs.size(); ++g) {
      const Group& group = problem.groups[g];
      const auto* from = static_cast<const float*>(outputs[g].c);
      std::vector<std::uint16_t>& to = values.emplace_back();
      for (std::int64_t row = 0; row < group.m; ++row) {
        for (std::int64_t column = 0; column < group.n; ++column) {
          const float value = from[row * outputs[g].stride_elements + column];
          to.push_back(output == Output::kFp16 ? nvfp4::double_to_fp16(value)
                                               : nvfp4::double_to_bf16(value));
        }
      }
      views.push_back({.c = to.data(), .stride_elements = group.n});
    }
  }

  std::deque<std::vector<std::uint16_t>> values;
  std::vector<OutputView> views;
};

// Whoever sums in FP32 in an order of his own is honest, one by one and all errors together: in
// FP32, where no rounding hides how a sum was made, and rounded, where what is expected is what
// there is.
TEST(Witness, BelievesPeers) {
  if (Openblas::find() == nullptr) GTEST_SKIP() << Openblas::how_to_install();
  const Engine engine({.thread_count = 2});
  const std::unique_ptr<Peers> peers = find_peers(engine, {.problems = {}, .programs = false});
  for (const std::int64_t k : {256, 4096}) {
    for (const Activations activations :
         {Activations::kNvfp4, Activations::kFp16, Activations::kBf16}) {
      const Problem problem{.name = "peer",
                            .activations = activations,
                            .output = Output::kFp32,
                            .groups = {{.m = 9, .n = 96, .k = k}, {.m = 1, .n = 64, .k = k}}};
      const Inputs inputs = make_inputs(problem, InputFamily::kNatural, 23);
      measure::Witness witness(engine, problem, inputs, {.seed = 5, .oracle_steps_max = 0});
      witness.testify(inputs);
      const PeerEntrants made = peers->make(problem, inputs, 1, nullptr);
      ASSERT_EQ(made.entrants.size(), 2u);
      for (const measure::Entrant& peer : made.entrants) {
        SCOPED_TRACE(peer.name + ", " + std::string(to_string(activations)) +
                     ", k = " + std::to_string(k));
        peer.poison(0, 1);
        peer.enqueue(0);
        const std::vector<OutputView> outputs = peer.fetch(0);
        const auto judge = [&](Output output, const std::vector<OutputView>& views) {
          const Conformance found =
              witness.judge(output, views, rigour_of(problem, InputFamily::kNatural));
          EXPECT_TRUE(found.ok && !found.imprecise)
              << to_string(output) << ": " << found.first_failure;
          EXPECT_EQ(found.checked_count, 9 * 96 + 64);
          EXPECT_LT(found.mean_square, 1.2) << to_string(output);
          return found.mean_square;
        };
        judge(Output::kFp32, outputs);
        for (const Output output : {Output::kFp16, Output::kBf16}) {
          EXPECT_GT(judge(output, RoundedOutputs(problem, outputs, output).views), 0.6);
        }
      }
    }
  }
}

TEST(FloatRows, ExpandEveryCodeWithEveryScale) {
  Nvfp4Matrix matrix;
  matrix.rows = 1;
  for (int scale = 0; scale < 256; ++scale) {
    if ((scale & 0x7f) == 0x7f) continue;  // NaN
    matrix.scales.push_back(static_cast<std::uint8_t>(scale));
    for (int pair = 0; pair < 8; ++pair) {
      matrix.codes.push_back(static_cast<std::uint8_t>(2 * pair | (2 * pair + 1) << 4));
    }
  }
  matrix.k_elements = static_cast<std::int64_t>(matrix.codes.size()) * 2;
  std::vector<float> expanded(static_cast<std::size_t>(matrix.k_elements));
  expand_nvfp4(matrix.codes.data(), matrix.scales.data(), matrix.k_elements, expanded.data());
  EXPECT_EQ(expanded, dequantize(matrix.view()));
}

TEST(FloatRows, GateIsWithinAFewUlp) {
  std::vector<float> gate;
  for (int i = -2000; i <= 2000; ++i) gate.push_back(0.05f * static_cast<float>(i));
  const std::vector<float> up(gate.size(), 3.0f);
  std::vector<float> out(gate.size());
  bench::gate_rows(gate.data(), up.data(), static_cast<std::int64_t>(gate.size()), out.data());
  for (std::size_t i = 0; i < gate.size(); ++i) {
    const double right = silu(gate[i]) * 3;
    EXPECT_NEAR(out[i], right, 1e-6 * std::abs(right) + 1e-30) << gate[i];
  }
}

}  // namespace
}  // namespace thresher::bench
