// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/matrix.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "checkpoint/safetensors.hpp"
#include "checkpoint/state.hpp"
#include "nvfp4/check.hpp"
#include "nvfp4/e4m3.hpp"
#include "nvfp4/half.hpp"
#include "thresher/error.hpp"

namespace thresher::checkpoint {
namespace {

struct Spelling {
  CheckpointFormat format;
  const char* codes;
  const char* scales;
  const char* global_scale;
  const char* input_scale;
};

constexpr Spelling kModelOpt{CheckpointFormat::kModelOpt, ".weight", ".weight_scale",
                             ".weight_scale_2", ".input_scale"};
constexpr Spelling kCompressedTensors{CheckpointFormat::kCompressedTensors, ".weight_packed",
                                      ".weight_scale", ".weight_global_scale",
                                      ".input_global_scale"};

// Parts of schemes that change what the codes mean, and that nobody here applies.
constexpr const char* kForeignParts[] = {".pre_quant_scale", ".svdquant_lora_a",
                                         ".weight_zero_point"};

void need_type(const State& state, const Tensor& tensor, std::string_view dtype) {
  if (tensor.dtype == dtype) return;
  throw Error(fmt::format("{}: is {}, {} is needed", state.place(tensor), tensor.dtype, dtype));
}

// [] and [1] are both in use.
void need_one_scale(const State& state, const Tensor& tensor) {
  need_type(state, tensor, "F32");
  if (value_count(tensor) == 1) return;
  throw Error(fmt::format("{}: has shape {}, one value is needed", state.place(tensor),
                          shape_text(tensor)));
}

void need_matrix(const State& state, const Tensor& tensor) {
  if (tensor.shape.size() == 2) return;
  throw Error(
      fmt::format("{}: has shape {}, a matrix is needed", state.place(tensor), shape_text(tensor)));
}

void locate_bias(const State& state, const std::string& module, StoredMatrix& matrix) {
  matrix.bias = state.find(module + ".bias");
  if (matrix.bias == nullptr) return;
  need_floats(state, *matrix.bias);
  need_shape(state, *matrix.bias, {matrix.rows});
}

StoredMatrix locate_plain(const State& state, const std::string& module, const Tensor& values) {
  need_matrix(state, values);
  StoredMatrix matrix{.dtype = values.dtype,
                      .codes = &values,
                      .rows = values.shape[0],
                      .k_elements = values.shape[1]};
  locate_bias(state, module, matrix);
  return matrix;
}

StoredMatrix locate_nvfp4(const State& state, const std::string& module, const Spelling& names) {
  const Tensor& codes = need_tensor(state, module + names.codes);
  need_type(state, codes, "U8");
  need_matrix(state, codes);
  StoredMatrix matrix{.format = names.format,
                      .dtype = "NVFP4",
                      .codes = &codes,
                      .scales = &need_tensor(state, module + names.scales),
                      .global_scale = &need_tensor(state, module + names.global_scale),
                      .input_scale = state.find(module + names.input_scale),
                      .rows = codes.shape[0],
                      .k_elements = 0};
  // Before it is doubled; a size that makes no sense is refused here by what it is.
  const std::int64_t bytes_per_row = codes.shape[1];
  if (bytes_per_row > kExtentMax) need_shape(state, codes, {matrix.rows, kExtentMax / 2});
  matrix.k_elements = 2 * bytes_per_row;
  nvfp4::check_matrix_extents(state.place(codes).c_str(), matrix.rows, matrix.k_elements);
  need_type(state, *matrix.scales, "F8_E4M3");
  need_shape(state, *matrix.scales, {matrix.rows, matrix.k_elements / kBlockElements});
  need_one_scale(state, *matrix.global_scale);
  if (matrix.input_scale != nullptr) need_one_scale(state, *matrix.input_scale);
  for (const char* part : kForeignParts) {
    const Tensor* foreign = state.find(module + part);
    if (foreign == nullptr) continue;
    throw Error(fmt::format("{}: Thresher does not apply it", state.place(*foreign)));
  }
  locate_bias(state, module, matrix);
  return matrix;
}

float float_at(const std::byte* bytes, std::int64_t index) {
  float value = 0;
  std::memcpy(&value, bytes + index * sizeof value, sizeof value);
  return value;
}

template <class Stored, class Convert>
std::vector<float> convert_values(const std::byte* bytes, std::int64_t count,
                                  const Convert& convert) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    Stored stored;
    std::memcpy(&stored, bytes + i * sizeof stored, sizeof stored);
    values[static_cast<std::size_t>(i)] = convert(stored);
  }
  return values;
}

std::vector<float> floats_of(const State& state, const Tensor& tensor, std::int64_t first,
                             std::int64_t count) {
  const auto piece = [&](std::size_t bytes) {
    return state.bytes(tensor, static_cast<std::uint64_t>(first) * bytes,
                       static_cast<std::uint64_t>(count) * bytes);
  };
  if (tensor.dtype == "F32") {
    return convert_values<float>(piece(4).get(), count, [](float value) { return value; });
  }
  if (tensor.dtype == "F64") {
    return convert_values<double>(piece(8).get(), count,
                                  [](double value) { return static_cast<float>(value); });
  }
  if (tensor.dtype == "BF16") {
    return convert_values<std::uint16_t>(piece(2).get(), count, nvfp4::bf16_to_float);
  }
  return convert_values<std::uint16_t>(piece(2).get(), count, nvfp4::fp16_to_float);
}

}  // namespace

const Tensor& need_tensor(const State& state, const std::string& name) {
  const Tensor* tensor = state.find(name);
  if (tensor != nullptr) return *tensor;
  const std::string where = state.paths().size() == 1
                                ? state.paths().front().filename().string()
                                : fmt::format("none of the {} files", state.paths().size());
  throw Error(
      fmt::format("{}: {} tensor '{}'", where, state.paths().size() == 1 ? "has no" : "has", name));
}

void need_shape(const State& state, const Tensor& tensor, const std::vector<std::int64_t>& shape) {
  if (tensor.shape == shape) return;
  throw Error(fmt::format("{}: has shape {}, [{}] is needed", state.place(tensor),
                          shape_text(tensor), fmt::join(shape, ", ")));
}

void need_floats(const State& state, const Tensor& tensor) {
  for (const char* dtype : {"F32", "BF16", "F16", "F64"}) {
    if (tensor.dtype == dtype) return;
  }
  throw Error(
      fmt::format("{}: is {}; F32, BF16, F16 or F64 is needed", state.place(tensor), tensor.dtype));
}

std::int64_t value_count(const Tensor& tensor) {
  std::int64_t count = 1;  // the header's check has shown that it does not overflow
  for (const std::int64_t extent : tensor.shape) count *= extent;
  return count;
}

std::string shape_text(const Tensor& tensor) {
  return fmt::format("[{}]", fmt::join(tensor.shape, ", "));
}

StoredMatrix locate_matrix(const State& state, const std::string& module) {
  const Tensor* packed = state.find(module + kCompressedTensors.codes);
  const Tensor* weight = state.find(module + kModelOpt.codes);
  if (packed != nullptr && weight != nullptr) {
    throw Error(fmt::format("{}: stands beside '{}'; which of them counts?", state.place(*packed),
                            weight->name));
  }
  if (packed != nullptr) return locate_nvfp4(state, module, kCompressedTensors);
  if (weight == nullptr) need_tensor(state, module + kModelOpt.codes);
  // Other formats of 4 bits pack into U8 too; ModelOpt's has its second scale.
  const bool is_nvfp4 =
      weight->dtype == "U8" && state.find(module + kModelOpt.global_scale) != nullptr;
  const bool may_be = weight->dtype == "U8" && state.find(module + kModelOpt.scales) != nullptr &&
                      state.find(module + kModelOpt.scales)->dtype == "F8_E4M3";
  if (is_nvfp4 || may_be) return locate_nvfp4(state, module, kModelOpt);
  return locate_plain(state, module, *weight);
}

float load_scale(const State& state, const Tensor& tensor, std::int64_t index, bool is_reciprocal) {
  const float stored = float_at(state.bytes(tensor).get(), index);
  const float scale = is_reciprocal ? 1.0f / stored : stored;
  if (stored > 0 && std::isfinite(stored) && std::isfinite(scale) && scale > 0) return scale;
  throw Error(fmt::format("{}: a scale of {} is not a positive number that can be used",
                          state.place(tensor), stored));
}

void check_scales(const State& state, const Tensor& tensor, const std::uint8_t* scales,
                  std::uint64_t first, std::uint64_t count) {
  // Whole pieces without a way out in between become vector code; NaN is the rare case.
  constexpr std::uint64_t kPieceBytes = 4096;
  for (std::uint64_t begin = 0; begin < count; begin += kPieceBytes) {
    const std::uint64_t end = std::min(count, begin + kPieceBytes);
    unsigned found = 0;
    for (std::uint64_t i = begin; i < end; ++i) found |= nvfp4::is_nan_e4m3(scales[i]) ? 1u : 0u;
    if (found == 0) continue;
    std::uint64_t i = begin;
    while (!nvfp4::is_nan_e4m3(scales[i])) ++i;
    throw Error(fmt::format("{}: scale {} of it, byte {} of the file, is NaN ({:#04x})",
                            state.place(tensor), first + i, tensor.offset + first + i, scales[i]));
  }
}

std::vector<float> load_values(const State& state, const Tensor& tensor, std::int64_t first,
                               std::int64_t count) {
  need_floats(state, tensor);
  std::vector<float> values = floats_of(state, tensor, first, count);
  const auto nan =
      std::find_if(values.begin(), values.end(), [](float v) { return std::isnan(v); });
  if (nan == values.end()) return values;
  const std::uint64_t index = static_cast<std::uint64_t>(first + (nan - values.begin()));
  const auto bytes = static_cast<std::uint64_t>(dtype_bits(tensor.dtype)) / 8;
  throw Error(fmt::format("{}: value {} of it, byte {} of the file, is NaN", state.place(tensor),
                          index, tensor.offset + index * bytes));
}

bool input_scales_are_nvfp4(const State& state) {
  return state.config().quant_algo.find("w4a8") == std::string::npos;
}

LoadedMatrix load_matrix(const State& state, const StoredMatrix& matrix, Keep& keep) {
  const bool reciprocal = matrix.format == CheckpointFormat::kCompressedTensors;
  const std::shared_ptr<const std::byte> codes = state.bytes(*matrix.codes);
  const std::shared_ptr<const std::byte> scales = state.bytes(*matrix.scales);
  LoadedMatrix loaded;
  loaded.view = {.codes = reinterpret_cast<const std::uint8_t*>(codes.get()),
                 .scales = reinterpret_cast<const std::uint8_t*>(scales.get()),
                 .rows = matrix.rows,
                 .k_elements = matrix.k_elements,
                 .global_scale = load_scale(state, *matrix.global_scale, 0, reciprocal)};
  check_scales(state, *matrix.scales, loaded.view.scales, 0, matrix.scales->byte_count);
  if (matrix.input_scale != nullptr && input_scales_are_nvfp4(state)) {
    loaded.input_scale = load_scale(state, *matrix.input_scale, 0, reciprocal);
  }
  keep.pieces.emplace_back(codes);
  keep.pieces.emplace_back(scales);
  if (matrix.bias != nullptr) {
    auto bias =
        std::make_shared<std::vector<float>>(load_values(state, *matrix.bias, 0, matrix.rows));
    loaded.bias = bias->data();
    keep.pieces.emplace_back(std::move(bias));
  }
  return loaded;
}

}  // namespace thresher::checkpoint
