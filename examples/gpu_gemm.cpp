// SPDX-License-Identifier: Apache-2.0
// A grouped NVFP4 GEMM on a GPU whose group sizes only the device knows, as after a router: the
// call is queued without them, and the same call serves every distribution of tokens.
//
// Where there is no usable GPU it says why, and that is all.
#include <cstdint>
#include <cstdio>
#include <random>
#include <vector>

#include "thresher/thresher.hpp"

namespace {

constexpr std::int64_t kExperts = 4;
constexpr std::int64_t kTokensMax = 96;
constexpr std::int64_t kN = 512;
constexpr std::int64_t kK = 1024;

thresher::Nvfp4Matrix random_matrix(std::int64_t rows, std::mt19937& random) {
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<std::size_t>(rows * kK));
  for (float& value : values) value = normal(random);
  return thresher::quantize(values, rows, kK);
}

template <typename Values>
thresher::GpuBuffer on_gpu(const thresher::GpuEngine& engine, const Values& values) {
  const auto bytes = std::as_bytes(std::span(values));
  thresher::GpuBuffer buffer = engine.allocate(bytes.size());
  buffer.copy_in(bytes);
  return buffer;
}

void run() {
  std::mt19937 random(1);
  const thresher::GpuEngine engine;
  std::printf("%s\n", engine.description().c_str());

  // Once per model.
  std::vector<thresher::GpuWeights> weights;
  for (int i = 0; i < kExperts; ++i)
    weights.push_back(engine.pack(random_matrix(kN, random).view()));

  // Once per layer: every expert has room for all tokens.
  thresher::Problem problem{.name = "experts", .output = thresher::Output::kFp32};
  problem.groups.assign(kExperts, {.m = 0, .n = kN, .k = kK});
  const thresher::GpuPlan plan = engine.plan(problem, {}, kTokensMax);
  const thresher::GpuWorkspace workspace = engine.workspace(plan);
  const thresher::Nvfp4Matrix tokens = random_matrix(kTokensMax, random);
  const thresher::GpuBuffer codes = on_gpu(engine, tokens.codes);
  const thresher::GpuBuffer scales = on_gpu(engine, tokens.scales);
  std::vector<thresher::GpuBuffer> outputs;
  std::vector<thresher::GpuGroupOperands> operands;
  for (int i = 0; i < kExperts; ++i) {
    outputs.push_back(engine.allocate(kTokensMax * kN * sizeof(float)));
    operands.push_back({.a_codes = codes.data(),
                        .a_scales = scales.data(),
                        .a_global_scale = tokens.global_scale,
                        .weights = &weights[static_cast<std::size_t>(i)],
                        .c = outputs.back().data()});
  }
  const thresher::GpuBuffer counts = engine.allocate(kExperts * sizeof(std::uint32_t));
  const thresher::GpuCall call = engine.bind(
      plan, operands, workspace,
      {.counts = static_cast<const std::uint32_t*>(counts.data()), .tokens_max = kTokensMax});

  // Per step: whatever wrote the counts, the call follows it on the stream.
  for (const std::vector<std::uint32_t>& routed :
       {std::vector<std::uint32_t>{5, 0, 80, 11}, std::vector<std::uint32_t>{0, 96, 0, 0}}) {
    counts.copy_in(std::as_bytes(std::span(routed)));
    call.enqueue(nullptr);
    engine.synchronize();
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (routed[i] == 0) continue;
      std::vector<float> row(kN);
      outputs[i].copy_out(std::as_writable_bytes(std::span(row)));
      std::printf("expert %zu, %2u tokens: C[0][0..2] = %9.3f %9.3f %9.3f\n", i, routed[i],
                  static_cast<double>(row[0]), static_cast<double>(row[1]),
                  static_cast<double>(row[2]));
    }
  }
}

}  // namespace

int main() {
  if (const std::string why = thresher::why_no_gpu(); !why.empty()) {
    std::printf("%s\n", why.c_str());
    return 0;
  }
  try {
    run();
    return 0;
  } catch (const thresher::Error& error) {
    std::fprintf(stderr, "gpu_gemm: %s\n", error.what());
    return 1;
  }
}
