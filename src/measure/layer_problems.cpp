// SPDX-License-Identifier: Apache-2.0
#include "measure/layer_problems.hpp"

#include <fmt/format.h>

#include "moe/ladder.hpp"

namespace thresher::measure {

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
