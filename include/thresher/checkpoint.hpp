// SPDX-License-Identifier: Apache-2.0
// Checkpoints: safetensors files, the NVFP4 matrices in them, and their mixture-of-experts layers.
//
//   const Checkpoint checkpoint("/models/Qwen3.6-35B-A3B-NVFP4");
//   const CheckpointLayer& layer = checkpoint.layers().at(0);
//   MoeOptions options = layer.options;
//   options.tokens_max = 8192;
//   const MoeLayer experts(engine, checkpoint.source(layer), options);
//
// ModelOpt's and compressed-tensors' spellings are read (AutoRound's too), per expert or stacked.
// A file that is not well formed is an Error; a layer that lacks something says so in `faults`, and
// loading its experts is an Error. Messages name file, tensor and offset. docs/checkpoints.md has
// the formats and names. A Checkpoint may be used from many threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "thresher/error.hpp"
#include "thresher/moe.hpp"
#include "thresher/nvfp4.hpp"

namespace thresher {

namespace checkpoint {
class State;
}

// One tensor of a file, as its header describes it. Bytes are not aligned.
struct Tensor {
  std::string name;
  std::string dtype;  // "F32", "BF16", "U8", "F8_E4M3", ...
  std::vector<std::int64_t> shape;
  std::uint64_t offset = 0;  // of its first byte in the file
  std::uint64_t byte_count = 0;
  std::uint32_t file_index = 0;  // into Checkpoint::files()
};

enum class CheckpointFormat : std::uint8_t { kNone, kModelOpt, kCompressedTensors };

// What is known of one mixture-of-experts layer before any of its weights are read.
struct CheckpointLayer {
  std::string prefix;      // "model.layers.3.mlp.experts"
  std::int64_t index = 0;  // 3
  std::string family;      // a row of docs/checkpoints.md: "qwen", "mixtral", "gpt_oss", ...
  CheckpointFormat format = CheckpointFormat::kNone;  // kNone: the experts are not NVFP4
  std::string dtype;  // what the experts are stored in: "NVFP4", "BF16", "F8_E4M3", ...
  std::int64_t expert_count = 0;
  std::int64_t hidden = 0;
  std::int64_t intermediate = 0;
  bool has_gate = true;
  bool has_biases = false;
  bool has_input_scales = false;  // W4A4: every expert has all of them
  // What files say of it: top_k (0: they do not), activation, alpha, beta, limit, weight_on_input.
  // The rest is the caller's.
  MoeOptions options = {};
  // How tokens find their experts; top_k 0: config.json does not say. `bias` is for the caller to
  // fill from `router_bias`.
  RouteOptions route = {};
  std::string router_weight;       // names of tensors, empty where there is none
  std::string router_bias;         // added to the scores for the choice alone (DeepSeek-V3)
  std::string router_logits_bias;  // added to the logits (GPT-OSS)
  // A shared expert that every token visits; several of them are stored as one wide one.
  std::int64_t shared_intermediate = 0;  // 0: none
  std::string shared_prefix;             // "model.layers.3.mlp.shared_expert"
  std::string shared_dtype;              // "NVFP4", or what else it is stored in
  std::string shared_gate;  // name of its gate's weights (1 x hidden, through a sigmoid), or empty
  // What is wrong with it, each with file, tensor and offset; empty: expert() can be called.
  std::vector<std::string> faults;
  // What was guessed because the files do not say it.
  std::vector<std::string> notes;
};

// An expert and the memory that its views and biases point into, which outlives the checkpoint.
// Input scales are dequantisation factors, the larger of gate's and up's; 1 where none are stored.
struct CheckpointExpert {
  MoeExpert expert = {};
  std::shared_ptr<const void> memory = {};
};

// An NVFP4 matrix of the checkpoint that is not an expert's: a linear layer's.
struct CheckpointMatrix {
  Nvfp4View view = {};
  float input_scale = 1.0f;  // as MoeExpert's
  std::shared_ptr<const void> memory = {};
};

struct CheckpointOptions {
  // true: files are mapped, and must not change or shrink while anything points into them; false:
  // what is asked for is read into memory, for files that may.
  bool mapped = true;
};

class Checkpoint {
 public:
  // A folder with safetensors files, the index file of one, or a single safetensors file. Throws
  // Error.
  explicit Checkpoint(const std::filesystem::path& path, const CheckpointOptions& options = {});

  // Sorted by name, of all files.
  std::span<const Tensor> tensors() const;
  const Tensor* find(std::string_view name) const;  // null: there is none
  const std::vector<std::filesystem::path>& files() const;
  // "model_type" of config.json, of its text_config where it has one; empty without.
  const std::string& model_type() const;

  // All mixture-of-experts layers, in order; those that are not NVFP4 too.
  const std::vector<CheckpointLayer>& layers() const;
  // Throws Error with the layer's first fault, and on what only the bytes say: a NaN among scales
  // or biases, a global scale that is not a positive number.
  CheckpointExpert expert(const CheckpointLayer& layer, std::int64_t index) const;
  CheckpointExpert shared_expert(const CheckpointLayer& layer) const;
  // The experts [first, first + count) for a MoeLayer, count 0: all from `first` on. Each is read
  // when the layer asks for it, and let go when it asks for the next. With `shared`, the shared
  // expert is one of them; it must have the others' extents.
  MoeSource source(const CheckpointLayer& layer, std::int64_t first = 0, std::int64_t count = 0,
                   bool shared = false) const;

  // The bytes of a tensor; the pointer keeps them.
  std::shared_ptr<const std::byte> bytes(const Tensor& tensor) const;
  // A tensor of F32, BF16, F16 or F64 values as floats: routers, biases, norms. Throws Error on a
  // NaN among them.
  std::vector<float> values(const Tensor& tensor) const;
  // The NVFP4 matrix of a module, "model.layers.0.self_attn.q_proj".
  CheckpointMatrix matrix(std::string_view module) const;

 private:
  std::shared_ptr<const checkpoint::State> state_;
};

std::string_view to_string(CheckpointFormat format);  // "none", "modelopt", "compressed-tensors"

}  // namespace thresher
