// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/state.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "assert.hpp"
#include "checkpoint/layers.hpp"
#include "checkpoint/printable.hpp"
#include "checkpoint/safetensors.hpp"
#include "checkpoint/shard_index.hpp"
#include "thresher/error.hpp"

namespace thresher::checkpoint {
namespace {

constexpr const char* kIndexName = "model.safetensors.index.json";
constexpr std::uint64_t kIndexBytesMax = 1u << 28;

std::vector<std::filesystem::path> safetensors_files(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".safetensors") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

State::State(const std::filesystem::path& path, bool mapped) : mapped_(mapped) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (status.type() == std::filesystem::file_type::not_found) {
    throw Error(fmt::format("{}: there is no such file or folder", path.string()));
  }
  if (std::filesystem::is_directory(status)) {
    open_folder(path);
    read_config(path);
  } else {
    if (path.extension() == ".json") {
      open_index(path);
    } else {
      add(open_file(path));
    }
    read_config(path.parent_path());
  }
  sort();
  layers_ = find_layers(*this);
}

void State::open_folder(const std::filesystem::path& folder) {
  if (std::filesystem::exists(folder / kIndexName)) return open_index(folder / kIndexName);
  const std::vector<std::filesystem::path> files = safetensors_files(folder);
  if (files.empty()) {
    throw Error(fmt::format("{}: has no .safetensors files", folder.string()));
  }
  for (const std::filesystem::path& file : files) add(open_file(file));
}

// What the index does not name is no part of the checkpoint, even where a file holds it.
void State::open_index(const std::filesystem::path& index) {
  const ShardIndex shards =
      parse_shard_index(read_text(index, kIndexBytesMax), index.filename().string());
  std::vector<std::unordered_map<std::string_view, Tensor*>> by_file(shards.files.size());
  std::vector<std::vector<Tensor>> tensors(shards.files.size());
  for (std::size_t i = 0; i < shards.files.size(); ++i) {
    tensors[i] = open_file(index.parent_path() / shards.files[i]);
    by_file[i].reserve(tensors[i].size());
    for (Tensor& tensor : tensors[i]) by_file[i].emplace(tensor.name, &tensor);
  }
  std::vector<Tensor> named;
  named.reserve(shards.tensors.size());
  for (const auto& [name, file] : shards.tensors) {
    const auto found = by_file[file].find(name);
    if (found == by_file[file].end()) {
      throw Error(fmt::format("{}: has no tensor '{}', which {} promises",
                              printable(shards.files[file]), printable(name),
                              index.filename().string()));
    }
    named.push_back(*found->second);
  }
  add(std::move(named));
}

std::vector<Tensor> State::open_file(const std::filesystem::path& path) {
  auto file = std::make_unique<File>(path, mapped_);
  const std::string name = path.filename().string();
  const std::uint64_t first = std::min<std::uint64_t>(file->size(), kHeaderLengthBytes);
  const std::shared_ptr<const std::byte> eight = file->bytes(0, first);
  const std::uint64_t length =
      header_bytes({reinterpret_cast<const char*>(eight.get()), first}, file->size(), name);
  const std::shared_ptr<const std::byte> json = file->bytes(kHeaderLengthBytes, length);
  Header header =
      parse_header({reinterpret_cast<const char*>(json.get()), length}, file->size(), name);
  for (Tensor& tensor : header.tensors) {
    tensor.file_index = static_cast<std::uint32_t>(files_.size());
  }
  metadata_.push_back(std::move(header.metadata));
  files_.push_back(std::move(file));
  paths_.push_back(path);
  return std::move(header.tensors);
}

void State::add(std::vector<Tensor> tensors) {
  if (tensors_.empty()) {
    tensors_ = std::move(tensors);
  } else {
    std::move(tensors.begin(), tensors.end(), std::back_inserter(tensors_));
  }
}

void State::read_config(const std::filesystem::path& folder) {
  const std::filesystem::path config = folder / "config.json";
  if (std::filesystem::exists(config)) {
    config_ = parse_config(read_text(config, kConfigBytesMax), "config.json");
  }
  const std::filesystem::path older = folder / "hf_quant_config.json";
  if (std::filesystem::exists(older)) {
    add_quant_config(read_text(older, kConfigBytesMax), "hf_quant_config.json", config_);
  }
}

void State::sort() {
  std::sort(tensors_.begin(), tensors_.end(),
            [](const Tensor& a, const Tensor& b) { return a.name < b.name; });
  by_name_.reserve(tensors_.size());
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const auto [found, is_new] = by_name_.try_emplace(tensors_[i].name, i);
    if (is_new) continue;
    throw Error(fmt::format("tensor '{}' is in {} and in {}", printable(tensors_[i].name),
                            paths_[tensors_[found->second].file_index].filename().string(),
                            paths_[tensors_[i].file_index].filename().string()));
  }
}

const Tensor* State::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &tensors_[found->second];
}

std::shared_ptr<const std::byte> State::bytes(const Tensor& tensor) const {
  return bytes(tensor, 0, tensor.byte_count);
}

std::shared_ptr<const std::byte> State::bytes(const Tensor& tensor, std::uint64_t first,
                                              std::uint64_t count) const {
  THRESHER_ASSERT(first <= tensor.byte_count && count <= tensor.byte_count - first);
  return files_[tensor.file_index]->bytes(tensor.offset + first, count);
}

void State::prefetch(const Tensor& tensor, std::uint64_t first, std::uint64_t count) const {
  files_[tensor.file_index]->prefetch(tensor.offset + first, count);
}

std::string State::place(const Tensor& tensor) const {
  return fmt::format("{}: tensor '{}' at byte {}", paths_[tensor.file_index].filename().string(),
                     printable(tensor.name), tensor.offset);
}

}  // namespace thresher::checkpoint
