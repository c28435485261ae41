// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/new_configs.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "checkpoint/config.hpp"
#include "checkpoint/file.hpp"
#include "checkpoint/module_patterns.hpp"
#include "checkpoint/state.hpp"
#include "thresher/error.hpp"

namespace thresher::checkpoint {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr std::string_view kWeight = ".weight";

constexpr std::string_view kScale = ".weight_scale";
constexpr const char* kOwnAlgorithm = "W4A16_NVFP4";
constexpr const char* kMixedAlgorithm = "MIXED_PRECISION";
constexpr const char* kNvfp4Packed = "nvfp4-pack-quantized";
constexpr const char* kMixedFormat = "mixed-precision";

[[noreturn]] void throw_quantised(const std::string& what, const char* why) {
  throw Error(
      fmt::format("{} says how this checkpoint is quantised already, and {}: quantise the "
                  "checkpoint that it was "
                  "made of, or, if all its matrices are BF16, F16 or F32, take that away first",
                  what, why));
}

// Null and {} say nothing.
const OrderedJson* said(const OrderedJson& object, const char* name) {
  const auto found = object.find(name);
  return found == object.end() || found->empty() ? nullptr : &*found;
}

void refuse_elsewhere(const OrderedJson& config) {
  constexpr const char* kWhy = "nothing can say that of the new one too";
  const auto refuse = [&](const OrderedJson& object, const char* name, const std::string& place) {
    if (said(object, name) == nullptr) return;
    throw_quantised(fmt::format("{}: {}'{}'", kConfigName, place, name), kWhy);
  };
  refuse(config, "compression_config", "");
  for (const auto& [name, part] : config.items()) {
    if (!part.is_object()) continue;
    refuse(part, "quantization_config", fmt::format("'{}' has a ", name));
    refuse(part, "compression_config", fmt::format("'{}' has a ", name));
  }
}

std::vector<std::string> texts_of(const std::string& place, const OrderedJson& list) {
  std::vector<std::string> texts;
  if (list.is_null()) return texts;
  if (!list.is_array()) throw Error(fmt::format("{}: is not a list", place));
  for (const OrderedJson& one : list) {
    if (!one.is_string()) throw Error(fmt::format("{}: has something that is not a text", place));
    texts.push_back(one.get<std::string>());
  }
  return texts;
}

std::string text_of(const OrderedJson& object, const char* name) {
  const OrderedJson* value = said(object, name);
  return value != nullptr && value->is_string() ? value->get<std::string>() : std::string();
}

// An object of an object, made if it is not there. Throws Error where it is something else.
OrderedJson& object_in(OrderedJson& object, const char* name, const std::string& place) {
  OrderedJson& part = object[name];
  if (part.is_null()) part = OrderedJson::object();
  if (!part.is_object()) throw Error(fmt::format("{}: '{}' is not an object", place, name));
  return part;
}

// Modules by what becomes of them.
struct Modules {
  std::vector<std::string> taken;      // rounded
  std::vector<std::string> left;       // matrices that a reader would take for linear layers
  std::vector<std::string> quantised;  // before
  bool has_stacks = false;             // among those taken
};

Modules modules_of(const State& state, const RoundingPlan& plan) {
  Modules modules;
  for (const Rounded& rounded : plan.rounded) {
    modules.taken.push_back(rounded.name);
    modules.has_stacks = modules.has_stacks || rounded.stacked;
  }
  for (const Tensor& tensor : state.tensors()) {
    const bool is_matrix = tensor.name.ends_with(kWeight) && tensor.shape.size() == 2;
    if (is_matrix && !plan.replaced.contains(&tensor)) {
      const std::string module = tensor.name.substr(0, tensor.name.size() - kWeight.size());
      const bool has_scale = state.find(module + std::string(kScale)) != nullptr;
      (has_scale ? modules.quantised : modules.left).push_back(module);
    }
    if (tensor.name.ends_with(".weight_packed")) {
      modules.quantised.push_back(tensor.name.substr(0, tensor.name.rfind('.')));
    }
  }
  return modules;
}

OrderedJson weights_of(bool is_modelopt) {
  OrderedJson weights = {
      {"num_bits", 4}, {"type", "float"}, {"group_size", kBlockElements}, {"dynamic", false}};
  if (is_modelopt) return weights;
  weights.update(
      {{"strategy", "tensor_group"}, {"symmetric", true}, {"scale_dtype", "torch.float8_e4m3fn"}});
  return weights;
}

OrderedJson group_of(bool is_modelopt, const OrderedJson& targets) {
  if (is_modelopt) return {{"targets", targets}, {"weights", weights_of(true)}};
  return {{"format", kNvfp4Packed},
          {"input_activations", nullptr},
          {"output_activations", nullptr},
          {"targets", targets},
          {"weights", weights_of(false)}};
}

OrderedJson fresh_config(bool is_modelopt, const Modules& modules) {
  const OrderedJson groups = {{"group_0", group_of(is_modelopt, {"Linear"})}};
  if (is_modelopt) {
    return {{"config_groups", groups},
            {"ignore", modules.left},
            {"quant_algo", kOwnAlgorithm},
            {"producer", {{"name", "thresher"}}},
            {"quant_method", "modelopt"}};
  }
  return {{"config_groups", groups},
          {"format", kNvfp4Packed},
          {"ignore", modules.left},
          {"kv_cache_scheme", nullptr},
          {"quant_method", "compressed-tensors"},
          {"quantization_status", "compressed"}};
}

OrderedJson fresh_quant_config(const Modules& modules) {
  return {{"producer", {{"name", "thresher"}}},
          {"quantization",
           {{"quant_algo", kOwnAlgorithm},
            {"kv_cache_quant_algo", nullptr},
            {"group_size", kBlockElements},
            {"exclude_modules", modules.left}}}};
}

// A group of its own for what has been rounded. Readers look for a module by its name first, so
// other groups may go on naming it by what it is or looks like.
OrderedJson& add_group(OrderedJson& quantization, bool is_modelopt, const Modules& modules) {
  OrderedJson& groups = object_in(quantization, "config_groups", kConfigName);
  std::size_t index = groups.size();
  while (groups.contains(fmt::format("group_{}", index))) ++index;
  groups[fmt::format("group_{}", index)] = group_of(is_modelopt, modules.taken);
  return groups;
}

void drop_from(OrderedJson& object, const char* name, const std::string& place,
               CheckpointFormat format, const Modules& modules) {
  const std::string where = fmt::format("{}: '{}'", place, name);
  object[name] =
      without_modules(where, texts_of(where, object[name]), format, modules.taken, modules.left);
}

// Files of several formats say each group's, and of the whole that it is mixed.
void merge_compressed_tensors(OrderedJson& quantization, const Modules& modules) {
  const std::string whole = text_of(quantization, "format");
  OrderedJson& groups = add_group(quantization, false, modules);
  bool is_mixed = false;
  for (auto& [name, group] : groups.items()) {
    if (!group.is_object()) {
      throw Error(fmt::format("{}: '{}' is not an object", kConfigName, name));
    }
    if (said(group, "format") == nullptr && !whole.empty()) group["format"] = whole;
    is_mixed = is_mixed || text_of(group, "format") != kNvfp4Packed;
  }
  quantization["format"] = is_mixed ? kMixedFormat : kNvfp4Packed;
  drop_from(quantization, "ignore", kConfigName, CheckpointFormat::kCompressedTensors, modules);
}

// What ModelOpt's files say: in hf_quant_config.json, or in config.json.
struct ModelOptSaid {
  std::string algorithm;
  OrderedJson layers = OrderedJson::object();  // by name, where they are mixed
  OrderedJson group_size;
};

ModelOptSaid read_modelopt(const OrderedJson& object, const std::string& place) {
  ModelOptSaid found{.algorithm = text_of(object, "quant_algo")};
  if (found.algorithm.empty()) {
    throw_quantised(place, "not by which algorithm ('quant_algo')");
  }
  if (const OrderedJson* layers = said(object, "quantized_layers")) {
    if (!layers->is_object()) {
      throw Error(fmt::format("{}: 'quantized_layers' is not an object", place));
    }
    found.layers = *layers;
  }
  if (const OrderedJson* size = said(object, "group_size")) found.group_size = *size;
  return found;
}

// All that is quantised by name: what was before, and what has been rounded.
void add_layers(ModelOptSaid& before, const Modules& modules) {
  if (before.algorithm != kMixedAlgorithm) {
    OrderedJson entry = {{"quant_algo", before.algorithm}};
    if (before.group_size.is_number()) entry["group_size"] = before.group_size;
    for (const std::string& module : modules.quantised) before.layers[module] = entry;
  }
  for (const std::string& module : modules.taken) {
    before.layers[module] = {{"quant_algo", kOwnAlgorithm}, {"group_size", kBlockElements}};
  }
}

// `excluded`: what the list of modules that were left out is called there.
void merge_modelopt(OrderedJson& object, const char* excluded, const std::string& place,
                    const ModelOptSaid& merged, const Modules& modules) {
  drop_from(object, excluded, place, CheckpointFormat::kModelOpt, modules);
  if (merged.algorithm == kOwnAlgorithm) return;
  object["quant_algo"] = kMixedAlgorithm;
  object["quantized_layers"] = merged.layers;
}

void merge_modelopt_config(OrderedJson& quantization, const ModelOptSaid& merged,
                           const Modules& modules) {
  merge_modelopt(quantization, "ignore", kConfigName, merged, modules);
  if (merged.algorithm == kOwnAlgorithm || said(quantization, "config_groups") == nullptr) return;
  OrderedJson& groups = add_group(quantization, true, modules);
  for (auto& [name, group] : groups.items()) {
    const bool is_all = group.is_object() &&
                        group.value("targets", OrderedJson()) == OrderedJson::array({"Linear"});
    if (is_all) group["targets"] = modules.quantised;
  }
}

OrderedJson read_config(const std::filesystem::path& path) {
  if (!std::filesystem::exists(path)) return {};
  return OrderedJson::parse(read_text(path, kConfigBytesMax));
}

class NewConfigs {
 public:
  NewConfigs(const State& state, const RoundingPlan& plan, CheckpointFormat format,
             const std::filesystem::path& folder)
      : is_modelopt_(format == CheckpointFormat::kModelOpt),
        modules_(modules_of(state, plan)),
        config_(read_config(folder / kConfigName)),
        quant_config_(read_config(folder / kQuantConfigName)) {}

  std::map<std::string, std::string> make() {
    if (!config_.is_null()) refuse_elsewhere(config_);
    const OrderedJson* quantization =
        config_.is_null() ? nullptr : said(config_, "quantization_config");
    if (quantization == nullptr && quant_config_.is_null()) {
      make_fresh();
    } else {
      merge(quantization);
    }
    std::map<std::string, std::string> texts;
    if (!config_.is_null()) texts[kConfigName] = config_.dump(2) + "\n";
    if (is_modelopt_) texts[kQuantConfigName] = quant_config_.dump(2) + "\n";
    return texts;
  }

 private:
  void make_fresh() {
    if (!config_.is_null()) config_["quantization_config"] = fresh_config(is_modelopt_, modules_);
    quant_config_ = fresh_quant_config(modules_);
  }

  void merge(const OrderedJson* quantization) {
    const char* const method = is_modelopt_ ? "modelopt" : "compressed-tensors";
    const std::string config_place = fmt::format("{}: 'quantization_config'", kConfigName);
    constexpr const char* kWhy =
        "nothing can say that of the new one too, unless it is of the same maker's format";
    if (quantization != nullptr &&
        (!quantization->is_object() || text_of(*quantization, "quant_method") != method)) {
      throw_quantised(config_place, kWhy);
    }
    if (!quant_config_.is_null() && !is_modelopt_) throw_quantised(kQuantConfigName, kWhy);
    if (modules_.has_stacks) {
      throw_quantised(quantization != nullptr ? config_place : kQuantConfigName,
                      "it is not known how stacks of experts would be added to that");
    }
    if (!is_modelopt_) {
      return merge_compressed_tensors(config_["quantization_config"], modules_);
    }
    merge_both(quantization, config_place);
  }

  // Either file may be missing; it is made of the other.
  void merge_both(const OrderedJson* quantization, const std::string& config_place) {
    const bool has_own = !quant_config_.is_null();
    OrderedJson& details = object_in(quant_config_, "quantization", kQuantConfigName);
    if (!has_own) {
      details["quant_algo"] = text_of(*quantization, "quant_algo");
      details["kv_cache_quant_algo"] = nullptr;
      details["exclude_modules"] = quantization->value("ignore", OrderedJson::array());
    }
    ModelOptSaid merged = has_own ? read_modelopt(details, kQuantConfigName)
                                  : read_modelopt(*quantization, config_place);
    add_layers(merged, modules_);
    if (!config_.is_null()) {
      if (quantization == nullptr) {
        config_["quantization_config"] = {
            {"ignore", details.value("exclude_modules", OrderedJson::array())},
            {"quant_algo", merged.algorithm},
            {"quant_method", "modelopt"}};
      }
      merge_modelopt_config(config_["quantization_config"], merged, modules_);
    }
    merge_modelopt(details, "exclude_modules", kQuantConfigName, merged, modules_);
  }

  const bool is_modelopt_;
  const Modules modules_;
  OrderedJson config_;
  OrderedJson quant_config_;
};

}  // namespace

std::map<std::string, std::string> new_configs(const State& state, const RoundingPlan& plan,
                                               CheckpointFormat format,
                                               const std::filesystem::path& folder) {
  return NewConfigs(state, plan, format, folder).make();
}

}  // namespace thresher::checkpoint
