// SPDX-License-Identifier: Apache-2.0
// Tiny checkpoints that tests write: safetensors files as text, and folders of them.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "thresher/error.hpp"

namespace thresher::checkpoint {

// What `call` complains about, or "no error".
template <typename Call>
std::string complaint(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

// A folder that goes with the test.
class Folder {
 public:
  Folder() {
    std::string name = std::filesystem::temp_directory_path() / "thresher_checkpoint_XXXXXX";
    path_ = mkdtemp(name.data());
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { std::filesystem::remove_all(path_); }

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path write(const std::string& name, std::string_view text) const {
    std::ofstream(path_ / name, std::ios::binary)
        .write(text.data(), static_cast<std::streamsize>(text.size()));
    return path_ / name;
  }
  std::string read(const std::string& name) const {
    std::ifstream file(path_ / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  std::filesystem::path path_;
};

struct SampleTensor {
  std::string name;
  std::string dtype;
  std::vector<std::int64_t> shape;
  std::string bytes;
};

// The eight bytes that say how long a header is, and the header.
inline std::string with_length(std::string_view json) {
  std::uint64_t length = json.size();
  std::string text(8, '\0');
  for (char& byte : text) {
    byte = static_cast<char>(length & 0xff);
    length >>= 8;
  }
  return text.append(json);
}

inline std::string header_of(const std::vector<SampleTensor>& tensors, std::string_view more = "") {
  std::string json = "{";
  std::size_t offset = 0;
  for (const SampleTensor& tensor : tensors) {
    if (json.size() > 1) json += ",";
    json += "\"" + tensor.name + "\":{\"dtype\":\"" + tensor.dtype + "\",\"shape\":[";
    for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
      json += (i > 0 ? "," : "") + std::to_string(tensor.shape[i]);
    }
    json += "],\"data_offsets\":[" + std::to_string(offset) + ",";
    offset += tensor.bytes.size();
    json += std::to_string(offset) + "]}";
  }
  json += std::string(more) + "}";
  return json;
}

inline std::string safetensors(const std::vector<SampleTensor>& tensors,
                               std::string_view more = "") {
  std::string text = with_length(header_of(tensors, more));
  for (const SampleTensor& tensor : tensors) text += tensor.bytes;
  return text;
}

inline std::string bytes_of(float value) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

// Bytes that differ from place to place and from name to name, and that no E4M3 NaN is among.
inline std::string noise(std::string_view name, std::size_t count) {
  std::uint32_t state = 2166136261u;
  for (const char c : name) state = (state ^ static_cast<unsigned char>(c)) * 16777619u;
  std::string bytes(count, '\0');
  for (char& byte : bytes) {
    state = state * 1664525u + 1013904223u;
    byte = static_cast<char>(state >> 24);
    if ((byte & 0x7f) == 0x7f) byte = static_cast<char>(byte & 0x3f);
  }
  return bytes;
}

inline SampleTensor noisy(const std::string& name, const std::string& dtype,
                          std::vector<std::int64_t> shape, std::int64_t bits) {
  std::int64_t count = bits;
  for (const std::int64_t extent : shape) count *= extent;
  return {name, dtype, std::move(shape), noise(name, static_cast<std::size_t>(count / 8))};
}

// The tensors of an NVFP4 matrix in a spelling; scales are given as multipliers, input scale 0:
// none.
inline void add_matrix(std::vector<SampleTensor>& tensors, bool modelopt, const std::string& module,
                       std::int64_t rows, std::int64_t k_elements, float global_scale,
                       float input_scale) {
  const auto stored = [&](float scale) { return bytes_of(modelopt ? scale : 1.0f / scale); };
  const std::vector<std::int64_t> one =
      modelopt ? std::vector<std::int64_t>{} : std::vector<std::int64_t>{1};
  tensors.push_back(
      noisy(module + (modelopt ? ".weight" : ".weight_packed"), "U8", {rows, k_elements / 2}, 8));
  tensors.push_back(noisy(module + ".weight_scale", "F8_E4M3", {rows, k_elements / 16}, 8));
  tensors.push_back({module + (modelopt ? ".weight_scale_2" : ".weight_global_scale"), "F32", one,
                     stored(global_scale)});
  if (input_scale != 0) {
    tensors.push_back({module + (modelopt ? ".input_scale" : ".input_global_scale"), "F32", one,
                       stored(input_scale)});
  }
}

}  // namespace thresher::checkpoint
