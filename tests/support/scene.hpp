// SPDX-License-Identifier: Apache-2.0
// A problem ready to run on an engine, whatever its device: inputs, packed weights, and outputs
// that start poisoned, lie between guard bands and have a row stride larger than n.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gemm/conformance.hpp"
#include "gemm/inputs.hpp"
#include "thresher/engine.hpp"

namespace thresher::testing {

// Bytes where the device can reach them: in its own memory if it is a GPU, and otherwise in exactly
// so many of the host's, so that a sanitizer sees who goes beyond them.
class DeviceBytes {
 public:
  DeviceBytes(const Engine& engine, std::vector<std::uint8_t> bytes);

  std::uint8_t* data() const;
  void write(const std::vector<std::uint8_t>& bytes);  // as many as there are
  std::vector<std::uint8_t> read() const;

 private:
  mutable std::vector<std::uint8_t> host_;
  std::optional<Buffer> device_;
};

// What is the caller's choice.
struct SceneLayout {
  bool together = false;            // the rows of all groups one after the other, in one buffer
  std::int64_t stride_padding = 3;  // elements between the rows of C
};

class Scene {
 public:
  explicit Scene(const Engine& engine, Problem problem, InputFamily family = InputFamily::kExact,
                 std::uint64_t seed = 1, SceneLayout layout = {});

  void poison();
  // Poisons the outputs, plans, checks and runs.
  void run(const Engine& engine, std::string_view variant = {});

  // Against the oracle, every element; bit for bit where the inputs are exact and the op is gemm.
  Conformance conformance() const;
  bool guards_intact() const;
  // Empty if the outputs conform and everything around them is as it was; or what is wrong.
  std::string why_wrong() const;
  // The written elements of all groups, in order.
  std::vector<std::uint8_t> output_bytes() const;

  const Problem& problem() const { return problem_; }
  const Inputs& inputs() const { return inputs_; }

  // To be spoilt: the groups, and the rows of all of them where they lie together.
  std::vector<GroupOperands>& groups() { return groups_; }
  Rows& rows() { return rows_; }
  Operands operands() const { return {.groups = groups_, .rows = rows_, .counts = {}}; }
  // The same with the tokens of each group in the memory of the device.
  Operands counted_operands() const;

 private:
  // Memory for C: of one group, or of all whose rows lie together.
  struct OutputBuffer {
    std::int64_t row_count = 0;
    std::int64_t n = 0;
    std::int64_t stride_elements = 0;
    DeviceBytes bytes;  // with the guard bands
  };

  const std::uint8_t* upload(const Engine& engine, std::vector<std::uint8_t> bytes);
  // The rows of some groups, one group after the other.
  Rows add_rows(const Engine& engine, std::size_t first_group, std::size_t group_count);
  // What an output holds before a run.
  std::vector<std::uint8_t> poisoned(const OutputBuffer& output) const;
  std::size_t row_offset(const OutputBuffer& output, std::int64_t row) const;
  // Where a group's rows lie: in which output, and which of its rows is their first.
  std::size_t output_of(std::size_t group) const { return layout_.together ? 0 : group; }
  std::int64_t first_row_of(std::size_t group) const;

  Problem problem_;
  InputFamily family_;
  SceneLayout layout_;
  Inputs inputs_;
  std::vector<Weights> weights_;
  std::vector<DeviceBytes> uploads_;
  std::vector<OutputBuffer> outputs_;
  const std::uint32_t* counts_ = nullptr;  // tokens of each group, in the memory of the device
  std::vector<GroupOperands> groups_;
  Rows rows_;
};

// A problem in one line: groups of m rows, all with the same n and k.
Problem make_problem(std::vector<std::int64_t> m, std::int64_t n, std::int64_t k, Op op = Op::kGemm,
                     Activations activations = Activations::kNvfp4, Output output = Output::kFp32);

}  // namespace thresher::testing
