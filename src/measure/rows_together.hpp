// SPDX-License-Identifier: Apache-2.0
// A problem's rows as a router hands them over: those of all groups one after the other, in the
// memory of an engine's device. Guarded outputs of the host are mirrored there with the guards
// before the first group and behind the last one, and with the gaps between rows.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "gemm/inputs.hpp"
#include "measure/guarded_outputs.hpp"
#include "thresher/engine.hpp"

namespace thresher::measure {

// `outputs` must outlive it.
class RowsTogether {
 public:
  // Whether the rows can lie so: groups agree in n and k, and there is one.
  static bool fit(const Problem& problem);

  RowsTogether(const Engine& engine, const Problem& problem, const Inputs& inputs,
               const GuardedOutputs& outputs);

  Rows rows() const;
  // Before a call and after it.
  void send();
  void fetch();

 private:
  // Bytes of the host's outputs; here they follow those of the slice before.
  struct Slice {
    std::size_t begin = 0;
    std::size_t bytes = 0;
  };

  void place_activations(const Engine& engine, const Problem& problem, const Inputs& inputs);
  void lay_out(const Problem& problem);

  const GuardedOutputs& outputs_;
  std::vector<Slice> slices_;  // a guard, the groups with rows, a guard
  std::vector<std::byte> host_;
  std::int64_t stride_elements_ = 0;
  std::optional<Buffer> a_;
  std::optional<Buffer> a_scales_;
  std::optional<Buffer> c_;
};

}  // namespace thresher::measure
