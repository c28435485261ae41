// SPDX-License-Identifier: Apache-2.0
// The peer openblas_dequant: NVFP4 weights in memory. Every thread takes 128 rows of weights at a
// time, of any group, expands them and multiplies them with a one-thread SGEMM of its own.
#include <algorithm>

#include "bench/float_activations.hpp"
#include "bench/float_rows.hpp"
#include "bench/peer.hpp"
#include "bench/product_factors.hpp"
#include "measure/cold_copies.hpp"

namespace thresher::bench {
namespace {

constexpr std::int64_t kChunkRows = 128;

struct Chunk {
  std::size_t group_index = 0;
  std::int64_t first_row = 0;
  std::int64_t row_count = 0;
};

std::vector<Chunk> chunks_of(const Problem& problem) {
  std::vector<Chunk> chunks;
  for (std::size_t g = 0; g < problem.groups.size(); ++g) {
    const Group& group = problem.groups[g];
    if (group.m == 0) continue;
    for (std::int64_t row = 0; row < group.n; row += kChunkRows) {
      chunks.push_back({g, row, std::min(kChunkRows, group.n - row)});
    }
  }
  return chunks;
}

// The weights of all groups in checkpoint order, in one piece of memory.
struct WeightCopy {
  struct Matrices {
    Nvfp4View gate;  // gemm's only one
    Nvfp4View up;
  };

  WeightCopy(const Inputs& inputs, std::size_t bytes) : pages(bytes) {
    std::uint8_t* next = pages.data();
    for (const GroupInputs& group : inputs.groups) {
      groups.push_back({.gate = copy(group.b, next), .up = copy(group.b_up, next)});
    }
  }

  static Nvfp4View copy(const Nvfp4Matrix& matrix, std::uint8_t*& next) {
    Nvfp4View view = matrix.view();
    view.codes = next;
    next = std::copy(matrix.codes.begin(), matrix.codes.end(), next);
    view.scales = next;
    next = std::copy(matrix.scales.begin(), matrix.scales.end(), next);
    return view;
  }

  cpu::Pages pages;
  std::vector<Matrices> groups;
};

// One thread's room: expanded weights, and for dual the two products.
struct Scratch {
  std::vector<float> weights;
  std::vector<float> gate;
  std::vector<float> up;
};

class OpenblasDequant : public Peer {
 public:
  OpenblasDequant(const Openblas& openblas, const PeerSetup& setup)
      : openblas_(openblas),
        setup_(setup),
        pool_(setup.thread_count),
        activations_(setup.problem, setup.inputs),
        chunks_(chunks_of(setup.problem)) {
    prepare_copies();
    prepare_scratch();
  }

  std::string name() const override { return "openblas_dequant"; }

  void run() override {
    activations_.expand(pool_);
    openblas_.set_thread_count(1);
    const WeightCopy& weights = copies_[next_copy_++ % copies_.size()];
    pool_.for_each(static_cast<std::int64_t>(chunks_.size()), [&](std::int64_t i, int thread) {
      run_chunk(chunks_[i], weights.groups[chunks_[i].group_index], scratch_[thread]);
    });
  }

 private:
  const std::vector<Group>& groups() const { return setup_.problem.groups; }
  bool is_dual() const { return setup_.problem.op == Op::kDual; }

  void prepare_copies() {
    std::size_t bytes = 0;
    for (const GroupInputs& inputs : setup_.inputs.groups) {
      for (const Nvfp4Matrix* matrix : {&inputs.b, &inputs.b_up}) {
        bytes += matrix->codes.size() + matrix->scales.size();
      }
    }
    const std::size_t copy_count = measure::cold_copy_count(bytes);
    while (copies_.size() < copy_count) copies_.emplace_back(setup_.inputs, bytes);
  }

  void prepare_scratch() {
    std::int64_t k_max = 0;
    std::int64_t m_max = 0;
    for (const Group& group : groups()) {
      k_max = std::max(k_max, group.k);
      m_max = std::max(m_max, group.m);
    }
    const std::size_t product_elements =
        is_dual() ? static_cast<std::size_t>(m_max * kChunkRows) : 0;
    scratch_.assign(static_cast<std::size_t>(setup_.thread_count),
                    {.weights = std::vector<float>(static_cast<std::size_t>(k_max * kChunkRows)),
                     .gate = std::vector<float>(product_elements),
                     .up = std::vector<float>(product_elements)});
  }

  void run_chunk(const Chunk& chunk, const WeightCopy::Matrices& weights, Scratch& scratch) const {
    const Group& group = groups()[chunk.group_index];
    const ProductFactors factors =
        product_factors(setup_.problem, setup_.inputs.groups[chunk.group_index]);
    float* c = setup_.outputs[chunk.group_index] + chunk.first_row;
    SgemmArgs args{.m = group.m,
                   .n = chunk.row_count,
                   .k = group.k,
                   .alpha = factors.gate,
                   .a = activations_.group(chunk.group_index),
                   .b = scratch.weights.data(),
                   .c = c,
                   .c_stride_elements = group.n};
    expand_chunk(weights.gate, chunk, scratch.weights.data());
    if (!is_dual()) return openblas_.multiply(args);

    args.c = scratch.gate.data();
    args.c_stride_elements = kChunkRows;
    openblas_.multiply(args);
    expand_chunk(weights.up, chunk, scratch.weights.data());
    args.alpha = factors.up;
    args.c = scratch.up.data();
    openblas_.multiply(args);
    for (std::int64_t row = 0; row < group.m; ++row) {
      const std::int64_t first = row * kChunkRows;
      gate_rows(scratch.gate.data() + first, scratch.up.data() + first, chunk.row_count,
                c + row * group.n);
    }
  }

  static void expand_chunk(const Nvfp4View& matrix, const Chunk& chunk, float* out) {
    const std::int64_t k = matrix.k_elements;
    for (std::int64_t row = 0; row < chunk.row_count; ++row) {
      const std::int64_t first = (chunk.first_row + row) * k;
      expand_nvfp4(matrix.codes + first / 2, matrix.scales + first / kBlockElements, k,
                   out + row * k);
    }
  }

  const Openblas& openblas_;
  const PeerSetup setup_;
  cpu::Pool pool_;
  FloatActivations activations_;
  std::vector<Chunk> chunks_;
  std::vector<WeightCopy> copies_;
  std::size_t next_copy_ = 0;
  std::vector<Scratch> scratch_;
};

}  // namespace

std::unique_ptr<Peer> make_openblas_dequant(const Openblas& openblas, const PeerSetup& setup) {
  return std::make_unique<OpenblasDequant>(openblas, setup);
}

}  // namespace thresher::bench
