// SPDX-License-Identifier: Apache-2.0
// What config.json says of a model's experts, as far as it is there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace thresher::checkpoint {

inline constexpr std::uint64_t kConfigBytesMax = 1u << 24;

struct Config {
  std::string model_type;
  std::string quant_method;  // of quantization_config; in lower case, as quant_algo is
  std::string quant_algo;
  std::optional<std::int64_t> expert_count;
  std::optional<std::int64_t> top_k;
  std::optional<std::int64_t> group_count;
  std::optional<std::int64_t> groups_kept;
  std::optional<bool> renormalize;
  std::optional<double> scaling;
  std::optional<double> swiglu_limit;
  bool is_latent = false;  // experts see a smaller state than the model's ("moe_latent_size")
  std::string scoring;     // "softmax", "sigmoid", ...
  std::string activation;
};

// `file` names the file in messages. Models with several parts say it in their text_config.
Config parse_config(std::string_view json, std::string_view file);

// ModelOpt's older hf_quant_config.json; fills in what `config` lacks.
void add_quant_config(std::string_view json, std::string_view file, Config& config);

}  // namespace thresher::checkpoint
