// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/requantize.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <unordered_set>

#include "checkpoint/layers.hpp"
#include "checkpoint/matrix.hpp"
#include "checkpoint/partial_folder.hpp"
#include "checkpoint/safetensors.hpp"
#include "checkpoint/state.hpp"
#include "nvfp4/quantize_rules.hpp"
#include "thresher/error.hpp"

namespace thresher::checkpoint {
namespace {

using OrderedJson = nlohmann::ordered_json;
using nvfp4::Rules;

constexpr const char* kConfigName = "config.json";
constexpr const char* kQuantConfigName = "hf_quant_config.json";
constexpr const char* kShardIndexName = "model.safetensors.index.json";
constexpr std::string_view kWeight = ".weight";

bool is_rounded_type(std::string_view dtype) {
  return dtype == "BF16" || dtype == "F16" || dtype == "F32";
}

// The modules to round. Those with the same number share a global scale.
using ScaleGroups = std::unordered_map<std::string, std::size_t>;

void add_module(const State& state, const std::string& module, std::size_t group,
                ScaleGroups& groups) {
  const Tensor* weight = state.find(module + std::string(kWeight));
  if (weight == nullptr || !is_rounded_type(weight->dtype)) {
    throw Error(fmt::format("{}: is {}; BF16, F16 or F32 can be quantised",
                            weight == nullptr ? module : state.place(*weight),
                            weight == nullptr ? "not there" : weight->dtype));
  }
  if (weight->shape.size() != 2 || weight->shape[1] % kBlockElements != 0) {
    throw Error(fmt::format("{}: has shape {}; rows of a multiple of {} values can be quantised",
                            state.place(*weight), shape_text(*weight), kBlockElements));
  }
  groups[module] = group;
}

// "q_proj" and its like: what models call their linear layers. Routers and embeddings are none.
bool is_linear(const Tensor& tensor) {
  const std::string_view name = tensor.name;
  return name.ends_with("_proj.weight") && is_rounded_type(tensor.dtype) &&
         tensor.shape.size() == 2 && tensor.shape[1] % kBlockElements == 0 && tensor.shape[1] > 0;
}

ScaleGroups modules_to_round(const State& state, bool linears) {
  ScaleGroups groups;
  std::size_t next = 0;
  for (const ExpertModules& expert : plain_experts(state)) {
    if (!expert.gate.empty()) add_module(state, expert.gate, next, groups);
    add_module(state, expert.up, next++, groups);
    add_module(state, expert.down, next++, groups);
  }
  if (linears) {
    for (const Tensor& tensor : state.tensors()) {
      const std::string module = tensor.name.substr(0, tensor.name.size() - kWeight.size());
      if (is_linear(tensor) && groups.try_emplace(module, next).second) ++next;
    }
  }
  if (groups.empty()) {
    throw Error(fmt::format("there is nothing to quantise: no {} in BF16, F16 or F32",
                            linears ? "linear layers" : "experts"));
  }
  return groups;
}

// One tensor of a file that is written: copied, or a part of a matrix that is rounded.
struct NewTensor {
  enum class Part { kCopy, kCodes, kScales, kGlobal };
  std::string name;
  std::string dtype;
  std::vector<std::int64_t> shape;
  std::uint64_t byte_count = 0;
  Part part = Part::kCopy;
  const Tensor* from = nullptr;
};

struct RoundedMatrix {
  std::vector<std::uint8_t> codes;
  std::vector<std::uint8_t> scales;
  float stored_scale = 1.0f;
};

class Work {
 public:
  Work(const Requantization& job)
      : job_(job),
        state_(job.from, true),
        groups_(modules_to_round(state_, job.linears)),
        rules_(job.format == CheckpointFormat::kModelOpt ? Rules::kModelOpt
                                                         : Rules::kCompressedTensors) {}

  std::int64_t tensor_count() const { return static_cast<std::int64_t>(state_.tensors().size()); }

  RequantizationReport run() {
    PartialFolder folder(job_.to);
    OrderedJson weight_map = OrderedJson::object();
    std::vector<std::pair<std::string, std::string>> places;
    for (std::uint32_t file = 0; file < state_.paths().size(); ++file) {
      const std::vector<NewTensor> tensors = tensors_of_file(file);
      const std::string name = state_.paths()[file].filename().string();
      write_file(folder.path() / name, file, tensors);
      for (const NewTensor& tensor : tensors) places.emplace_back(tensor.name, name);
    }
    if (state_.paths().size() > 1) write_index(folder.path(), places);
    write_configs(folder.path());
    copy_company(folder.path());
    folder.finish();
    return report_;
  }

 private:
  bool is_modelopt() const { return job_.format == CheckpointFormat::kModelOpt; }

  bool is_rounded(const Tensor& tensor) const {
    return tensor.name.ends_with(kWeight) && groups_.contains(module_of(tensor));
  }
  static std::string module_of(const Tensor& tensor) {
    return tensor.name.substr(0, tensor.name.size() - kWeight.size());
  }

  void add_rounded(const Tensor& tensor, std::vector<NewTensor>& out) const {
    const std::string module = module_of(tensor);
    const std::int64_t rows = tensor.shape[0];
    const std::int64_t k = tensor.shape[1];
    const auto bytes = [&](std::int64_t elements) {
      return static_cast<std::uint64_t>(rows * k / elements);
    };
    out.push_back({module + (is_modelopt() ? ".weight" : ".weight_packed"),
                   "U8",
                   {rows, k / 2},
                   bytes(2),
                   NewTensor::Part::kCodes,
                   &tensor});
    out.push_back({module + ".weight_scale",
                   "F8_E4M3",
                   {rows, k / kBlockElements},
                   bytes(kBlockElements),
                   NewTensor::Part::kScales,
                   &tensor});
    const std::vector<std::int64_t> one =
        is_modelopt() ? std::vector<std::int64_t>{} : std::vector<std::int64_t>{1};
    out.push_back({module + (is_modelopt() ? ".weight_scale_2" : ".weight_global_scale"), "F32",
                   one, sizeof(float), NewTensor::Part::kGlobal, &tensor});
  }

  // Wide types first and names in order, as the format's own library writes: every tensor is then
  // aligned to its type.
  std::vector<NewTensor> tensors_of_file(std::uint32_t file) const {
    std::vector<NewTensor> tensors;
    for (const Tensor& tensor : state_.tensors()) {
      if (tensor.file_index != file) continue;
      if (is_rounded(tensor)) {
        add_rounded(tensor, tensors);
      } else {
        tensors.push_back({tensor.name, tensor.dtype, tensor.shape, tensor.byte_count,
                           NewTensor::Part::kCopy, &tensor});
      }
    }
    std::stable_sort(tensors.begin(), tensors.end(), [](const NewTensor& a, const NewTensor& b) {
      return std::pair(-dtype_bits(a.dtype), std::string_view(a.name)) <
             std::pair(-dtype_bits(b.dtype), std::string_view(b.name));
    });
    return tensors;
  }

  std::string header_text(std::uint32_t file, const std::vector<NewTensor>& tensors) const {
    std::string json = "{";
    const OrderedJson metadata(state_.metadata()[file]);
    if (!metadata.empty()) json += "\"__metadata__\":" + metadata.dump();
    std::uint64_t offset = 0;
    for (const NewTensor& tensor : tensors) {
      if (json.size() > 1) json += ",";
      json += fmt::format("{}:{{\"dtype\":\"{}\",\"shape\":[{}],\"data_offsets\":[{},{}]}}",
                          OrderedJson(tensor.name).dump(), tensor.dtype,
                          fmt::join(tensor.shape, ","), offset, offset + tensor.byte_count);
      offset += tensor.byte_count;
    }
    json += "}";
    json.append((kHeaderLengthBytes - json.size() % kHeaderLengthBytes) % kHeaderLengthBytes, ' ');
    return json;
  }

  void write_file(const std::filesystem::path& path, std::uint32_t file,
                  const std::vector<NewTensor>& tensors) {
    NewFile out(path);
    const std::string json = header_text(file, tensors);
    std::uint64_t length = json.size();
    std::string eight(kHeaderLengthBytes, '\0');
    for (char& byte : eight) {
      byte = static_cast<char>(length & 0xff);
      length >>= 8;
    }
    out.write(eight + json);
    for (const NewTensor& tensor : tensors) {
      write_tensor(out, tensor);
      report_.bytes_after += tensor.byte_count;
    }
    out.close();
  }

  void write_tensor(NewFile& out, const NewTensor& tensor) {
    const Tensor& from = *tensor.from;
    if (tensor.part == NewTensor::Part::kCopy) {
      begin(from);
      out.write({state_.bytes(from).get(), static_cast<std::size_t>(from.byte_count)});
      ++report_.copied_count;
      return;
    }
    // Parts of one matrix stand far apart in the file; what is small of them is kept.
    if (tensor.part == NewTensor::Part::kGlobal) {
      const float scale = stored_scale(from);
      return out.write(std::as_bytes(std::span(&scale, 1)));
    }
    if (tensor.part == NewTensor::Part::kCodes) {
      begin(from);
      RoundedMatrix rounded = round(from);
      out.write(std::as_bytes(std::span(rounded.codes)));
      kept_scales_[&from] = std::move(rounded.scales);
      ++report_.matrix_count;
      report_.element_count += value_count(from);
      return;
    }
    const auto kept = kept_scales_.find(&from);
    const std::vector<std::uint8_t> scales =
        kept != kept_scales_.end() ? std::move(kept->second) : round(from).scales;
    kept_scales_.erase(&from);
    out.write(std::as_bytes(std::span(scales)));
  }

  void begin(const Tensor& tensor) {
    report_.bytes_before += tensor.byte_count;
    if (job_.progress) job_.progress(tensor.name);
  }

  // Calls work with the values of a tensor, aligned to their type.
  template <class Call>
  auto with_values(const Tensor& tensor, const Call& work) const {
    if (tensor.dtype == "BF16") return with_typed<Bf16>(tensor, work);
    if (tensor.dtype == "F16") return with_typed<Fp16>(tensor, work);
    return with_typed<float>(tensor, work);
  }
  template <typename Value, class Call>
  auto with_typed(const Tensor& tensor, const Call& work) const {
    const std::shared_ptr<const std::byte> bytes = state_.bytes(tensor);
    const auto count = static_cast<std::size_t>(value_count(tensor));
    if (reinterpret_cast<std::uintptr_t>(bytes.get()) % alignof(Value) == 0) {
      return work(std::span(reinterpret_cast<const Value*>(bytes.get()), count));
    }
    std::vector<Value> aligned(count);
    std::memcpy(aligned.data(), bytes.get(), count * sizeof(Value));
    return work(std::span<const Value>(aligned));
  }

  float amax_of(const Tensor& tensor) const {
    return with_values(tensor, [&](auto values) {
      return nvfp4::finite_amax(state_.place(tensor).c_str(), values, tensor.shape[1],
                                job_.thread_count);
    });
  }

  // What the file stores: a multiplier, or (compressed-tensors) its reciprocal.
  float stored_scale(const Tensor& tensor) {
    const std::size_t group = groups_.at(module_of(tensor));
    if (members_.empty()) {
      for (const auto& [module, number] : groups_) {
        members_[number].push_back(state_.find(module + std::string(kWeight)));
      }
    }
    const auto known = scales_.find(group);
    if (known != scales_.end()) return known->second;
    float amax = 0;
    for (const Tensor* member : members_.at(group)) amax = std::max(amax, amax_of(*member));
    const float scale = with_values(tensor, [&](auto values) {
      using Value = std::remove_const_t<typename decltype(values)::element_type>;
      return nvfp4::global_scale_for<Value>(rules_, amax);
    });
    return scales_[group] = scale;
  }

  RoundedMatrix round(const Tensor& tensor) {
    RoundedMatrix rounded;
    const auto count = static_cast<std::size_t>(value_count(tensor));
    rounded.codes.resize(count / 2);
    rounded.scales.resize(count / kBlockElements);
    rounded.stored_scale = stored_scale(tensor);
    const Nvfp4Buffer out{rounded.codes.data(), rounded.scales.data(), tensor.shape[0],
                          tensor.shape[1]};
    const std::string place = state_.place(tensor);
    with_values(tensor, [&](auto values) {
      using Value = std::remove_const_t<typename decltype(values)::element_type>;
      nvfp4::quantize_by_rules<Value>({.matrix = place.c_str(),
                                       .values = values,
                                       .out = out,
                                       .rules = rules_,
                                       .global_scale = rounded.stored_scale,
                                       .thread_count = job_.thread_count});
      return 0;
    });
    return rounded;
  }

  void write_index(const std::filesystem::path& folder,
                   std::vector<std::pair<std::string, std::string>>& places) const {
    std::sort(places.begin(), places.end());
    std::string json =
        fmt::format("{{\"metadata\":{{\"total_size\":{}}},\"weight_map\":{{", report_.bytes_after);
    for (std::size_t i = 0; i < places.size(); ++i) {
      json += fmt::format("{}\n{}:{}", i > 0 ? "," : "", OrderedJson(places[i].first).dump(),
                          OrderedJson(places[i].second).dump());
    }
    NewFile out(folder / kShardIndexName);
    out.write(json + "}}\n");
    out.close();
  }

  // Matrices that a reader would take for linear layers and that were left as they are.
  OrderedJson ignored_modules() const {
    OrderedJson ignored = OrderedJson::array();
    for (const Tensor& tensor : state_.tensors()) {
      const bool is_matrix = tensor.name.ends_with(kWeight) && tensor.shape.size() == 2;
      if (is_matrix && !is_rounded(tensor)) ignored.push_back(module_of(tensor));
    }
    return ignored;
  }

  OrderedJson quantization_config() const {
    const OrderedJson producer = {{"name", "thresher"}};
    OrderedJson weights = {
        {"num_bits", 4}, {"type", "float"}, {"group_size", kBlockElements}, {"dynamic", false}};
    if (is_modelopt()) {
      return {{"config_groups", {{"group_0", {{"targets", {"Linear"}}, {"weights", weights}}}}},
              {"ignore", ignored_modules()},
              {"quant_algo", "W4A16_NVFP4"},
              {"producer", producer},
              {"quant_method", "modelopt"}};
    }
    weights.update({{"strategy", "tensor_group"},
                    {"symmetric", true},
                    {"scale_dtype", "torch.float8_e4m3fn"}});
    const OrderedJson group = {{"format", "nvfp4-pack-quantized"},
                               {"input_activations", nullptr},
                               {"output_activations", nullptr},
                               {"targets", {"Linear"}},
                               {"weights", weights}};
    return {{"config_groups", {{"group_0", group}}}, {"format", "nvfp4-pack-quantized"},
            {"ignore", ignored_modules()},           {"kv_cache_scheme", nullptr},
            {"quant_method", "compressed-tensors"},  {"quantization_status", "compressed"}};
  }

  std::filesystem::path from_folder() const { return state_.paths().front().parent_path(); }

  void write_configs(const std::filesystem::path& folder) const {
    const std::filesystem::path config = from_folder() / kConfigName;
    if (std::filesystem::exists(config)) {
      constexpr std::uint64_t kBytesMax = 1u << 24;  // the reader has parsed it
      OrderedJson json = OrderedJson::parse(read_text(config, kBytesMax));
      json["quantization_config"] = quantization_config();
      write_json(folder / kConfigName, json);
    }
    if (!is_modelopt()) return;
    write_json(folder / kQuantConfigName, {{"producer", {{"name", "thresher"}}},
                                           {"quantization",
                                            {{"quant_algo", "W4A16_NVFP4"},
                                             {"kv_cache_quant_algo", nullptr},
                                             {"group_size", kBlockElements},
                                             {"exclude_modules", ignored_modules()}}}});
  }

  static void write_json(const std::filesystem::path& path, const OrderedJson& json) {
    NewFile out(path);
    out.write(json.dump(2) + "\n");
    out.close();
  }

  // Tokenizers, templates and the like; of a single file, nothing but config.json goes with it.
  void copy_company(const std::filesystem::path& folder) const {
    if (!std::filesystem::is_directory(job_.from)) return;
    for (const auto& entry : std::filesystem::directory_iterator(job_.from)) {
      const std::filesystem::path name = entry.path().filename();
      const bool is_ours = name == kConfigName || name == kQuantConfigName ||
                           name == kShardIndexName || name.extension() == ".safetensors";
      // Through links: a copy shall not depend on what it was copied from.
      if (!is_ours && entry.is_regular_file())
        std::filesystem::copy_file(entry.path(), folder / name);
    }
  }

  const Requantization& job_;
  const State state_;
  const ScaleGroups groups_;
  const Rules rules_;
  std::unordered_map<std::size_t, std::vector<const Tensor*>> members_;
  std::unordered_map<std::size_t, float> scales_;
  std::unordered_map<const Tensor*, std::vector<std::uint8_t>> kept_scales_;
  RequantizationReport report_;
};

template <class Call>
auto with_plain_errors(const std::filesystem::path& path, const Call& call) {
  try {
    return call();
  } catch (const std::filesystem::filesystem_error& error) {
    throw Error(fmt::format("{}: {}",
                            error.path1().empty() ? path.string() : error.path1().string(),
                            error.code().message()));
  }
}

}  // namespace

RequantizationReport requantize(const Requantization& job) {
  return with_plain_errors(job.to, [&] { return Work(job).run(); });
}

std::int64_t tensor_count(const Requantization& job) {
  return with_plain_errors(job.from, [&] { return Work(job).tensor_count(); });
}

}  // namespace thresher::checkpoint
