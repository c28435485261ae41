// SPDX-License-Identifier: Apache-2.0
// An opened checkpoint: its files, its tensors by name, what config.json says, its layers.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "checkpoint/config.hpp"
#include "checkpoint/file.hpp"
#include "thresher/checkpoint.hpp"

namespace thresher::checkpoint {

class State {
 public:
  State(const std::filesystem::path& path, bool mapped);

  const std::vector<Tensor>& tensors() const { return tensors_; }
  const Tensor* find(std::string_view name) const;
  const std::vector<std::filesystem::path>& paths() const { return paths_; }
  const Config& config() const { return config_; }
  const std::vector<CheckpointLayer>& layers() const { return layers_; }
  // The metadata of each file.
  const std::vector<std::map<std::string, std::string>>& metadata() const { return metadata_; }

  std::shared_ptr<const std::byte> bytes(const Tensor& tensor) const;
  // [first, first + count) of the tensor's bytes.
  std::shared_ptr<const std::byte> bytes(const Tensor& tensor, std::uint64_t first,
                                         std::uint64_t count) const;
  void prefetch(const Tensor& tensor, std::uint64_t first, std::uint64_t count) const;
  // "model-00001.safetensors: tensor 'x' at byte 80": for messages.
  std::string place(const Tensor& tensor) const;

 private:
  void open_folder(const std::filesystem::path& folder);
  void open_index(const std::filesystem::path& index);
  // The tensors of a file, all of them.
  std::vector<Tensor> open_file(const std::filesystem::path& path);
  void add(std::vector<Tensor> tensors);
  void read_config(const std::filesystem::path& folder);
  void sort();

  bool mapped_;
  std::vector<std::unique_ptr<File>> files_;
  std::vector<std::filesystem::path> paths_;
  std::vector<Tensor> tensors_;
  std::unordered_map<std::string_view, std::size_t> by_name_;
  std::vector<std::map<std::string, std::string>> metadata_;
  Config config_;
  std::vector<CheckpointLayer> layers_;
};

}  // namespace thresher::checkpoint
