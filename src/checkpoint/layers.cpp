// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/layers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "checkpoint/families.hpp"
#include "checkpoint/matrix.hpp"
#include "checkpoint/printable.hpp"
#include "checkpoint/routing.hpp"
#include "checkpoint/stack.hpp"
#include "checkpoint/state.hpp"
#include "thresher/error.hpp"

namespace thresher::checkpoint {
namespace {

constexpr std::string_view kExperts = ".experts.";
constexpr std::string_view kDraft = "mtp.";  // layers of a draft model, of a family of its own

// All tensors whose names begin alike, "model.layers.3.mlp.experts.".
struct ExpertTensors {
  std::string module;              // "model.layers.3.mlp"
  std::vector<const Tensor*> all;  // sorted by name
};

std::vector<ExpertTensors> group_by_module(const State& state) {
  std::vector<ExpertTensors> groups;
  for (const Tensor& tensor : state.tensors()) {
    const std::size_t end = tensor.name.find(kExperts);
    if (end == std::string::npos) continue;
    const std::string_view module = std::string_view(tensor.name).substr(0, end);
    if (groups.empty() || groups.back().module != module)
      groups.push_back({std::string(module), {}});
    groups.back().all.push_back(&tensor);
  }
  return groups;
}

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0) return {};
  return number;
}

// "3" of "model.layers.3.mlp", and "mlp".
struct ModulePlace {
  std::optional<std::int64_t> layer;
  std::string_view name;
};

ModulePlace place_of(std::string_view module) {
  const std::size_t dot = module.rfind('.');
  if (dot == std::string_view::npos) return {{}, module};
  const std::string_view above = module.substr(0, dot);
  const std::size_t above_dot = above.rfind('.');
  const std::string_view number =
      above_dot == std::string_view::npos ? above : above.substr(above_dot + 1);
  return {whole_number(number), module.substr(dot + 1)};
}

const Family* family_by_marker(const State& state, const std::string& module) {
  for (const Family& family : families()) {
    if (family.module != place_of(module).name) continue;
    if (family.marker.empty() || state.find(module + "." + std::string(family.marker)) != nullptr) {
      return &family;
    }
  }
  return nullptr;
}

// By config.json's model_type where it goes with the experts' names, otherwise by their names.
const Family* family_of(const State& state, const std::string& module, CheckpointLayer& layer) {
  const std::string& model_type = state.config().model_type;
  const Family* said = family_of_model(model_type);
  const std::string_view name = place_of(module).name;
  if (said != nullptr && said->module == name) return said;
  const Family* marked = family_by_marker(state, module);
  if (marked == nullptr) return nullptr;
  if (said == nullptr && !model_type.empty()) {
    layer.notes.push_back(
        fmt::format("config.json: no family is known to have the model_type '{}'; tensors are "
                    "named as those of the family '{}'",
                    model_type, marked->name));
  } else if (said != nullptr && !module.starts_with(kDraft)) {
    add_fault(layer, fmt::format("config.json: model_type = '{}' is of the family '{}', which has "
                                 "its experts in '{}', not in '{}'",
                                 model_type, said->name, said->module, name));
  }
  return marked;
}

std::string joined(const std::string& module, std::string_view name) {
  return module + "." + std::string(name);
}

void describe_activation(const State& state, const Family& family, CheckpointLayer& layer) {
  const Config& config = state.config();
  layer.has_gate = !family.gate.empty();
  layer.options.activation = family.activation;
  layer.options.alpha = family.alpha;
  layer.options.beta = family.beta;
  layer.options.limit = family.limit;
  layer.options.weight_on_input = family.weight_on_input;
  const bool clamped = family.activation == MoeActivation::kClampedSilu;
  if (config.swiglu_limit && clamped) {
    layer.options.limit = positive_value(*config.swiglu_limit, "swiglu_limit", family.limit, layer);
  } else if (config.swiglu_limit && *config.swiglu_limit != 0) {
    layer.faults.push_back(
        fmt::format("config.json: swiglu_limit = {}, and how the family '{}' clamps is not known",
                    *config.swiglu_limit, family.name));
  }
  const std::string& word = config.activation;
  const bool fits =
      word.empty() || (layer.has_gate ? word == "silu" || word == "swish" : word == "relu2");
  if (!fits) {
    layer.faults.push_back(fmt::format(
        "config.json: the activation is '{}'; experts of the family '{}' are computed with {}",
        word, family.name, layer.has_gate ? "silu" : "relu2"));
  }
}

// One expert's matrices, wherever they lie; gate's is empty where there is none.
struct StoredExpert {
  StoredMatrix gate;
  StoredMatrix up;
  StoredMatrix down;
};

StoredExpert locate_expert(const State& state, const Family& family, const std::string& prefix) {
  StoredExpert expert;
  if (!family.gate.empty()) expert.gate = locate_matrix(state, joined(prefix, family.gate));
  expert.up = locate_matrix(state, joined(prefix, family.up));
  expert.down = locate_matrix(state, joined(prefix, family.down));
  return expert;
}

void need_alike(const State& state, const StoredMatrix& matrix, const StoredMatrix& model,
                std::int64_t rows, std::int64_t k_elements) {
  if (matrix.format != model.format || matrix.dtype != model.dtype) {
    throw Error(fmt::format("{}: is {} ({}), where '{}' is {} ({})", state.place(*matrix.codes),
                            matrix.dtype, to_string(matrix.format), model.codes->name, model.dtype,
                            to_string(model.format)));
  }
  if (matrix.rows != rows || matrix.k_elements != k_elements) {
    throw Error(fmt::format("{}: is a matrix of {} x {}, {} x {} is needed",
                            state.place(*matrix.codes), matrix.rows, matrix.k_elements, rows,
                            k_elements));
  }
}

// gate and up are intermediate x hidden, down is hidden x intermediate; all of one format.
void check_expert(const State& state, const StoredExpert& expert, const StoredMatrix& model) {
  const std::int64_t intermediate = model.rows;
  const std::int64_t hidden = model.k_elements;
  if (expert.gate.codes != nullptr) {
    need_alike(state, expert.gate, model, intermediate, hidden);
  }
  need_alike(state, expert.up, model, intermediate, hidden);
  need_alike(state, expert.down, model, hidden, intermediate);
}

// The one whose extents and format the others have.
const StoredMatrix& model_of(const StoredExpert& expert) {
  return expert.gate.codes != nullptr ? expert.gate : expert.up;
}

bool has_inputs(const StoredExpert& expert) {
  const bool gate = expert.gate.codes == nullptr || expert.gate.input_scale != nullptr;
  return gate && expert.up.input_scale != nullptr && expert.down.input_scale != nullptr;
}

std::optional<std::int64_t> number_of_expert(const ExpertTensors& tensors, const Tensor& tensor) {
  const std::string_view rest =
      std::string_view(tensor.name).substr(tensors.module.size() + kExperts.size());
  return whole_number(rest.substr(0, rest.find('.')));
}

// One more than the largest number of an expert.
std::int64_t count_experts(const ExpertTensors& tensors) {
  std::int64_t count = 0;
  for (const Tensor* tensor : tensors.all) {
    const std::optional<std::int64_t> number = number_of_expert(tensors, *tensor);
    // Fewer experts than tensors: a name with a wild number makes no loop of as many steps.
    constexpr std::int64_t kExpertsMax = 1 << 20;
    if (number && *number < kExpertsMax) count = std::max(count, *number + 1);
  }
  return count;
}

void check_count(const State& state, CheckpointLayer& layer) {
  const std::optional<std::int64_t> said = state.config().expert_count;
  if (!said || *said == layer.expert_count) return;
  add_fault(layer, fmt::format("{}: there are {} experts, config.json says {}", layer.prefix,
                               layer.expert_count, *said));
}

void describe_experts(const State& state, const Family& family, const ExpertTensors& tensors,
                      CheckpointLayer& layer) {
  layer.expert_count = count_experts(tensors);
  if (layer.expert_count == 0) {
    add_fault(layer, fmt::format("{}: is none of an expert's tensors that Thresher knows",
                                 state.place(*tensors.all.front())));
  }
  check_count(state, layer);
  std::optional<StoredMatrix> model;
  layer.has_input_scales = input_scales_are_nvfp4(state);
  for (std::int64_t i = 0; i < layer.expert_count && !has_faults_enough(layer); ++i) {
    try {
      const StoredExpert expert =
          locate_expert(state, family, fmt::format("{}.{}", layer.prefix, i));
      if (!model) model = model_of(expert);
      check_expert(state, expert, *model);
      layer.has_input_scales = layer.has_input_scales && has_inputs(expert);
      layer.has_biases |= expert.up.bias != nullptr || expert.down.bias != nullptr;
    } catch (const Error& error) {
      add_fault(layer, error.what());
    }
  }
  if (!model) return;
  layer.format = model->format;
  layer.dtype = model->dtype;
  layer.intermediate = model->rows;
  layer.hidden = model->k_elements;
}

// Whether any part of it is there; one that is there as a part only is a fault.
bool is_stored(const State& state, const Family& family, const std::string& prefix) {
  for (const std::string_view projection : {family.gate, family.up, family.down}) {
    if (projection.empty()) continue;
    const std::string module = joined(prefix, projection);
    if (state.find(module + ".weight") != nullptr) return true;
    if (state.find(module + ".weight_packed") != nullptr) return true;
  }
  return false;
}

void describe_shared(const State& state, const Family& family, const std::string& module,
                     CheckpointLayer& layer) {
  if (family.shared.empty()) return;
  const std::string prefix = joined(module, family.shared);
  if (!is_stored(state, family, prefix)) return;
  layer.shared_prefix = prefix;
  try {
    const StoredExpert expert = locate_expert(state, family, prefix);
    const StoredMatrix& model = model_of(expert);
    check_expert(state, expert, model);
    layer.shared_intermediate = model.rows;
    layer.shared_dtype = model.dtype;
  } catch (const Error& error) {
    add_fault(layer, error.what());
  }
}

std::string gate_up_name(const std::string& prefix) { return prefix + ".gate_up_proj"; }
std::string down_name(const std::string& prefix) { return prefix + ".down_proj"; }

// Half of a pair of stacks is a fault of them, not of experts with matrices of their own.
bool has_stacks(const State& state, const std::string& prefix) {
  return state.find(gate_up_name(prefix)) != nullptr || state.find(down_name(prefix)) != nullptr;
}

struct StoredStacks {
  StoredStack gate_up;
  StoredStack down;
};

// Weights that are not NVFP4 are stored both ways round: [E, 2I, H] and [E, H, I], or both the
// other way. Extents tell, since 2I is not I.
bool are_rows_first(const State& state, const std::string& prefix) {
  const Tensor* gate_up = state.find(gate_up_name(prefix));
  const Tensor* down = state.find(down_name(prefix));
  return gate_up != nullptr && down != nullptr && gate_up->dtype != "U8" &&
         gate_up->shape.size() == 3 && down->shape.size() == 3 &&
         gate_up->shape[2] == down->shape[1] && gate_up->shape[1] % 2 == 0 &&
         gate_up->shape[1] / 2 == down->shape[2];
}

StoredStacks locate_stacks(const State& state, const std::string& prefix) {
  const bool rows_first = are_rows_first(state, prefix);
  StoredStacks stacks{locate_stack(state, gate_up_name(prefix), rows_first),
                      locate_stack(state, down_name(prefix), rows_first)};
  const StoredStack& gate_up = stacks.gate_up;
  const StoredStack& down = stacks.down;
  if (gate_up.rows % 2 == 0 && down.rows == gate_up.k_elements &&
      down.k_elements == gate_up.rows / 2 && down.expert_count == gate_up.expert_count &&
      down.format == gate_up.format) {
    return stacks;
  }
  throw Error(fmt::format(
      "{}: {} experts of {} x {} ({}) do not go with {} of {} x {} ({}) in '{}'",
      state.place(*down.codes), down.expert_count, down.rows, down.k_elements, down.dtype,
      gate_up.expert_count, gate_up.rows, gate_up.k_elements, gate_up.dtype, gate_up.codes->name));
}

// Stacks are gate and up in one, and all experts there are.
void check_stacks_alone(const Family& family, const ExpertTensors& tensors,
                        const CheckpointLayer& layer) {
  if (family.gate.empty()) {
    throw Error(fmt::format("{}: experts of the family '{}' have no gate, and cannot be a stack",
                            gate_up_name(layer.prefix), family.name));
  }
  for (const Tensor* tensor : tensors.all) {
    if (!number_of_expert(tensors, *tensor)) continue;
    throw Error(
        fmt::format("tensor '{}' stands beside the stack of experts '{}'; which of them "
                    "counts?",
                    printable(tensor->name), gate_up_name(layer.prefix)));
  }
}

void describe_stacks(const State& state, const Family& family, const ExpertTensors& tensors,
                     CheckpointLayer& layer) {
  try {
    check_stacks_alone(family, tensors, layer);
    const StoredStacks stacks = locate_stacks(state, layer.prefix);
    layer.format = stacks.gate_up.format;
    layer.dtype = stacks.gate_up.dtype;
    layer.expert_count = stacks.gate_up.expert_count;
    layer.intermediate = stacks.gate_up.rows / 2;
    layer.hidden = stacks.gate_up.k_elements;
    layer.has_biases = stacks.gate_up.bias != nullptr || stacks.down.bias != nullptr;
    layer.has_input_scales = stacks.gate_up.input_scale != nullptr &&
                             stacks.down.input_scale != nullptr && input_scales_are_nvfp4(state);
  } catch (const Error& error) {
    add_fault(layer, error.what());
  }
  check_count(state, layer);
}

CheckpointLayer describe_layer(const State& state, const ExpertTensors& tensors) {
  CheckpointLayer layer;
  layer.prefix = tensors.module + ".experts";
  const ModulePlace place = place_of(tensors.module);
  layer.index = place.layer.value_or(-1);
  const Family* family = family_of(state, tensors.module, layer);
  if (family == nullptr) {
    layer.expert_count = count_experts(tensors);
    add_fault(layer, fmt::format("{}: no family that Thresher knows has its experts in '{}'",
                                 state.place(*tensors.all.front()), place.name));
    return layer;
  }
  layer.family = family->name;
  describe_activation(state, *family, layer);
  if (has_stacks(state, layer.prefix)) {
    describe_stacks(state, *family, tensors, layer);
  } else if (const Tensor* blocks = state.find(gate_up_name(layer.prefix) + "_blocks")) {
    // GPT-OSS as it was published: blocks of 32 with power-of-two scales.
    layer.dtype = "MXFP4";
    if (!blocks->shape.empty()) layer.expert_count = blocks->shape.front();
  } else {
    describe_experts(state, *family, tensors, layer);
  }
  describe_router(state, *family, tensors.module, layer);
  describe_shared(state, *family, tensors.module, layer);
  return layer;
}

bool goes_before(const CheckpointLayer& a, const CheckpointLayer& b) {
  // Layers count up inside what stands before the number.
  const auto stem = [](const CheckpointLayer& layer) {
    const std::string_view prefix = layer.prefix;
    return layer.index < 0
               ? prefix
               : prefix.substr(0, prefix.rfind("." + std::to_string(layer.index) + "."));
  };
  const int order = stem(a).compare(stem(b));
  return order != 0 ? order < 0 : a.index < b.index;
}

// All layers of a model are of one family; only its draft's may be of another.
void check_families(std::vector<CheckpointLayer>& layers) {
  const CheckpointLayer* first = nullptr;
  for (CheckpointLayer& layer : layers) {
    if (layer.family.empty() || layer.prefix.starts_with(kDraft)) continue;
    if (first == nullptr) first = &layer;
    if (layer.family == first->family) continue;
    add_fault(layer, fmt::format("{}: is of the family '{}', {} of '{}'; layers of one model are "
                                 "of one family",
                                 layer.prefix, layer.family, first->prefix, first->family));
  }
}

CheckpointExpert expert_of(const LoadedMatrix& gate, const LoadedMatrix& up,
                           const LoadedMatrix& down, Keep keep) {
  CheckpointExpert loaded;
  loaded.expert = {.gate = gate.view,
                   .up = up.view,
                   .down = down.view,
                   .input_scale = gate.view.codes == nullptr
                                      ? up.input_scale
                                      : std::max(gate.input_scale, up.input_scale),
                   .down_input_scale = down.input_scale,
                   .gate_bias = gate.bias,
                   .up_bias = up.bias,
                   .down_bias = down.bias};
  loaded.memory = std::make_shared<const Keep>(std::move(keep));
  return loaded;
}

CheckpointExpert load_located(const State& state, const StoredExpert& stored) {
  if (stored.up.format == CheckpointFormat::kNone) {
    throw Error(fmt::format("{}: is {}, not NVFP4; thresher quantize makes it so",
                            state.place(*stored.up.codes), stored.up.dtype));
  }
  check_expert(state, stored, model_of(stored));
  Keep keep;
  LoadedMatrix gate;
  if (stored.gate.codes != nullptr) gate = load_matrix(state, stored.gate, keep);
  const LoadedMatrix up = load_matrix(state, stored.up, keep);
  const LoadedMatrix down = load_matrix(state, stored.down, keep);
  return expert_of(gate, up, down, std::move(keep));
}

// The upper half of a stack's rows is gate's, the lower up's.
LoadedMatrix half_of(const LoadedMatrix& both, int half) {
  LoadedMatrix matrix = both;
  matrix.view.rows = both.view.rows / 2;
  const std::int64_t skipped = half * matrix.view.rows;
  matrix.view.codes += skipped * matrix.view.k_elements / 2;
  matrix.view.scales += skipped * matrix.view.k_elements / kBlockElements;
  if (matrix.bias != nullptr) matrix.bias += skipped;
  return matrix;
}

CheckpointExpert load_from_stacks(const State& state, const CheckpointLayer& layer,
                                  const Family& family, std::int64_t index) {
  const StoredStacks stacks = locate_stacks(state, layer.prefix);
  if (stacks.gate_up.format == CheckpointFormat::kNone) {
    throw Error(fmt::format("{}: is {}, not NVFP4; thresher quantize makes it so",
                            state.place(*stacks.gate_up.codes), stacks.gate_up.dtype));
  }
  if (index >= stacks.gate_up.expert_count) {
    throw Error(fmt::format("{}: expert {} is not in 0..{}", layer.prefix, index,
                            stacks.gate_up.expert_count - 1));
  }
  Keep keep;
  const LoadedMatrix both = load_stacked(state, stacks.gate_up, index, family.interleaved, keep);
  const LoadedMatrix down = load_stacked(state, stacks.down, index, false, keep);
  return expert_of(half_of(both, 0), half_of(both, 1), down, std::move(keep));
}

const Family& need_family(const CheckpointLayer& layer) {
  if (!layer.faults.empty()) throw Error(layer.faults.front());
  const Family* family = family_called(layer.family);
  if (family == nullptr) throw Error(fmt::format("there is no family '{}'", layer.family));
  return *family;
}

}  // namespace

std::vector<CheckpointLayer> find_layers(const State& state) {
  std::vector<CheckpointLayer> layers;
  for (const ExpertTensors& tensors : group_by_module(state)) {
    layers.push_back(describe_layer(state, tensors));
  }
  std::sort(layers.begin(), layers.end(), goes_before);
  check_families(layers);
  return layers;
}

CheckpointExpert load_expert(const State& state, const CheckpointLayer& layer, std::int64_t index) {
  const Family& family = need_family(layer);
  if (index < 0 || index >= layer.expert_count) {
    throw Error(
        fmt::format("{}: expert {} is not in 0..{}", layer.prefix, index, layer.expert_count - 1));
  }
  if (has_stacks(state, layer.prefix)) {
    return load_from_stacks(state, layer, family, index);
  }
  if (layer.dtype == "MXFP4") {
    throw Error(fmt::format("{}: experts are MXFP4, not NVFP4", layer.prefix));
  }
  return load_located(state,
                      locate_expert(state, family, fmt::format("{}.{}", layer.prefix, index)));
}

void prefetch_expert(const State& state, const CheckpointLayer& layer, std::int64_t index) {
  const Family* family = family_called(layer.family);
  if (family == nullptr || index >= layer.expert_count) return;
  const std::string prefix = fmt::format("{}.{}", layer.prefix, index);
  for (const std::string_view projection : {family->gate, family->up, family->down}) {
    for (const char* part : {".weight", ".weight_packed", ".weight_scale"}) {
      const Tensor* tensor = state.find(joined(prefix, projection) + part);
      if (tensor != nullptr) state.prefetch(*tensor, 0, tensor->byte_count);
    }
  }
  // Of a stack, the expert's share.
  for (const std::string& stack : {gate_up_name(layer.prefix), down_name(layer.prefix)}) {
    for (const char* part : {"", "_weight_scale"}) {
      const Tensor* tensor = state.find(stack + part);
      if (tensor == nullptr || tensor->shape.empty() || tensor->shape[0] <= index) continue;
      const std::uint64_t share = tensor->byte_count / static_cast<std::uint64_t>(tensor->shape[0]);
      state.prefetch(*tensor, share * static_cast<std::uint64_t>(index), share);
    }
  }
}

CheckpointExpert load_shared_expert(const State& state, const CheckpointLayer& layer) {
  const Family& family = need_family(layer);
  if (layer.shared_prefix.empty()) {
    throw Error(fmt::format("{}: this layer has no shared expert", layer.prefix));
  }
  return load_located(state, locate_expert(state, family, layer.shared_prefix));
}

std::vector<ExpertModules> plain_experts(const State& state) {
  std::vector<ExpertModules> experts;
  for (const CheckpointLayer& layer : state.layers()) {
    const Family& family = need_family(layer);
    const auto add = [&](const std::string& prefix) {
      experts.push_back({family.gate.empty() ? std::string() : joined(prefix, family.gate),
                         joined(prefix, family.up), joined(prefix, family.down)});
    };
    if (layer.dtype == "MXFP4") {
      throw Error(fmt::format("{}: experts are MXFP4; those in BF16, F16 or F32 can be quantised",
                              layer.prefix));
    }
    if (layer.format == CheckpointFormat::kNone && !has_stacks(state, layer.prefix)) {
      for (std::int64_t i = 0; i < layer.expert_count; ++i) {
        add(fmt::format("{}.{}", layer.prefix, i));
      }
    }
    if (!layer.shared_prefix.empty() && layer.shared_dtype != "NVFP4") add(layer.shared_prefix);
  }
  return experts;
}

std::vector<PlainStacks> plain_stacks(const State& state) {
  std::vector<PlainStacks> all;
  for (const CheckpointLayer& layer : state.layers()) {
    if (layer.format != CheckpointFormat::kNone) continue;
    if (!has_stacks(state, layer.prefix)) continue;
    const Family& family = need_family(layer);
    const StoredStacks stacks = locate_stacks(state, layer.prefix);
    all.push_back({.prefix = layer.prefix,
                   .gate_up = stacks.gate_up,
                   .down = stacks.down,
                   .interleaved = family.interleaved,
                   .modelopt_keeps = family.modelopt_stacks,
                   .gate = std::string(family.gate),
                   .up = std::string(family.up),
                   .down_name = std::string(family.down)});
  }
  return all;
}

}  // namespace thresher::checkpoint
