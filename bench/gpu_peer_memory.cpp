// SPDX-License-Identifier: Apache-2.0
#include "bench/gpu_peer_memory.hpp"

#include <bit>

#include "bench/float_rows.hpp"
#include "rounding.hpp"

namespace thresher::bench {
namespace {

constexpr std::size_t kCodesPerByte = 2;
constexpr std::size_t kCodesPerWord = 8;
constexpr std::size_t kBytesPerValue = 2;
// So that every matrix is aligned as vector loads and tensor maps want it.
constexpr std::size_t kElementsAligned = 128;

std::size_t aligned_count(std::size_t count) { return round_up(count, kElementsAligned); }

std::size_t count(std::int64_t rows, std::int64_t columns) {
  return static_cast<std::size_t>(rows * columns);
}

bool is_dual(const Problem& problem) { return problem.op == Op::kDual; }

// NVFP4 is exact in bf16, whose bits are the upper half of a float's.
std::vector<std::uint16_t> to_bf16(const Nvfp4Matrix& matrix) {
  std::vector<float> values(count(matrix.rows, matrix.k_elements));
  expand_nvfp4(matrix.codes.data(), matrix.scales.data(), matrix.rows * matrix.k_elements,
               values.data());
  std::vector<std::uint16_t> bits;
  bits.reserve(values.size());
  for (const float value : values) {
    bits.push_back(static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16));
  }
  return bits;
}

Problem as_computed(Problem problem) {
  problem.output = operand_of(problem) == gpu::hw::Operand::kFp16 ? Output::kFp16 : Output::kBf16;
  return problem;
}

}  // namespace

std::vector<PeerGroup> peer_groups(const Problem& problem, const Inputs& inputs) {
  std::vector<PeerGroup> groups;
  PeerGroup next;  // its offsets are where the group after those before it begins
  for (std::size_t g = 0; g < problem.groups.size(); ++g) {
    const Group& extents = problem.groups[g];
    if (extents.m == 0) continue;
    next.index = g;
    next.extents = extents;
    next.factors = product_factors(problem, inputs.groups[g]);
    next.product = {.m = extents.m,
                    .n = is_dual(problem) ? 2 * extents.n : extents.n,
                    .k = extents.k,
                    .alpha = is_dual(problem) ? 1.0f : next.factors.gate};
    groups.push_back(next);
    next.weight_offset += aligned_count(count(next.product.n, extents.k));
    next.activation_offset += aligned_count(count(extents.m, extents.k));
    next.product_offset += aligned_count(count(extents.m, next.product.n));
    next.first_row += static_cast<std::size_t>(extents.m);
  }
  return groups;
}

PeerOperands::PeerOperands(const GpuPeerSetup& setup, const PeerKernels& kernels)
    : device_(setup.device), kernels_(kernels), groups_(peer_groups(setup.problem, setup.inputs)) {
  if (!groups_.empty()) {
    const PeerGroup& last = groups_.back();
    weight_count_ = last.weight_offset + aligned_count(count(last.product.n, last.product.k));
    const std::size_t activation_count =
        last.activation_offset + count(last.extents.m, last.extents.k);
    activations_ = gpu::DeviceBuffer(device_, activation_count * kBytesPerValue);
  }
  upload_activations(setup);
  upload_nvfp4(setup.inputs);
  make_copies(setup.copy_count, setup.stream);
}

void PeerOperands::upload_activations(const GpuPeerSetup& setup) {
  const bool is_nvfp4 = setup.problem.activations == Activations::kNvfp4;
  for (const PeerGroup& group : groups_) {
    const GroupInputs& from = setup.inputs.groups[group.index];
    const std::vector<std::uint16_t> expanded =
        is_nvfp4 ? to_bf16(from.a) : std::vector<std::uint16_t>();
    activations_.copy_in(gpu::bytes_of(is_nvfp4 ? expanded : from.a16),
                         group.activation_offset * kBytesPerValue);
  }
}

void PeerOperands::upload_nvfp4(const Inputs& inputs) {
  const std::size_t scales_offset = weight_count_ / kCodesPerByte;
  const gpu::DeviceBuffer& to =
      nvfp4_.emplace_back(device_, scales_offset + weight_count_ / kBlockElements);
  to.fill(std::byte{0});  // between the matrices too
  for (const PeerGroup& group : groups_) {
    std::size_t first = group.weight_offset;
    const GroupInputs& from = inputs.groups[group.index];
    for (const Nvfp4Matrix* matrix : {&from.b, &from.b_up}) {
      to.copy_in(gpu::bytes_of(matrix->codes), first / kCodesPerByte);
      to.copy_in(gpu::bytes_of(matrix->scales), scales_offset + first / kBlockElements);
      first += count(matrix->rows, matrix->k_elements);  // b_up is empty in a gemm
    }
  }
}

void PeerOperands::make_copies(std::size_t copy_count, const gpu::Stream& stream) {
  weights_.push_back(make_weight_buffer());
  expand(stream, 0, weights_.front());
  while (weights_.size() < copy_count) {
    nvfp4_.emplace_back(device_, nvfp4_.front().bytes()).enqueue_copy_from(stream, nvfp4_.front());
    weights_.emplace_back(device_, weights_.front().bytes())
        .enqueue_copy_from(stream, weights_.front());
  }
  stream.synchronize();
}

gpu::DeviceBuffer PeerOperands::make_weight_buffer() const {
  return {device_, weight_count_ * kBytesPerValue};
}

void PeerOperands::expand(const gpu::Stream& stream, std::size_t copy,
                          const gpu::DeviceBuffer& to) const {
  const gpu::DeviceBuffer& from = nvfp4_[copy];
  kernels_.expand(stream, {.codes = from.pointer<const u32>(),
                           .scales = from.pointer<const u8>(weight_count_ / kCodesPerByte),
                           .out = to.pointer<gpu::U32x4>(),
                           .word_count = weight_count_ / kCodesPerWord});
}

const void* PeerOperands::activations(const PeerGroup& group) const {
  return activations_.pointer<const void>(group.activation_offset * kBytesPerValue);
}

const void* PeerOperands::weights_in(const gpu::DeviceBuffer& all, const PeerGroup& group) {
  return all.pointer<const void>(group.weight_offset * kBytesPerValue);
}

PeerResults::PeerResults(const GpuPeerSetup& setup, const std::vector<PeerGroup>& groups)
    : problem_(as_computed(setup.problem)) {
  for (const Group& group : problem_.groups) {
    outputs_.emplace_back(setup.device, count(group.m, group.n) * kBytesPerValue);
  }
  if (is_dual(problem_) && !groups.empty()) make_gate_rows(setup.device, groups);
}

void PeerResults::make_gate_rows(const gpu::Device& device, const std::vector<PeerGroup>& groups) {
  const PeerGroup& last = groups.back();
  const std::size_t product_count = last.product_offset + count(last.product.m, last.product.n);
  products_ = gpu::DeviceBuffer(device, product_count * sizeof(float));
  std::vector<GateRow> rows;
  for (const PeerGroup& group : groups) {
    const auto products = reinterpret_cast<std::uintptr_t>(product(group));
    for (std::int64_t row = 0; row < group.extents.m; ++row) {
      rows.push_back(
          {.products = products + count(row, group.product.n) * sizeof(float),
           .c = outputs_[group.index].address() + count(row, group.extents.n) * kBytesPerValue,
           .n = static_cast<u32>(group.extents.n),
           .gate_factor = group.factors.gate,
           .up_factor = group.factors.up});
    }
  }
  gate_row_count_ = rows.size();
  gate_rows_ = gpu::DeviceBuffer(device, rows.size() * sizeof(GateRow));
  gate_rows_.copy_in(gpu::bytes_of(rows));
}

ProductTypes PeerResults::product_types() const {
  const cublas::DataType type = problem_.output == Output::kFp16 ? cublas::kFp16 : cublas::kBf16;
  return {.operands = type, .c = is_dual(problem_) ? cublas::kFloat : type};
}

void* PeerResults::product(const PeerGroup& group) const {
  return is_dual(problem_) ? products_.pointer<void>(group.product_offset * sizeof(float))
                           : outputs_[group.index].pointer<void>();
}

void PeerResults::gate(const gpu::Stream& stream, const PeerKernels& kernels) const {
  kernels.gate(stream, {.rows = gate_rows_.pointer<const GateRow>()}, gate_row_count_);
}

void PeerResults::gate(const gpu::Stream& stream, const PeerKernels& kernels,
                       const PeerGroup& group) const {
  if (!is_dual(problem_)) return;
  kernels.gate(stream,
               {.rows = gate_rows_.pointer<const GateRow>(group.first_row * sizeof(GateRow))},
               static_cast<std::size_t>(group.extents.m));
}

}  // namespace thresher::bench
