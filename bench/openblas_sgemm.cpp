// SPDX-License-Identifier: Apache-2.0
// The peer openblas_sgemm: FP32 weights in memory, one SGEMM per group and matrix on all threads.
#include <algorithm>
#include <cstring>

#include "bench/float_activations.hpp"
#include "bench/float_rows.hpp"
#include "bench/peer.hpp"
#include "bench/product_factors.hpp"
#include "measure/cold_copies.hpp"

namespace thresher::bench {
namespace {

class OpenblasSgemm : public Peer {
 public:
  OpenblasSgemm(const Openblas& openblas, const PeerSetup& setup)
      : openblas_(openblas),
        setup_(setup),
        pool_(setup.thread_count),
        activations_(setup.problem, setup.inputs) {
    prepare_weights();
    prepare_products();
  }

  std::string name() const override { return "openblas_sgemm"; }

  void run() override {
    activations_.expand(pool_);
    openblas_.set_thread_count(setup_.thread_count);
    const cpu::Pages& weights = copies_[next_copy_++ % copies_.size()];
    for (std::size_t g = 0; g < groups().size(); ++g) {
      if (groups()[g].m > 0) run_group(g, reinterpret_cast<const float*>(weights.data()));
    }
  }

 private:
  const std::vector<Group>& groups() const { return setup_.problem.groups; }
  bool is_dual() const { return setup_.problem.op == Op::kDual; }

  void prepare_weights() {
    std::int64_t element_count = 0;
    for (const Group& group : groups()) {
      offsets_.push_back(element_count);
      element_count += group.n * group.k * (is_dual() ? 2 : 1);
    }
    const std::size_t bytes = static_cast<std::size_t>(element_count) * sizeof(float);
    const std::size_t copy_count = measure::cold_copy_count(bytes);
    copies_.emplace_back(bytes);
    for (std::size_t g = 0; g < groups().size(); ++g) expand_weights(g);
    while (copies_.size() < copy_count) {
      std::memcpy(copies_.emplace_back(bytes).data(), copies_.front().data(), bytes);
    }
  }

  void expand_weights(std::size_t g) {
    float* out = reinterpret_cast<float*>(copies_.front().data()) + offsets_[g];
    const GroupInputs& inputs = setup_.inputs.groups[g];
    expand_matrix(inputs.b, out);
    if (is_dual()) expand_matrix(inputs.b_up, out + groups()[g].n * groups()[g].k);
  }

  void expand_matrix(const Nvfp4Matrix& matrix, float* out) {
    const std::int64_t k = matrix.k_elements;
    pool_.for_each(matrix.rows, [&](std::int64_t row, int) {
      expand_nvfp4(matrix.codes.data() + row * k / 2,
                   matrix.scales.data() + row * k / kBlockElements, k, out + row * k);
    });
  }

  // Room for the gate and up products of the largest group.
  void prepare_products() {
    if (!is_dual()) return;
    std::int64_t element_count_max = 0;
    for (const Group& group : groups()) {
      element_count_max = std::max(element_count_max, group.m * group.n);
    }
    gate_ = cpu::Pages(static_cast<std::size_t>(element_count_max) * sizeof(float));
    up_ = cpu::Pages(static_cast<std::size_t>(element_count_max) * sizeof(float));
  }

  void run_group(std::size_t g, const float* weights) {
    const Group& group = groups()[g];
    const ProductFactors factors = product_factors(setup_.problem, setup_.inputs.groups[g]);
    SgemmArgs args{.m = group.m,
                   .n = group.n,
                   .k = group.k,
                   .alpha = factors.gate,
                   .a = activations_.group(g),
                   .b = weights + offsets_[g],
                   .c = setup_.outputs[g],
                   .c_stride_elements = group.n};
    if (!is_dual()) return openblas_.multiply(args);

    args.c = reinterpret_cast<float*>(gate_.data());
    openblas_.multiply(args);
    args.alpha = factors.up;
    args.b += group.n * group.k;
    args.c = reinterpret_cast<float*>(up_.data());
    openblas_.multiply(args);
    gate_group(group, setup_.outputs[g]);
  }

  void gate_group(const Group& group, float* out) {
    const auto* gate = reinterpret_cast<const float*>(gate_.data());
    const auto* up = reinterpret_cast<const float*>(up_.data());
    pool_.for_each(group.m, [&](std::int64_t row, int) {
      const std::int64_t first = row * group.n;
      gate_rows(gate + first, up + first, group.n, out + first);
    });
  }

  const Openblas& openblas_;
  const PeerSetup setup_;
  cpu::Pool pool_;
  FloatActivations activations_;
  std::vector<std::int64_t> offsets_;  // of each group's weights, in elements
  std::vector<cpu::Pages> copies_;
  std::size_t next_copy_ = 0;
  cpu::Pages gate_;
  cpu::Pages up_;
};

}  // namespace

std::unique_ptr<Peer> make_openblas_sgemm(const Openblas& openblas, const PeerSetup& setup) {
  return std::make_unique<OpenblasSgemm>(openblas, setup);
}

}  // namespace thresher::bench
