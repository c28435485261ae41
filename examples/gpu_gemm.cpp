// SPDX-License-Identifier: Apache-2.0
// A grouped NVFP4 GEMM on a GPU whose group sizes only the device knows, as after a router: the
// call is queued without them, and the same call serves every distribution of tokens.
//
//   gpu_gemm [gpu|gpu:1|emulator]
//
// Where there is no usable GPU it says why, and that is all.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <random>
#include <span>
#include <thresher/thresher.hpp>
#include <vector>

namespace {

using namespace thresher;

constexpr std::int64_t kExperts = 4, kTokensMax = 40, kN = 128, kK = 256;

Nvfp4Matrix random_matrix(std::int64_t rows, std::mt19937& random) {
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<std::size_t>(rows * kK));
  for (float& value : values) value = normal(random);
  return quantize(values, rows, kK);
}

template <typename Values>
Buffer on_device(const Engine& engine, const Values& values) {
  const auto bytes = std::as_bytes(std::span(values));
  Buffer buffer = engine.allocate(bytes.size());
  buffer.copy_in(bytes);
  return buffer;
}

// How far a row of C is from a plain product, at worst.
double error_of(const float* c, const float* token, const std::vector<float>& weights) {
  double largest = 0;
  for (std::int64_t column = 0; column < kN; ++column) {
    double sum = 0;
    for (std::int64_t i = 0; i < kK; ++i) sum += token[i] * weights[column * kK + i];
    const double error = std::fabs(c[column] - sum);
    if (!(error <= largest)) largest = error;  // keeps a NaN
  }
  return largest;
}

bool run(const EngineOptions& options) {
  std::mt19937 random(1);
  const Engine engine(options);
  std::printf("%s\n", engine.description().c_str());

  // Once per model.
  std::vector<Nvfp4Matrix> matrices;
  std::vector<Weights> weights;
  for (int i = 0; i < kExperts; ++i) {
    matrices.push_back(random_matrix(kN, random));
    weights.push_back(engine.pack({.b = matrices.back().view()}));
  }

  // Once per layer: room for so many tokens, whosever they are.
  Problem problem{.name = "experts", .output = Output::kFp32};
  problem.groups.assign(kExperts, {.m = 0, .n = kN, .k = kK});
  const Plan plan = engine.plan(problem, {}, kTokensMax);
  const Workspace workspace = engine.workspace(plan);
  const Nvfp4Matrix tokens = random_matrix(kTokensMax, random);
  const Buffer codes = on_device(engine, tokens.codes), scales = on_device(engine, tokens.scales);
  const Buffer outputs = engine.allocate(kTokensMax * kN * sizeof(float));
  const Buffer counts = engine.allocate(kExperts * sizeof(std::uint32_t));
  std::vector<GroupOperands> groups;
  for (const Weights& own : weights) {
    groups.push_back({.weights = &own, .a_global_scale = tokens.global_scale});
  }
  const Call call =
      engine.bind(plan,
                  {.groups = groups,
                   .rows = {.a = codes.data(), .a_scales = scales.data(), .c = outputs.data()},
                   .counts = {.counts = static_cast<const std::uint32_t*>(counts.data())}},
                  workspace);

  // Per step: whatever wrote the counts, the call follows it on the stream.
  const std::vector<float> values = dequantize(tokens.view());
  double largest_error = 0;
  for (const std::vector<std::uint32_t>& routed :
       {std::vector<std::uint32_t>{5, 0, 24, 11}, std::vector<std::uint32_t>{0, 40, 0, 0}}) {
    counts.copy_in(std::as_bytes(std::span(routed)));
    call.enqueue();
    engine.synchronize();
    std::vector<float> c(kTokensMax * kN);
    outputs.copy_out(std::as_writable_bytes(std::span(c)));
    std::size_t row = 0;
    for (std::size_t expert = 0; expert < routed.size(); ++expert) {
      if (routed[expert] == 0) continue;
      std::printf("expert %zu, %2u tokens: C[0][0..2] = %9.3f %9.3f %9.3f\n", expert,
                  routed[expert], c[row * kN], c[row * kN + 1], c[row * kN + 2]);
      const std::vector<float> own = dequantize(matrices[expert].view());
      for (std::uint32_t i = 0; i < routed[expert]; ++i, ++row) {
        const double error = error_of(&c[row * kN], &values[row * kK], own);
        if (!(error <= largest_error)) largest_error = error;
      }
    }
  }
  std::printf("largest error %.1e\n", largest_error);
  return largest_error < 1e-3;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const EngineOptions options{.device = argc > 1 ? argv[1] : "gpu"};
    if (const std::string why = why_no_device(options); !why.empty()) {
      std::printf("%s\n", why.c_str());
      return 0;
    }
    return run(options) ? 0 : 1;
  } catch (const Error& error) {
    std::fprintf(stderr, "gpu_gemm: %s\n", error.what());
    return 1;
  }
}
