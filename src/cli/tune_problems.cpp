// SPDX-License-Identifier: Apache-2.0
#include "cli/tune_problems.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cli/bench_layer.hpp"
#include "cli/command.hpp"
#include "cli/selection.hpp"
#include "engine/plan_file.hpp"
#include "measure/layer_model.hpp"
#include "spelling.hpp"
#include "thresher/checkpoint.hpp"

namespace thresher::cli {
namespace {

// A token, and what servers batch.
constexpr int kLayerTokens[] = {1, 16, 64, 256};

// So many tokens, spread over the groups as evenly as they go.
Problem with_tokens(Problem problem, int tokens) {
  const auto count = static_cast<std::int64_t>(problem.groups.size());
  for (std::int64_t i = 0; i < count; ++i) {
    problem.groups[static_cast<std::size_t>(i)].m = tokens / count + (i < tokens % count ? 1 : 0);
  }
  problem.name += fmt::format("_t{}", tokens);
  return problem;
}

std::vector<Problem> of_suites(const TuneSelection& selection) {
  std::vector<Problem> problems;
  for (SelectedProblem& selected : select_problems(selection.suites, selection.problems)) {
    if (!selection.activations.empty()) {
      selected.problem.activations = activations_from_string(selection.activations);
    }
    if (selection.tokens.empty()) problems.push_back(selected.problem);
    for (const int tokens : distinct(selection.tokens)) {
      problems.push_back(with_tokens(selected.problem, tokens));
    }
  }
  return problems;
}

std::vector<Problem> of_models(const std::vector<measure::LayerModel>& models,
                               const TuneSelection& selection) {
  const Activations activations = selection.activations.empty()
                                      ? Activations::kBf16
                                      : activations_from_string(selection.activations);
  std::vector<int> token_counts = distinct(selection.tokens);
  if (token_counts.empty()) token_counts.assign(std::begin(kLayerTokens), std::end(kLayerTokens));
  std::vector<Problem> problems;
  for (const measure::LayerModel& model : models) {
    for (const int tokens : token_counts) {
      for (Problem& problem : measure::layer_problems(model, activations, tokens)) {
        problems.push_back(std::move(problem));
      }
    }
  }
  return problems;
}

// Products of layers by their names, as suites have theirs.
std::vector<Problem> only_named(std::vector<Problem> problems,
                                const std::vector<std::string>& names) {
  if (names.empty()) return problems;
  std::vector<std::string> known;
  for (const Problem& problem : problems) known.push_back(problem.name);
  for (const std::string& name : names) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    throw UsageError(fmt::format("no product of these layers is called '{}'; there are {}{}", name,
                                 fmt::join(known, ", "), did_you_mean(name, known)));
  }
  std::erase_if(problems, [&](const Problem& problem) {
    return std::find(names.begin(), names.end(), problem.name) == names.end();
  });
  return problems;
}

measure::LayerModel model_of(const CheckpointLayer& layer, const std::string& name) {
  if (!layer.faults.empty()) throw Error(layer.faults.front());
  if (layer.options.top_k == 0) {
    throw Error(fmt::format(
        "layer {}: config.json does not say how many experts a token has; give the shape instead: "
        "--model {}x{}x{}xTOP_K",
        layer.prefix, layer.hidden, layer.intermediate, layer.expert_count));
  }
  return {.name = name,
          .hidden = layer.hidden,
          .intermediate = layer.intermediate,
          .expert_count = layer.expert_count,
          .top_k = layer.options.top_k,
          .activation = layer.options.activation,
          .biases = layer.has_biases};
}

std::vector<measure::LayerModel> models_in(const std::filesystem::path& path) {
  const Checkpoint checkpoint(path);
  const std::string& type = checkpoint.model_type();
  std::vector<measure::LayerModel> models;
  for (const CheckpointLayer& layer : checkpoint.layers()) {
    models.push_back(model_of(
        layer, fmt::format("{}_layer{}", type.empty() ? layer.family : type, layer.index)));
  }
  if (models.empty()) {
    throw Error(fmt::format(
        "{}: there is no mixture-of-experts layer in it; thresher inspect shows what there is",
        path.string()));
  }
  return models;
}

// Layers of a model are alike: the first of each kind is kept.
std::vector<Problem> one_of_each_class(const std::vector<Problem>& problems) {
  std::vector<Problem> kept;
  for (const Problem& problem : problems) {
    const std::optional<PlanClass> wanted = plan_class(problem);
    if (!wanted) {
      throw UsageError(
          fmt::format("problem '{}': its groups differ in n or k, and a plan is for equal ones; "
                      "choose others with --problem",
                      problem.name));
    }
    const bool is_new = std::none_of(kept.begin(), kept.end(), [&](const Problem& other) {
      return plan_class(other) == wanted && token_count(other) == token_count(problem);
    });
    if (is_new) kept.push_back(problem);
  }
  return kept;
}

}  // namespace

std::vector<Problem> problems_to_tune(const TuneSelection& selection) {
  const int sources = (selection.suites.empty() ? 0 : 1) + (selection.models.empty() ? 0 : 1) +
                      (selection.checkpoint.empty() ? 0 : 1);
  if (sources != 1) throw UsageError("say what to tune: --suite, --model, or --checkpoint");
  if (!selection.suites.empty()) return one_of_each_class(of_suites(selection));
  const std::vector<measure::LayerModel> models = selection.models.empty()
                                                      ? models_in(selection.checkpoint)
                                                      : layer_models_of(selection.models);
  return one_of_each_class(only_named(of_models(models, selection), selection.problems));
}

}  // namespace thresher::cli
