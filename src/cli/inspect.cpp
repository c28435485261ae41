// SPDX-License-Identifier: Apache-2.0
// thresher inspect: what is in a checkpoint, layer by layer, what of it Thresher runs, and what is
// wrong with it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/pack_speed.hpp"
#include "cli/progress.hpp"
#include "cli/table.hpp"
#include "thresher/checkpoint.hpp"

namespace thresher::cli {
namespace {

struct InspectOptions {
  std::filesystem::path path;
  std::string pack;  // a device
  bool deep = false;
  bool json = false;
};

// Global scales of a layer's experts, shared ones too, as multipliers.
struct ScaleRange {
  float min = std::numeric_limits<float>::infinity();
  float max = 0;
  std::int64_t gate_up_differ = 0;  // experts whose gate has another than its up
};

struct InspectedLayer {
  CheckpointLayer layer;
  ScaleRange scales;
  std::vector<std::string> faults;
};

struct DtypeShare {
  std::int64_t tensor_count = 0;
  std::uint64_t byte_count = 0;
};

std::optional<std::vector<float>> global_scales(const Checkpoint& checkpoint, const Tensor& tensor,
                                                std::string_view prefix) {
  const std::string_view name = tensor.name;
  if (!name.starts_with(prefix) || tensor.dtype != "F32") return {};
  const bool reciprocal = name.ends_with(".weight_global_scale");
  if (!reciprocal && !name.ends_with("weight_scale_2")) return {};
  // As they are: NaN among them is this command's to say.
  const std::shared_ptr<const std::byte> bytes = checkpoint.bytes(tensor);
  std::vector<float> scales(static_cast<std::size_t>(tensor.byte_count / sizeof(float)));
  std::memcpy(scales.data(), bytes.get(), scales.size() * sizeof(float));
  if (reciprocal) {
    for (float& scale : scales) scale = 1.0f / scale;
  }
  return scales;
}

// The name of up's tensor beside gate's, or nothing.
std::string beside_gate(const std::string& name) {
  for (const auto& [gate, up] :
       {std::pair(".gate_proj.", ".up_proj."), std::pair(".w1.", ".w3.")}) {
    const std::size_t at = name.rfind(gate);
    if (at == std::string::npos) continue;
    return std::string(name).replace(at, std::string_view(gate).size(), up);
  }
  return {};
}

std::string scale_fault(const Checkpoint& checkpoint, const Tensor& tensor, float scale) {
  return fmt::format("{}: tensor '{}' at byte {}: a global scale of {} is not a positive number",
                     checkpoint.files()[tensor.file_index].filename().string(), tensor.name,
                     tensor.offset, scale);
}

// Of all experts below "model.layers.3.mlp.experts", or of a shared one.
void scan_scales(const Checkpoint& checkpoint, const std::string& prefix,
                 InspectedLayer& inspected) {
  ScaleRange& range = inspected.scales;
  const std::span<const Tensor> tensors = checkpoint.tensors();
  const std::string dotted = prefix + ".";
  auto at = std::lower_bound(
      tensors.begin(), tensors.end(), dotted,
      [](const Tensor& tensor, const std::string& name) { return tensor.name < name; });
  for (; at != tensors.end() && at->name.starts_with(dotted); ++at) {
    const auto scales = global_scales(checkpoint, *at, dotted);
    if (!scales) continue;
    for (const float scale : *scales) {
      const bool usable = scale > 0 && std::isfinite(scale);
      if (!usable && inspected.faults.empty()) {
        inspected.faults.push_back(scale_fault(checkpoint, *at, scale));
      }
      range.min = std::min(range.min, scale);
      range.max = std::max(range.max, scale);
    }
    const Tensor* up = checkpoint.find(beside_gate(at->name));
    if (up != nullptr && global_scales(checkpoint, *up, dotted) != scales) ++range.gate_up_differ;
  }
}

// What only the bytes say: every expert is loaded, and let go.
void load_all(const Checkpoint& checkpoint, InspectedLayer& inspected) {
  const CheckpointLayer& layer = inspected.layer;
  if (!inspected.faults.empty() || layer.format == CheckpointFormat::kNone) return;
  try {
    for (std::int64_t i = 0; i < layer.expert_count; ++i) checkpoint.expert(layer, i);
    if (layer.shared_dtype == "NVFP4") checkpoint.shared_expert(layer);
    for (const std::string* name : {&layer.router_weight, &layer.router_bias,
                                    &layer.router_logits_bias, &layer.shared_gate}) {
      if (const Tensor* tensor = checkpoint.find(*name)) checkpoint.values(*tensor);
    }
  } catch (const Error& error) {
    inspected.faults.emplace_back(error.what());
  }
}

std::vector<InspectedLayer> inspect_layers(const Checkpoint& checkpoint, bool deep) {
  std::vector<InspectedLayer> layers;
  Progress progress(static_cast<std::int64_t>(checkpoint.layers().size()));
  for (const CheckpointLayer& layer : checkpoint.layers()) {
    progress.begin_step(layer.prefix);
    InspectedLayer inspected{layer, {}, layer.faults};
    if (layer.format != CheckpointFormat::kNone) {
      scan_scales(checkpoint, layer.prefix, inspected);
      if (layer.shared_dtype == "NVFP4") scan_scales(checkpoint, layer.shared_prefix, inspected);
    }
    if (deep) load_all(checkpoint, inspected);
    layers.push_back(std::move(inspected));
  }
  return layers;
}

// How Thresher computes the layer's experts; nothing: it does not.
std::vector<std::string> runs_as(const InspectedLayer& inspected) {
  if (!inspected.faults.empty() || inspected.layer.format == CheckpointFormat::kNone) return {};
  if (inspected.layer.has_input_scales) return {"W4A16", "W4A4"};
  return {"W4A16"};
}

std::string_view activation_word(MoeActivation activation) {
  constexpr std::string_view kWords[] = {"silu", "clamped silu", "squared relu"};
  return kWords[static_cast<int>(activation)];
}

std::string stored_as(const CheckpointLayer& layer) {
  if (layer.format == CheckpointFormat::kNone) return layer.dtype.empty() ? "?" : layer.dtype;
  return fmt::format("{} {}", layer.dtype, to_string(layer.format));
}

std::string scale_text(const InspectedLayer& inspected) {
  if (inspected.scales.max == 0) return "";
  std::string text = fmt::format("{:.3g} to {:.3g}", inspected.scales.min, inspected.scales.max);
  if (inspected.scales.gate_up_differ > 0) text += ", gate and up differ";
  return text;
}

std::string layer_verdict(const InspectedLayer& inspected) {
  if (!inspected.faults.empty()) return "no: faulty";
  if (inspected.layer.format == CheckpointFormat::kNone) return "no: not NVFP4";
  return fmt::format("{}", fmt::join(runs_as(inspected), ", "));
}

std::string what_it_is(const CheckpointLayer& layer) {
  std::string text =
      fmt::format("{}: {} experts of {} x {}, {}", layer.family.empty() ? "?" : layer.family,
                  layer.expert_count, layer.hidden, layer.intermediate, stored_as(layer));
  if (layer.shared_intermediate != 0) {
    text += fmt::format("; shared {}, {}", layer.shared_intermediate, layer.shared_dtype);
  }
  if (!layer.family.empty()) text += fmt::format("; {}", activation_word(layer.options.activation));
  if (layer.options.top_k != 0) text += fmt::format("; top {}", layer.options.top_k);
  return text;
}

// What a row of the table shows but for the layers' numbers and scales: alike ones share a row.
struct LayerDescription {
  std::string stem;
  std::string what;
  std::string verdict;

  bool operator==(const LayerDescription&) const = default;
};

LayerDescription layer_description(const InspectedLayer& inspected) {
  const CheckpointLayer& layer = inspected.layer;
  const std::size_t number = layer.prefix.rfind(fmt::format(".{}.", layer.index));
  return {.stem = number == std::string::npos ? layer.prefix : layer.prefix.substr(0, number),
          .what = what_it_is(layer),
          .verdict = layer_verdict(inspected)};
}

// Few columns, one of them of words that wrap: a narrow terminal breaks none of them.
void print_layers(const std::vector<InspectedLayer>& layers) {
  Table table({{"layers"}, {"experts"}, {"global scales"}, {"runs as"}});
  for (std::size_t first = 0; first < layers.size();) {
    const LayerDescription row = layer_description(layers[first]);
    ScaleRange scales = layers[first].scales;
    std::size_t last = first;
    while (last + 1 < layers.size() && layer_description(layers[last + 1]) == row &&
           layers[last + 1].layer.index == layers[last].layer.index + 1) {
      ++last;
      scales.min = std::min(scales.min, layers[last].scales.min);
      scales.max = std::max(scales.max, layers[last].scales.max);
      scales.gate_up_differ += layers[last].scales.gate_up_differ;
    }
    const std::int64_t from = layers[first].layer.index;
    const std::int64_t to = layers[last].layer.index;
    const std::string numbers = from < 0     ? ""
                                : from == to ? fmt::format(".{}", from)
                                             : fmt::format(".{}..{}", from, to);
    InspectedLayer together = layers[first];
    together.scales = scales;
    const bool runs = !runs_as(together).empty();
    table.add_row({row.stem + numbers, row.what, scale_text(together),
                   Cell(row.verdict, runs ? Tone::kGood : Tone::kBad)});
    first = last + 1;
  }
  print(table);
}

std::map<std::string, DtypeShare> shares_of(const Checkpoint& checkpoint) {
  std::map<std::string, DtypeShare> shares;
  for (const Tensor& tensor : checkpoint.tensors()) {
    DtypeShare& share = shares[tensor.dtype];
    ++share.tensor_count;
    share.byte_count += tensor.byte_count;
  }
  return shares;
}

void print_inspection(const InspectOptions& options, const Checkpoint& checkpoint,
                      const std::vector<InspectedLayer>& layers) {
  std::uint64_t bytes = 0;
  std::vector<std::string> dtypes;
  for (const auto& [dtype, share] : shares_of(checkpoint)) {
    bytes += share.byte_count;
    dtypes.push_back(fmt::format("{} {} ({:.3f} GB)", share.tensor_count, dtype,
                                 1e-9 * static_cast<double>(share.byte_count)));
  }
  fmt::print("{}: {} file{}, {} tensors, {:.3f} GB{}\n", options.path.string(),
             checkpoint.files().size(), checkpoint.files().size() == 1 ? "" : "s",
             checkpoint.tensors().size(), 1e-9 * static_cast<double>(bytes),
             checkpoint.model_type().empty() ? "" : ", model_type " + checkpoint.model_type());
  fmt::print("{}\n", fmt::join(dtypes, ", "));
  if (layers.empty()) {
    fmt::print("\nno mixture-of-experts layers\n");
  } else {
    fmt::print("\n");
    print_layers(layers);
  }
  // What config.json is blamed for is every layer's, and said once.
  std::set<std::string> said;
  const auto say_once = [&](const char* what, const std::string& text) {
    if (said.insert(text).second) fmt::print("{}: {}\n", what, text);
  };
  for (const InspectedLayer& inspected : layers) {
    for (const std::string& note : inspected.layer.notes) say_once("note", note);
    for (const std::string& fault : inspected.faults) say_once("fault", fault);
  }
}

nlohmann::ordered_json layer_json(const InspectedLayer& inspected) {
  const CheckpointLayer& layer = inspected.layer;
  nlohmann::ordered_json json = {{"prefix", layer.prefix},
                                 {"index", layer.index},
                                 {"family", layer.family},
                                 {"format", to_string(layer.format)},
                                 {"dtype", layer.dtype},
                                 {"expert_count", layer.expert_count},
                                 {"hidden", layer.hidden},
                                 {"intermediate", layer.intermediate},
                                 {"has_gate", layer.has_gate},
                                 {"has_biases", layer.has_biases},
                                 {"has_input_scales", layer.has_input_scales},
                                 {"activation", activation_word(layer.options.activation)},
                                 {"top_k", layer.options.top_k},
                                 {"router_weight", layer.router_weight},
                                 {"shared_prefix", layer.shared_prefix},
                                 {"shared_intermediate", layer.shared_intermediate},
                                 {"shared_dtype", layer.shared_dtype}};
  if (inspected.scales.max > 0) {
    json["global_scale_min"] = inspected.scales.min;
    json["global_scale_max"] = inspected.scales.max;
    json["gate_up_scales_differ"] = inspected.scales.gate_up_differ;
  }
  json["runs_as"] = runs_as(inspected);
  json["notes"] = layer.notes;
  json["faults"] = inspected.faults;
  return json;
}

void print_inspection_json(const InspectOptions& options, const Checkpoint& checkpoint,
                           const std::vector<InspectedLayer>& layers) {
  nlohmann::ordered_json files = nlohmann::ordered_json::array();
  for (const auto& file : checkpoint.files()) files.push_back(file.filename().string());
  nlohmann::ordered_json dtypes = nlohmann::ordered_json::object();
  for (const auto& [dtype, share] : shares_of(checkpoint)) {
    dtypes[dtype] = {{"tensors", share.tensor_count}, {"bytes", share.byte_count}};
  }
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const InspectedLayer& layer : layers) rows.push_back(layer_json(layer));
  const nlohmann::ordered_json json = {
      {"path", options.path.string()},         {"files", std::move(files)},
      {"model_type", checkpoint.model_type()}, {"tensor_count", checkpoint.tensors().size()},
      {"dtypes", std::move(dtypes)},           {"layers", std::move(rows)}};
  // Names come from files: what is no UTF-8 in them is replaced.
  fmt::print("{}\n", json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

// The last line of the command: what packing took, and what bounds it.
void print_pack_speed(const PackSpeed& speed, bool json) {
  if (json) {
    const nlohmann::ordered_json line = {{"device", speed.device},
                                         {"layers", speed.layer_count},
                                         {"experts", speed.expert_count},
                                         {"bytes", speed.bytes},
                                         {"read_gb_per_s", speed.gb_per_s(speed.read_s)},
                                         {"pack_cold_gb_per_s", speed.gb_per_s(speed.pack_cold_s)},
                                         {"pack_gb_per_s", speed.gb_per_s(speed.pack_s)},
                                         {"copy_gb_per_s", speed.gb_per_s(speed.copy_s)}};
    fmt::print("{}\n", line.dump());
    return;
  }
  fmt::print(
      "{}: {} experts, {:.3f} GB, packed at {:.2f} GB/s from the disk (reading it alone {:.2f}), "
      "{:.2f} GB/s from memory (copying it alone {:.2f})\n",
      speed.device, speed.expert_count, 1e-9 * speed.bytes, speed.gb_per_s(speed.pack_cold_s),
      speed.gb_per_s(speed.read_s), speed.gb_per_s(speed.pack_s), speed.gb_per_s(speed.copy_s));
}

int run_inspect(const InspectOptions& options) {
  std::vector<InspectedLayer> layers;
  {
    const Checkpoint checkpoint(options.path);
    layers = inspect_layers(checkpoint, options.deep);
    if (options.json) {
      print_inspection_json(options, checkpoint, layers);
    } else {
      print_inspection(options, checkpoint, layers);
    }
  }
  // With nothing mapped: what is mapped stays in the system's cache.
  if (!options.pack.empty()) {
    print_pack_speed(measure_pack_speed(options.path, options.pack), options.json);
  }
  const bool whole = std::all_of(layers.begin(), layers.end(), [](const InspectedLayer& inspected) {
    return inspected.faults.empty();
  });
  return whole ? kExitOk : kExitFailure;
}

}  // namespace

Command inspect_command() {
  const auto options = std::make_shared<InspectOptions>();
  return {
      .name = "inspect",
      .what = "Say what is in a checkpoint, what of it Thresher runs, and what is wrong with it",
      .options = {{.name = "path",
                   .value = &options->path,
                   .what = "A folder with safetensors files, its index, or one file",
                   .required = true},
                  {"--deep", &options->deep,
                   "Read all scales, biases and routers, to find NaN among them"},
                  {.name = "--pack",
                   .value = &options->pack,
                   .what = "Pack all experts on a device, cpu or gpu, and say how fast it went"},
                  json_flag(options->json)},
      .run = [options] { return run_inspect(*options); }};
}

}  // namespace thresher::cli
