// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/new_configs.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "checkpoint/config.hpp"
#include "checkpoint/file.hpp"
#include "checkpoint/partial_folder.hpp"
#include "checkpoint/state.hpp"
#include "thresher/error.hpp"

namespace thresher::checkpoint {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr std::string_view kWeight = ".weight";

[[noreturn]] void throw_quantised(const std::string& what) {
  throw Error(fmt::format(
      "{} says how this checkpoint is quantised already, and nothing can say that of the new one "
      "too: quantise the checkpoint that it was made of, or, if all its matrices are BF16, F16 or "
      "F32, take that away first",
      what));
}

void refuse_object(const OrderedJson& object, const std::string& place) {
  for (const char* name : {"quantization_config", "compression_config"}) {
    const auto found = object.find(name);
    if (found == object.end() || found->empty()) continue;  // null is empty too
    throw_quantised(fmt::format("{}: {}'{}'", kConfigName, place, name));
  }
}

// Matrices that a reader would take for linear layers and that were left as they are.
OrderedJson ignored_modules(const State& state, const RoundingPlan& plan) {
  OrderedJson ignored = OrderedJson::array();
  for (const Tensor& tensor : state.tensors()) {
    const bool is_matrix = tensor.name.ends_with(kWeight) && tensor.shape.size() == 2;
    if (!is_matrix || plan.replaced.contains(&tensor)) continue;
    ignored.push_back(tensor.name.substr(0, tensor.name.size() - kWeight.size()));
  }
  return ignored;
}

OrderedJson quantization_config(bool is_modelopt, const OrderedJson& ignored) {
  const OrderedJson producer = {{"name", "thresher"}};
  OrderedJson weights = {
      {"num_bits", 4}, {"type", "float"}, {"group_size", kBlockElements}, {"dynamic", false}};
  if (is_modelopt) {
    return {{"config_groups", {{"group_0", {{"targets", {"Linear"}}, {"weights", weights}}}}},
            {"ignore", ignored},
            {"quant_algo", "W4A16_NVFP4"},
            {"producer", producer},
            {"quant_method", "modelopt"}};
  }
  weights.update(
      {{"strategy", "tensor_group"}, {"symmetric", true}, {"scale_dtype", "torch.float8_e4m3fn"}});
  const OrderedJson group = {{"format", "nvfp4-pack-quantized"},
                             {"input_activations", nullptr},
                             {"output_activations", nullptr},
                             {"targets", {"Linear"}},
                             {"weights", weights}};
  return {{"config_groups", {{"group_0", group}}},
          {"format", "nvfp4-pack-quantized"},
          {"ignore", ignored},
          {"kv_cache_scheme", nullptr},
          {"quant_method", "compressed-tensors"},
          {"quantization_status", "compressed"}};
}

void write_json(const std::filesystem::path& path, const OrderedJson& json) {
  NewFile out(path);
  out.write(json.dump(2) + "\n");
  out.close();
}

}  // namespace

void refuse_quantised(const std::filesystem::path& folder) {
  if (std::filesystem::exists(folder / kQuantConfigName)) throw_quantised(kQuantConfigName);
  if (!std::filesystem::exists(folder / kConfigName)) return;
  const OrderedJson json = OrderedJson::parse(read_text(folder / kConfigName, kConfigBytesMax));
  refuse_object(json, "");
  for (const auto& [name, part] : json.items()) {
    if (part.is_object()) refuse_object(part, fmt::format("'{}' has a ", name));
  }
}

void write_configs(const State& state, const RoundingPlan& plan, CheckpointFormat format,
                   const std::filesystem::path& from, const std::filesystem::path& to) {
  const bool is_modelopt = format == CheckpointFormat::kModelOpt;
  const OrderedJson ignored = ignored_modules(state, plan);
  if (std::filesystem::exists(from / kConfigName)) {
    OrderedJson json = OrderedJson::parse(read_text(from / kConfigName, kConfigBytesMax));
    json["quantization_config"] = quantization_config(is_modelopt, ignored);
    write_json(to / kConfigName, json);
  }
  if (!is_modelopt) return;
  write_json(to / kQuantConfigName, {{"producer", {{"name", "thresher"}}},
                                     {"quantization",
                                      {{"quant_algo", "W4A16_NVFP4"},
                                       {"kv_cache_quant_algo", nullptr},
                                       {"group_size", kBlockElements},
                                       {"exclude_modules", ignored}}}});
}

}  // namespace thresher::checkpoint
