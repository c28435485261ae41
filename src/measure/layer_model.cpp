// SPDX-License-Identifier: Apache-2.0
#include "measure/layer_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "gemm/speed_of_light.hpp"
#include "moe/ladder.hpp"

namespace thresher::measure {

double LayerModel::expert_bytes() const {
  const double matrices = activation == MoeActivation::kSquaredRelu ? 2 : 3;
  return matrices * static_cast<double>(hidden * intermediate) * kNvfp4BytesPerElement;
}

const std::vector<LayerModel>& layer_models() {
  static const std::vector<LayerModel> models = {
      {"qwen3.6-35b-a3b", 2048, 512, 256, 8},
      {"qwen3-235b-a22b", 4096, 1536, 128, 8},
      {.name = "deepseek-v3-rank",
       .hidden = 7168,
       .intermediate = 2048,
       .expert_count = 32,
       .top_k = 8,
       .router_experts = 256},
      {.name = "gpt-oss-120b",
       .hidden = 2880,
       .intermediate = 2880,
       .expert_count = 128,
       .top_k = 4,
       .activation = MoeActivation::kClampedSilu,
       .biases = true},
      {"mixtral-8x7b", 4096, 14336, 8, 2},
  };
  return models;
}

LayerModel layer_model_from_text(std::string_view text) {
  std::string names;
  for (const LayerModel& model : layer_models()) {
    if (model.name == text) return model;
    names += model.name + ", ";
  }
  LayerModel model{.name = std::string(text)};
  char behind = 0;
  long long numbers[4] = {};
  const int read = std::sscanf(model.name.c_str(), "%lldx%lldx%lldx%lld%c", &numbers[0],
                               &numbers[1], &numbers[2], &numbers[3], &behind);
  const bool fits = std::all_of(std::begin(numbers), std::end(numbers), [](long long number) {
    return number >= 1 && number <= kExtentMax;
  });
  if (read != 4 || !fits || numbers[0] % kBlockElements != 0 || numbers[1] % kBlockElements != 0 ||
      numbers[2] > kGroupCountMax || numbers[3] > numbers[2]) {
    throw Error(fmt::format(
        "no layer is called '{}': there are {}or HIDDENxINTERMEDIATExEXPERTSxTOP_K, the first two "
        "multiples of 16, as in 2048x512x256x8",
        text, names));
  }
  model.hidden = numbers[0];
  model.intermediate = numbers[1];
  model.expert_count = numbers[2];
  model.top_k = numbers[3];
  return model;
}

std::vector<Problem> layer_problems(const LayerModel& model, Activations activations,
                                    std::int64_t tokens) {
  backend::LayerShape shape{.hidden = model.hidden,
                            .intermediate = model.intermediate,
                            .expert_count = model.expert_count,
                            .shared_count = 0,
                            .options = {.top_k = model.top_k,
                                        .tokens_max = tokens,
                                        .router_experts = model.router_experts,
                                        .activations = activations,
                                        .activation = model.activation}};
  shape.between = moe::between_of(shape.options, model.biases);
  moe::LayerProblems problems = moe::problems_of(shape);
  problems.first.name = fmt::format("{}_gate_up_t{}", model.name, tokens);
  problems.down.name = fmt::format("{}_down_t{}", model.name, tokens);
  return {moe::with_typical_rows(std::move(problems.first), shape, tokens),
          moe::with_typical_rows(std::move(problems.down), shape, tokens)};
}

}  // namespace thresher::measure
