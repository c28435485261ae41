// SPDX-License-Identifier: Apache-2.0
// The witness: it knows what is right for every element of a problem's outputs, however many.
//
// The oracle is the definition, but of float64 and one element at a time: of all but small problems
// it could only look at samples, and whoever computes the samples alone would be right. So our own
// engine computes the products once more, in FP32 without any rounding to an output type; they are
// proved against float64, all of them, by a projection on a random direction (gemm/projection.hpp);
// and every element of an output is compared with them (gemm/row_compare.hpp). Whoever is suspect
// then is judged by the oracle: nobody is ever accused by the witness alone. Small problems are the
// oracle's altogether.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "gemm/conformance.hpp"
#include "gemm/inputs.hpp"
#include "thresher/engine.hpp"

namespace thresher::measure {

struct WitnessOptions {
  std::uint64_t seed = 0;  // of the direction: a secret wherever somebody might use it
  // Multiply-adds up to which the oracle looks at everything itself.
  double oracle_steps_max = 1 << 18;
};

// Of the rows of the weights of every group, gate before up: 1 or -1.
using RowSigns = std::vector<std::vector<float>>;

class Witness {
 public:
  // Of the weights in `inputs`. The engine must outlive it; it computes on its device.
  Witness(const Engine& engine, const Problem& problem, const Inputs& inputs,
          const WitnessOptions& options);
  Witness(Witness&&) noexcept;
  ~Witness();

  // Of weights that differ from those this was made with in the signs of whole rows alone.
  RowSigns row_signs(const Inputs& turned) const;

  // What is right for these inputs from now on: other activations and factors, and weights with
  // these signs. Both must live until the next testimony. Throws Error if the engine's results are
  // not right: then nobody can be judged.
  void testify(const Inputs& inputs, const RowSigns& signs);
  void testify(const Inputs& inputs);  // weights as they were

  // Every element. The outputs may be of another type than the problem's.
  Conformance judge(Output output, const std::vector<OutputView>& outputs, Rigour rigour) const;

 private:
  class Products;

  Problem problem_;
  const Inputs* inputs_ = nullptr;
  const RowSigns* signs_ = nullptr;
  std::unique_ptr<Products> products_;  // none where the oracle looks at everything
};

}  // namespace thresher::measure
