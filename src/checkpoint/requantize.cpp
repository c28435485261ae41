// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/requantize.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <unordered_set>

#include "assert.hpp"
#include "checkpoint/new_configs.hpp"
#include "checkpoint/partial_folder.hpp"
#include "checkpoint/plain_matrix.hpp"
#include "checkpoint/rounding_plan.hpp"
#include "checkpoint/safetensors.hpp"
#include "checkpoint/stack.hpp"
#include "nvfp4/quantize_rules.hpp"
#include "thresher/error.hpp"

namespace thresher::checkpoint {
namespace {

using OrderedJson = nlohmann::ordered_json;
using nvfp4::Rules;

constexpr const char* kShardIndexName = "model.safetensors.index.json";

// One tensor of a file that is written.
struct NewTensor {
  enum class Part { kCopy, kCut, kCodes, kScales, kGlobal };
  std::string name;
  std::string dtype;
  std::vector<std::int64_t> shape;
  std::uint64_t byte_count = 0;
  Part part = Part::kCopy;
  const Tensor* from = nullptr;
  const Rounded* rounded = nullptr;  // of which it is a part
  const CutVector* cut = nullptr;
};

struct RoundedMatrix {
  std::vector<std::uint8_t> codes;
  std::vector<std::uint8_t> scales;
};

class Work {
 public:
  Work(const Requantization& job)
      : job_(job),
        state_(job.from, true),
        plan_(plan_rounding(state_, job.format, job.linears)),
        rules_(job.format == CheckpointFormat::kModelOpt ? Rules::kModelOpt
                                                         : Rules::kCompressedTensors) {}

  RequantizationReport run() {
    const std::map<std::string, std::string> configs =
        new_configs(state_, plan_, job_.format, from_folder());
    if (job_.begin) job_.begin(static_cast<std::int64_t>(state_.tensors().size()));
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
    for (const auto& [name, text] : configs) {
      NewFile out(folder.path() / name);
      out.write(text);
      out.close();
    }
    copy_company(folder.path());
    folder.finish();
    return report_;
  }

 private:
  bool is_modelopt() const { return job_.format == CheckpointFormat::kModelOpt; }

  // The spellings of the parts: of a matrix's module, and of a stack.
  void add_rounded(const Rounded& rounded, std::vector<NewTensor>& out) const {
    const PlainMatrix& matrix = rounded.matrices.front();
    const auto count = static_cast<std::int64_t>(rounded.matrices.size());
    const auto add = [&](std::string name, std::int64_t elements, const char* dtype,
                         NewTensor::Part part) {
      const std::int64_t columns = matrix.k_elements / elements;
      std::vector<std::int64_t> shape{matrix.rows, columns};
      if (rounded.stacked) shape = {count, columns, matrix.rows};
      out.push_back({.name = std::move(name),
                     .dtype = dtype,
                     .shape = std::move(shape),
                     .byte_count = static_cast<std::uint64_t>(count * matrix.rows * columns),
                     .part = part,
                     .from = &rounded.tensor(),
                     .rounded = &rounded});
    };
    const std::string stem = rounded.name + (rounded.stacked ? "_" : ".");
    const std::string codes =
        rounded.stacked ? rounded.name : stem + (is_modelopt() ? "weight" : "weight_packed");
    add(codes, 2, "U8", NewTensor::Part::kCodes);
    add(stem + "weight_scale", kBlockElements, "F8_E4M3", NewTensor::Part::kScales);
    out.push_back(
        {.name = stem + (is_modelopt() ? "weight_scale_2" : "weight_global_scale"),
         .dtype = "F32",
         .shape = is_modelopt() ? std::vector<std::int64_t>{} : std::vector<std::int64_t>{1},
         .byte_count = sizeof(float),
         .part = NewTensor::Part::kGlobal,
         .from = &rounded.tensor(),
         .rounded = &rounded});
  }

  // Wide types first and names in order, as the format's own library writes: every tensor is then
  // aligned to its type.
  std::vector<NewTensor> tensors_of_file(std::uint32_t file) const {
    std::vector<NewTensor> tensors;
    for (const Rounded& rounded : plan_.rounded) {
      if (rounded.tensor().file_index == file) add_rounded(rounded, tensors);
    }
    for (const CutVector& cut : plan_.cut) {
      if (cut.tensor->file_index != file) continue;
      tensors.push_back({.name = cut.name,
                         .dtype = cut.tensor->dtype,
                         .shape = {cut.count},
                         .byte_count = static_cast<std::uint64_t>(cut.count) * element_bytes(cut),
                         .part = NewTensor::Part::kCut,
                         .from = cut.tensor,
                         .cut = &cut});
    }
    for (const Tensor& tensor : state_.tensors()) {
      if (tensor.file_index != file || plan_.replaced.contains(&tensor)) continue;
      tensors.push_back({.name = tensor.name,
                         .dtype = tensor.dtype,
                         .shape = tensor.shape,
                         .byte_count = tensor.byte_count,
                         .from = &tensor});
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
    using Part = NewTensor::Part;
    if (tensor.part != Part::kGlobal) begin(*tensor.from);
    switch (tensor.part) {
      case Part::kCopy: {
        const Tensor& from = *tensor.from;
        return out.write({state_.bytes(from).get(), static_cast<std::size_t>(from.byte_count)});
      }
      case Part::kCut:
        return write_cut(out, *tensor.cut);
      case Part::kGlobal: {
        const float scale = stored_scale(*tensor.rounded);
        return out.write(std::as_bytes(std::span(&scale, 1)));
      }
      case Part::kCodes:
        return write_codes(out, *tensor.rounded);
      case Part::kScales:
        return write_scales(out, *tensor.rounded);
    }
  }

  static std::size_t element_bytes(const CutVector& cut) {
    return static_cast<std::size_t>(dtype_bits(cut.tensor->dtype)) / 8;
  }

  void write_cut(NewFile& out, const CutVector& cut) const {
    const std::size_t size = element_bytes(cut);
    const std::shared_ptr<const std::byte> bytes = state_.bytes(*cut.tensor);
    std::vector<std::byte> values(static_cast<std::size_t>(cut.count) * size);
    for (std::int64_t i = 0; i < cut.count; ++i) {
      const auto from = static_cast<std::size_t>(cut.first + i * cut.stride);
      std::memcpy(values.data() + static_cast<std::size_t>(i) * size, bytes.get() + from * size,
                  size);
    }
    out.write(values);
  }

  // Parts of one matrix may stand far apart in the file; what is small of them is kept.
  void write_codes(NewFile& out, const Rounded& rounded) {
    std::vector<std::uint8_t>& kept = kept_scales_[&rounded];
    for (std::size_t i = 0; i < rounded.matrices.size(); ++i) {
      const RoundedMatrix one = round(rounded, i);
      out.write(std::as_bytes(std::span(one.codes)));
      kept.insert(kept.end(), one.scales.begin(), one.scales.end());
      ++report_.matrix_count;
      report_.element_count += 2 * static_cast<std::int64_t>(one.codes.size());
    }
  }

  void write_scales(NewFile& out, const Rounded& rounded) {
    const auto kept = kept_scales_.find(&rounded);
    THRESHER_ASSERT(kept != kept_scales_.end());  // its codes' name goes before
    out.write(std::as_bytes(std::span(kept->second)));
    kept_scales_.erase(kept);
  }

  // Once for each tensor of the old checkpoint.
  void begin(const Tensor& tensor) {
    if (!begun_.insert(&tensor).second) return;
    report_.bytes_before += tensor.byte_count;
    if (!plan_.replaced.contains(&tensor)) ++report_.copied_count;
    if (job_.progress) job_.progress(tensor.name);
  }

  float amax_of(const ElementRange& range) const {
    std::string place = state_.place(*range.tensor);
    if (range.tensor->shape.size() == 3) {
      place += fmt::format(", expert {}", range.first / range.count);
    }
    return with_elements(state_, *range.tensor, range.first, range.count, [&](auto values) {
      return nvfp4::finite_amax(place.c_str(), values, range.tensor->shape.back(),
                                job_.thread_count);
    });
  }

  // What the file stores: a multiplier, or (compressed-tensors) its reciprocal.
  float stored_scale(const Rounded& rounded) {
    const auto known = scales_.find(rounded.scale);
    if (known != scales_.end()) return known->second;
    float amax = 0;
    for (const ElementRange& range : plan_.scales[rounded.scale]) {
      amax = std::max(amax, amax_of(range));
    }
    const float scale = with_elements(state_, rounded.tensor(), 0, 0, [&](auto values) {
      using Value = std::remove_const_t<typename decltype(values)::element_type>;
      return nvfp4::global_scale_for<Value>(rules_, amax);
    });
    return scales_[rounded.scale] = scale;
  }

  RoundedMatrix round(const Rounded& rounded, std::size_t index) {
    const PlainMatrix& matrix = rounded.matrices[index];
    const auto count = static_cast<std::size_t>(matrix.rows * matrix.k_elements);
    RoundedMatrix out;
    out.codes.resize(count / 2);
    out.scales.resize(count / kBlockElements);
    const std::string place = state_.place(*matrix.tensor);
    with_values(state_, matrix, job_.thread_count, [&](auto values) {
      using Value = std::remove_const_t<typename decltype(values)::element_type>;
      nvfp4::quantize_by_rules<Value>(
          {.matrix = place.c_str(),
           .values = values,
           .out = {out.codes.data(), out.scales.data(), matrix.rows, matrix.k_elements},
           .rules = rules_,
           .global_scale = stored_scale(rounded),
           .thread_count = job_.thread_count});
      return 0;
    });
    if (rounded.stacked) {
      out.codes = packed_along_rows(out.codes, matrix.rows);
      out.scales = packed_along_rows(out.scales, matrix.rows);
    }
    return out;
  }

  // A stack's order: its rows are the columns of the matrix's bytes.
  static std::vector<std::uint8_t> packed_along_rows(const std::vector<std::uint8_t>& bytes,
                                                     std::int64_t rows) {
    std::vector<std::uint8_t> out(bytes.size());
    const std::int64_t columns = static_cast<std::int64_t>(bytes.size()) / rows;
    transpose_bytes(bytes.data(), columns, rows, false, out.data());
    return out;
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

  std::filesystem::path from_folder() const { return state_.paths().front().parent_path(); }

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
  const RoundingPlan plan_;
  const Rules rules_;
  std::unordered_map<std::size_t, float> scales_;
  std::unordered_map<const Rounded*, std::vector<std::uint8_t>> kept_scales_;
  std::unordered_set<const Tensor*> begun_;
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

}  // namespace thresher::checkpoint
