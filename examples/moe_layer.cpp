// SPDX-License-Identifier: Apache-2.0
// A mixture-of-experts layer: four experts, of which a router gives every token the best two. The
// layer is packed once and then computes any number of tokens; each result is compared with a loop.
//
//   moe_layer [cpu|gpu|emulator]
#include <cmath>
#include <cstdio>
#include <thresher/thresher.hpp>
#include <vector>

using namespace thresher;

constexpr std::int64_t kHidden = 64, kInner = 96, kExperts = 4, kTopK = 2, kTokensMax = 8;

struct Expert {
  Nvfp4Matrix gate, up, down;

  explicit Expert(float phase)
      : gate(wave(kInner, kHidden, phase)),
        up(wave(kInner, kHidden, phase + 1)),
        down(wave(kHidden, kInner, phase + 2)) {}

  static Nvfp4Matrix wave(std::int64_t rows, std::int64_t columns, float phase) {
    std::vector<float> values(rows * columns);
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = 0.1f * std::sin(0.37f * static_cast<float>(i) + phase);
    }
    return quantize(values, rows, columns);
  }

  // One column of this expert's answer to a row of x.
  float at(const float* x, std::int64_t column) const {
    const std::vector<float> g = dequantize(gate.view()), u = dequantize(up.view());
    const std::vector<float> d = dequantize(down.view());
    float sum = 0;
    for (std::int64_t i = 0; i < kInner; ++i) {
      float gated = 0, plain = 0;
      for (std::int64_t k = 0; k < kHidden; ++k) {
        gated += g[i * kHidden + k] * x[k];
        plain += u[i * kHidden + k] * x[k];
      }
      sum += d[column * kInner + i] * (gated / (1 + std::exp(-gated)) * plain);
    }
    return sum;
  }
};

int main(int argc, char** argv) {
  const Engine engine({.device = argc > 1 ? argv[1] : "cpu"});
  std::vector<Expert> experts;
  for (int e = 0; e < kExperts; ++e) experts.emplace_back(static_cast<float>(e));
  std::vector<MoeExpert> views;
  for (const Expert& expert : experts) {
    views.push_back(
        {.gate = expert.gate.view(), .up = expert.up.view(), .down = expert.down.view()});
  }
  // fp32 in and out; the experts multiply bf16 by NVFP4.
  const MoeLayer layer(engine, {.experts = views},
                       {.top_k = kTopK,
                        .tokens_max = kTokensMax,
                        .activations = Activations::kBf16,
                        .x = Output::kFp32,
                        .out = Output::kFp32});

  float worst = 0;
  for (const std::int64_t tokens : {8, 1, 3}) {  // prefill, and two steps
    std::vector<float> x(tokens * kHidden), out(tokens * kHidden), logits(tokens * kExperts);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(0.7f * static_cast<float>(i));
    for (std::size_t i = 0; i < logits.size(); ++i) logits[i] = std::cos(static_cast<float>(i));
    std::vector<std::int32_t> ids(tokens * kTopK);
    std::vector<float> weights(tokens * kTopK);
    route(logits, {.expert_count = kExperts, .top_k = kTopK, .renormalize = true}, ids, weights);

    layer.forward({.x = x.data(),
                   .ids = ids.data(),
                   .weights = weights.data(),
                   .out = out.data(),
                   .token_count = tokens});

    for (std::int64_t t = 0; t < tokens; ++t) {
      float expected = 0;
      for (std::int64_t s = 0; s < kTopK; ++s) {
        const Expert& expert = experts[ids[t * kTopK + s]];
        expected += weights[t * kTopK + s] * expert.at(&x[t * kHidden], t);
      }
      worst = std::max(worst, std::fabs(out[t * kHidden + t] - expected));
    }
  }
  std::printf("%s: %lld experts, %zu bytes of weights, largest error %.4f\n",
              engine.device().c_str(), static_cast<long long>(layer.expert_count()),
              layer.weight_bytes(), worst);
  return worst < 0.05f ? 0 : 1;
}
