// SPDX-License-Identifier: Apache-2.0
// The C twin of checkpoint.hpp: converts structs and turns exceptions into statuses.
#include <algorithm>
#include <cstring>

#include "moe/c_layer.hpp"
#include "thresher/checkpoint.h"
#include "thresher/checkpoint.hpp"

// NOLINTBEGIN(readability-identifier-naming): C's names for C's handles.
struct thresher_checkpoint {
  thresher::Checkpoint checkpoint;
  std::vector<std::string> files;  // texts that C can point to
};

struct thresher_loaded {
  thresher::CheckpointExpert loaded;
};
// NOLINTEND(readability-identifier-naming)

namespace thresher {
namespace {

using c_twin::create;
using c_twin::guarded;
using c_twin::need;
using c_twin::value_or_zero;

template <class Values>
const auto& item_at(const Values& values, std::int64_t index, const char* name) {
  const auto count = static_cast<std::int64_t>(values.size());
  if (index >= 0 && index < count) return values[static_cast<std::size_t>(index)];
  throw Error(fmt::format("{} = {} is not in 0..{}", name, index, count - 1));
}

const Tensor& tensor_at(const thresher_checkpoint* checkpoint, std::int64_t index) {
  return item_at(need(checkpoint, "checkpoint").checkpoint.tensors(), index, "index");
}

const CheckpointLayer& layer_at(const thresher_checkpoint* checkpoint, std::int64_t index) {
  return item_at(need(checkpoint, "checkpoint").checkpoint.layers(), index, "layer index");
}

thresher_nvfp4_view view_of_matrix(const Nvfp4View& view) {
  return {.codes = view.codes,
          .scales = view.scales,
          .rows = view.rows,
          .k_elements = view.k_elements,
          .global_scale = view.global_scale};
}

thresher_route_options route_of_layer(const RouteOptions& route) {
  return {.expert_count = route.expert_count,
          .top_k = route.top_k,
          .score = static_cast<thresher_route_score>(route.score),
          .renormalize = route.renormalize ? 1 : 0,
          .scaling = route.scaling,
          .bias = nullptr,
          .group_count = route.group_count,
          .groups_kept = route.groups_kept};
}

thresher_checkpoint_layer layer_in_c(const CheckpointLayer& layer) {
  return {.prefix = layer.prefix.c_str(),
          .index = layer.index,
          .family = layer.family.c_str(),
          .format = static_cast<thresher_checkpoint_format>(layer.format),
          .dtype = layer.dtype.c_str(),
          .expert_count = layer.expert_count,
          .hidden = layer.hidden,
          .intermediate = layer.intermediate,
          .has_gate = layer.has_gate ? 1 : 0,
          .has_biases = layer.has_biases ? 1 : 0,
          .has_input_scales = layer.has_input_scales ? 1 : 0,
          .options = c_twin::options_in_c(layer.options),
          .route = route_of_layer(layer.route),
          .router_weight = layer.router_weight.c_str(),
          .router_bias = layer.router_bias.c_str(),
          .router_logits_bias = layer.router_logits_bias.c_str(),
          .shared_intermediate = layer.shared_intermediate,
          .shared_prefix = layer.shared_prefix.c_str(),
          .shared_dtype = layer.shared_dtype.c_str(),
          .shared_gate = layer.shared_gate.c_str(),
          .fault_count = static_cast<std::int64_t>(layer.faults.size()),
          .fault = layer.faults.empty() ? "" : layer.faults.front().c_str(),
          .note = layer.notes.empty() ? "" : layer.notes.front().c_str()};
}

thresher_moe_expert expert_in_c(const MoeExpert& expert) {
  return {.gate = view_of_matrix(expert.gate),
          .up = view_of_matrix(expert.up),
          .down = view_of_matrix(expert.down),
          .input_scale = expert.input_scale,
          .down_input_scale = expert.down_input_scale,
          .gate_bias = expert.gate_bias,
          .up_bias = expert.up_bias,
          .down_bias = expert.down_bias};
}

void need_room(const Tensor& tensor, std::uint64_t needed, std::uint64_t given, const char* what) {
  if (needed == given) return;
  throw Error(fmt::format("tensor '{}' has {} {}, {} given", tensor.name, needed, what, given));
}

}  // namespace
}  // namespace thresher

using namespace thresher;

extern "C" {

thresher_status thresher_checkpoint_open(const char* path, int32_t mapped,
                                         thresher_checkpoint** checkpoint) {
  return create(checkpoint, "checkpoint", [&] {
    thresher_checkpoint handle{
        Checkpoint(std::filesystem::path(&need(path, "path")), {.mapped = mapped != 0}), {}};
    for (const auto& file : handle.checkpoint.files()) handle.files.push_back(file.string());
    return handle;
  });
}

void thresher_checkpoint_close(thresher_checkpoint* checkpoint) { delete checkpoint; }

const char* thresher_checkpoint_model_type(const thresher_checkpoint* checkpoint) {
  return value_or_zero(
      [&] { return need(checkpoint, "checkpoint").checkpoint.model_type().c_str(); });
}

int64_t thresher_checkpoint_file_count(const thresher_checkpoint* checkpoint) {
  return value_or_zero(
      [&] { return static_cast<std::int64_t>(need(checkpoint, "checkpoint").files.size()); });
}

const char* thresher_checkpoint_file(const thresher_checkpoint* checkpoint, int64_t index) {
  return value_or_zero(
      [&] { return item_at(need(checkpoint, "checkpoint").files, index, "index").c_str(); });
}

int64_t thresher_tensor_count(const thresher_checkpoint* checkpoint) {
  return value_or_zero([&] {
    return static_cast<std::int64_t>(need(checkpoint, "checkpoint").checkpoint.tensors().size());
  });
}

thresher_status thresher_tensor_at(const thresher_checkpoint* checkpoint, int64_t index,
                                   thresher_tensor* tensor) {
  return guarded([&] {
    const Tensor& found = tensor_at(checkpoint, index);
    need(tensor, "tensor") = {.name = found.name.c_str(),
                              .dtype = found.dtype.c_str(),
                              .shape = found.shape.data(),
                              .rank = static_cast<std::int64_t>(found.shape.size()),
                              .file = checkpoint->files[found.file_index].c_str(),
                              .offset = found.offset,
                              .byte_count = found.byte_count};
  });
}

int64_t thresher_tensor_index(const thresher_checkpoint* checkpoint, const char* name) {
  std::int64_t index = -1;
  guarded([&] {
    const Checkpoint& opened = need(checkpoint, "checkpoint").checkpoint;
    const Tensor* found = opened.find(&need(name, "name"));
    if (found != nullptr) index = found - opened.tensors().data();
  });
  return index;
}

thresher_status thresher_tensor_bytes(const thresher_checkpoint* checkpoint, int64_t index,
                                      void* bytes, size_t byte_count) {
  return guarded([&] {
    const Tensor& tensor = tensor_at(checkpoint, index);
    need_room(tensor, tensor.byte_count, byte_count, "bytes");
    if (byte_count == 0) return;
    if (bytes == nullptr) throw Error("bytes is null");
    std::memcpy(bytes, checkpoint->checkpoint.bytes(tensor).get(), byte_count);
  });
}

thresher_status thresher_tensor_values(const thresher_checkpoint* checkpoint, int64_t index,
                                       float* values, int64_t value_count) {
  return guarded([&] {
    const Tensor& tensor = tensor_at(checkpoint, index);
    const std::vector<float> floats = checkpoint->checkpoint.values(tensor);
    need_room(tensor, floats.size(), static_cast<std::uint64_t>(value_count), "values");
    if (!floats.empty()) std::copy(floats.begin(), floats.end(), &need(values, "values"));
  });
}

int64_t thresher_layer_count(const thresher_checkpoint* checkpoint) {
  return value_or_zero([&] {
    return static_cast<std::int64_t>(need(checkpoint, "checkpoint").checkpoint.layers().size());
  });
}

thresher_status thresher_layer_at(const thresher_checkpoint* checkpoint, int64_t index,
                                  thresher_checkpoint_layer* layer) {
  return guarded([&] { need(layer, "layer") = layer_in_c(layer_at(checkpoint, index)); });
}

const char* thresher_layer_fault(const thresher_checkpoint* checkpoint, int64_t index,
                                 int64_t fault_index) {
  return value_or_zero([&] {
    return item_at(layer_at(checkpoint, index).faults, fault_index, "fault_index").c_str();
  });
}

thresher_status thresher_expert_load(const thresher_checkpoint* checkpoint, int64_t layer_index,
                                     int64_t expert, thresher_loaded** loaded) {
  return create(loaded, "loaded", [&] {
    const CheckpointLayer& layer = layer_at(checkpoint, layer_index);
    const Checkpoint& opened = checkpoint->checkpoint;
    return thresher_loaded{expert == -1 ? opened.shared_expert(layer)
                                        : opened.expert(layer, expert)};
  });
}

thresher_status thresher_matrix_load(const thresher_checkpoint* checkpoint, const char* module,
                                     thresher_loaded** loaded) {
  return create(loaded, "loaded", [&] {
    const CheckpointMatrix matrix =
        need(checkpoint, "checkpoint").checkpoint.matrix(&need(module, "module"));
    thresher_loaded handle;
    handle.loaded.expert.down = matrix.view;
    handle.loaded.expert.down_input_scale = matrix.input_scale;
    handle.loaded.memory = matrix.memory;
    return handle;
  });
}

thresher_status thresher_moe_load(const thresher_engine* engine,
                                  const thresher_checkpoint* checkpoint, int64_t layer_index,
                                  int64_t first, int64_t count, int32_t shared,
                                  const thresher_moe_options* options, thresher_moe_layer** layer) {
  return create(layer, "layer", [&] {
    const CheckpointLayer& from = layer_at(checkpoint, layer_index);
    const MoeSource source = checkpoint->checkpoint.source(from, first, count, shared != 0);
    return c_twin::make_layer(engine, source, options);
  });
}

thresher_moe_expert thresher_loaded_expert(const thresher_loaded* loaded) {
  return value_or_zero([&] { return expert_in_c(need(loaded, "loaded").loaded.expert); });
}

void thresher_loaded_destroy(thresher_loaded* loaded) { delete loaded; }

}  // extern "C"
