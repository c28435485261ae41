// SPDX-License-Identifier: Apache-2.0
#include "thresher/checkpoint.hpp"

#include <fmt/format.h>

#include "checkpoint/layers.hpp"
#include "checkpoint/matrix.hpp"
#include "checkpoint/state.hpp"

namespace thresher {
namespace {

// A description from elsewhere could point anywhere.
const Tensor& own_tensor(const checkpoint::State& state, const Tensor& tensor) {
  const Tensor* own = state.find(tensor.name);
  if (own != nullptr && own->offset == tensor.offset && own->byte_count == tensor.byte_count &&
      own->file_index == tensor.file_index) {
    return *own;
  }
  throw Error(fmt::format("tensor '{}' is not one of this checkpoint", tensor.name));
}

}  // namespace

Checkpoint::Checkpoint(const std::filesystem::path& path, const CheckpointOptions& options) {
  // The system's complaints about folders are exceptions of another kind.
  try {
    state_ = std::make_shared<const checkpoint::State>(path, options.mapped);
  } catch (const std::filesystem::filesystem_error& error) {
    throw Error(fmt::format("{}: {}", path.string(), error.code().message()));
  }
}

std::span<const Tensor> Checkpoint::tensors() const { return state_->tensors(); }
const Tensor* Checkpoint::find(std::string_view name) const { return state_->find(name); }
const std::vector<std::filesystem::path>& Checkpoint::files() const { return state_->paths(); }
const std::string& Checkpoint::model_type() const { return state_->config().model_type; }
const std::vector<CheckpointLayer>& Checkpoint::layers() const { return state_->layers(); }

CheckpointExpert Checkpoint::expert(const CheckpointLayer& layer, std::int64_t index) const {
  return checkpoint::load_expert(*state_, layer, index);
}

CheckpointExpert Checkpoint::shared_expert(const CheckpointLayer& layer) const {
  return checkpoint::load_shared_expert(*state_, layer);
}

MoeSource Checkpoint::source(const CheckpointLayer& layer, std::int64_t first, std::int64_t count,
                             bool shared) const {
  const std::int64_t rest = layer.expert_count - first;
  if (first < 0 || count < 0 || first >= layer.expert_count || count > rest) {
    throw Error(fmt::format("{}: {} experts from {} on are asked for, and there are 0..{}",
                            layer.prefix, count == 0 ? "all" : std::to_string(count), first,
                            layer.expert_count - 1));
  }
  const std::int64_t routed = count == 0 ? rest : count;
  // The one that is being packed; the next call lets it go.
  const auto current = std::make_shared<CheckpointExpert>();
  return {.expert_count = routed,
          .shared_count = shared ? 1 : 0,
          .expert = [state = state_, layer, first, routed, current](std::int64_t index) {
            // While this one is packed, the disk is at the next.
            if (index + 1 < routed) checkpoint::prefetch_expert(*state, layer, first + index + 1);
            *current = index < routed ? checkpoint::load_expert(*state, layer, first + index)
                                      : checkpoint::load_shared_expert(*state, layer);
            return current->expert;
          }};
}

std::shared_ptr<const std::byte> Checkpoint::bytes(const Tensor& tensor) const {
  return state_->bytes(own_tensor(*state_, tensor));
}

std::vector<float> Checkpoint::values(const Tensor& tensor) const {
  const Tensor& own = own_tensor(*state_, tensor);
  return checkpoint::load_values(*state_, own, 0, checkpoint::value_count(own));
}

CheckpointMatrix Checkpoint::matrix(std::string_view module) const {
  const checkpoint::StoredMatrix stored = checkpoint::locate_matrix(*state_, std::string(module));
  if (stored.format == CheckpointFormat::kNone) {
    throw Error(fmt::format("{}: is {}, not NVFP4", state_->place(*stored.codes), stored.dtype));
  }
  checkpoint::Keep keep;
  const checkpoint::LoadedMatrix loaded = checkpoint::load_matrix(*state_, stored, keep);
  return {.view = loaded.view,
          .input_scale = loaded.input_scale,
          .memory = std::make_shared<const checkpoint::Keep>(std::move(keep))};
}

std::string_view to_string(CheckpointFormat format) {
  constexpr std::string_view kWords[] = {"none", "modelopt", "compressed-tensors"};
  return kWords[static_cast<int>(format)];
}

}  // namespace thresher
