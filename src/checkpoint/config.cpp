// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <nlohmann/json.hpp>

#include "thresher/error.hpp"

namespace thresher::checkpoint {
namespace {

using Json = nlohmann::json;

Json parse_object(std::string_view json, std::string_view file) {
  const auto refuse_deep = [&](int depth, Json::parse_event_t, Json&) {
    constexpr int kDepthMax = 64;
    if (depth > kDepthMax) throw Error(fmt::format("{}: is nested too deeply", file));
    return true;
  };
  // The parser would take it for the end of its input.
  if (const std::size_t nul = json.find('\0'); nul != std::string_view::npos) {
    throw Error(fmt::format("{}: byte {}: is not JSON", file, nul));
  }
  Json parsed;
  try {
    parsed = Json::parse(json, refuse_deep);
  } catch (const Json::parse_error& error) {
    throw Error(fmt::format("{}: byte {}: is not JSON", file, error.byte > 0 ? error.byte - 1 : 0));
  } catch (const Json::exception&) {
    throw Error(fmt::format("{}: has a number that is too large", file));
  }
  if (!parsed.is_object()) throw Error(fmt::format("{}: is not an object", file));
  return parsed;
}

// The first of several names that is there and not null: models differ in what they call a thing.
const Json* first_of(const Json& object, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const auto found = object.find(name);
    if (found != object.end() && !found->is_null()) return &*found;
  }
  return nullptr;
}

[[noreturn]] void throw_kind(std::string_view file, const char* name, const char* kind) {
  throw Error(fmt::format("{}: '{}' is not {}", file, name, kind));
}

class Reader {
 public:
  Reader(const Json& object, std::string_view file) : object_(object), file_(file) {}

  std::string text(std::initializer_list<const char*> names) const {
    const Json* value = first_of(object_, names);
    if (value == nullptr) return {};
    if (!value->is_string()) throw_kind(file_, *names.begin(), "a text");
    return value->get<std::string>();
  }
  std::optional<std::int64_t> count(std::initializer_list<const char*> names) const {
    const Json* value = first_of(object_, names);
    if (value == nullptr) return {};
    constexpr std::int64_t kCountMax = 1 << 24;
    if (!value->is_number_unsigned() || value->get<std::uint64_t>() > kCountMax) {
      throw_kind(file_, *names.begin(), "a count");
    }
    return value->get<std::int64_t>();
  }
  std::optional<double> number(std::initializer_list<const char*> names) const {
    const Json* value = first_of(object_, names);
    if (value == nullptr) return {};
    if (!value->is_number()) throw_kind(file_, *names.begin(), "a number");
    return value->get<double>();
  }
  std::optional<bool> flag(std::initializer_list<const char*> names) const {
    const Json* value = first_of(object_, names);
    if (value == nullptr) return {};
    if (!value->is_boolean()) throw_kind(file_, *names.begin(), "true or false");
    return value->get<bool>();
  }

 private:
  const Json& object_;
  std::string_view file_;
};

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

const Json& object_at(const Json& object, const char* name) {
  static const Json nothing = Json::object();
  const auto found = object.find(name);
  return found != object.end() && found->is_object() ? *found : nothing;
}

}  // namespace

Config parse_config(std::string_view json, std::string_view file) {
  const Json whole = parse_object(json, file);
  const bool has_parts = whole.contains("text_config") && whole["text_config"].is_object();
  const Json& text = has_parts ? whole["text_config"] : whole;
  const Reader reader(text, file);
  Config config;
  config.model_type = reader.text({"model_type"});
  if (config.model_type.empty()) config.model_type = Reader(whole, file).text({"model_type"});
  config.expert_count =
      reader.count({"num_experts", "n_routed_experts", "num_local_experts", "moe_num_experts"});
  config.top_k = reader.count(
      {"num_experts_per_tok", "num_experts_per_token", "experts_per_token", "moe_topk"});
  config.group_count = reader.count({"n_group"});
  config.groups_kept = reader.count({"topk_group"});
  config.renormalize = reader.flag({"norm_topk_prob"});
  config.scaling = reader.number({"routed_scaling_factor"});
  config.swiglu_limit = reader.number({"swiglu_limit"});
  config.is_latent = reader.count({"moe_latent_size"}).value_or(0) > 0;
  config.scoring = lower(reader.text({"scoring_func"}));
  config.activation = lower(reader.text({"mlp_hidden_act", "hidden_act", "hidden_activation"}));
  const Json& own = object_at(text, "quantization_config");
  const Json& quantization = own.empty() ? object_at(whole, "quantization_config") : own;
  const Reader quant(quantization, file);
  config.quant_method = lower(quant.text({"quant_method"}));
  config.quant_algo = lower(quant.text({"quant_algo"}));
  return config;
}

void add_quant_config(std::string_view json, std::string_view file, Config& config) {
  const Json whole = parse_object(json, file);
  const Reader quant(object_at(whole, "quantization"), file);
  if (config.quant_method.empty()) config.quant_method = "modelopt";
  if (config.quant_algo.empty()) config.quant_algo = lower(quant.text({"quant_algo"}));
}

}  // namespace thresher::checkpoint
