// SPDX-License-Identifier: Apache-2.0
// The C twin: converts plain structs to those of engine.hpp, and exceptions to status codes. What
// is checked here is only what conversion needs; the rest is checked, and named, by what it calls.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "engine/c_handles.hpp"
#include "gemm/extent_faults.hpp"
#include "nvfp4/check.hpp"
#include "rounding.hpp"
#include "thresher/engine.hpp"
#include "thresher/thresher.h"

// NOLINTBEGIN(readability-identifier-naming): C's names for C's handles.
struct thresher_plan {
  thresher::Plan plan;
  std::vector<thresher_group> groups;  // the problem's, for C to look at
};

struct thresher_buffer {
  thresher::Buffer buffer;
};

struct thresher_workspace {
  thresher::Workspace workspace;
  // A run's, converted, so that it allocates nothing.
  std::vector<thresher::GroupOperands> groups;
};

struct thresher_call {
  thresher::Call call;
};
// NOLINTEND(readability-identifier-naming)

namespace thresher {
namespace {

// A plain array: storing a message must not fail, not even for want of memory.
constexpr std::size_t kMessageBytesMax = 1024;
thread_local char last_error[kMessageBytesMax] = "";

}  // namespace

namespace c_twin {

thresher_status fail(thresher_status status, const char* message) noexcept {
  std::snprintf(last_error, sizeof last_error, "%s", message);
  return status;
}

const char* kept(std::string text) {
  thread_local std::string last;
  last = std::move(text);
  return last.c_str();
}

}  // namespace c_twin

namespace {

using namespace c_twin;

Problem problem_of(const thresher_problem& problem) {
  Problem converted{
      .name = problem.name == nullptr ? "" : problem.name,
      .op = enum_of(problem.op, Op::kDual, "problem.op"),
      .activations = enum_of(problem.activations, Activations::kBf16, "problem.activations"),
      .output = enum_of(problem.output, Output::kFp32, "problem.output")};
  // Before the groups are read: a wrong count would read past them.
  const std::string fault = fault_of_group_count(problem.group_count);
  if (!fault.empty()) throw Error(fmt::format("problem '{}': {}", converted.name, fault));
  need(problem.groups, "problem.groups");
  for (std::int64_t i = 0; i < problem.group_count; ++i) {
    const thresher_group& group = problem.groups[i];
    converted.groups.push_back({.m = group.m, .n = group.n, .k = group.k});
  }
  return converted;
}

WeightMatrices matrices_of(const thresher_weight_matrices& matrices) {
  return {.op = enum_of(matrices.op, Op::kDual, "matrices.op"),
          .b = view_of(matrices.b),
          .up = view_of(matrices.up),
          .activations = enum_of(matrices.activations, Activations::kBf16, "matrices.activations")};
}

Rows rows_of(const thresher_rows& rows) {
  return {rows.a, rows.a_scales, rows.c, rows.c_stride_elements};
}

GroupOperands group_of(const thresher_group_operands& group) {
  return {.weights = group.weights == nullptr ? nullptr : &group.weights->weights,
          .a_global_scale = group.a_global_scale,
          .alpha = group.alpha,
          .alpha_up = group.alpha_up,
          .rows = rows_of(group.rows)};
}

// The groups are written to `groups`, which the result refers to.
Operands convert(const Plan& plan, const thresher_operands* from,
                 std::vector<GroupOperands>& groups) {
  const thresher_operands& operands = need(from, "operands");
  const auto needed = static_cast<std::int64_t>(plan.problem().groups.size());
  if (operands.group_count != needed) {
    throw Error(
        fmt::format("group_count = {} but the plan has {} groups", operands.group_count, needed));
  }
  need(operands.groups, "operands.groups");
  groups.resize(static_cast<std::size_t>(needed));
  std::transform(operands.groups, operands.groups + needed, groups.begin(), group_of);
  return {.groups = groups,
          .rows = rows_of(operands.rows),
          .counts = {.counts = operands.device_counts, .tokens_max = operands.tokens_max}};
}

EngineOptions options_of(const thresher_engine_options* from) {
  EngineOptions options;
  if (from == nullptr) return options;
  if (from->device != nullptr) options.device = from->device;
  options.thread_count = from->thread_count;
  if (from->cache_folder != nullptr) options.cache_folder = from->cache_folder;
  if (from->compiler_folder_count > 0) need(from->compiler_folders, "compiler_folders");
  for (std::int64_t i = 0; i < from->compiler_folder_count; ++i) {
    options.compiler_folders.emplace_back(&need(from->compiler_folders[i], "a compiler folder"));
  }
  if (from->emulator_seed != 0) options.emulator_seed = from->emulator_seed;
  if (from->plan_file != nullptr) options.plan_file = from->plan_file;
  return options;
}

void write(const Nvfp4Matrix& matrix, thresher_nvfp4_buffer& out) {
  if (matrix.rows > 0) {
    std::copy(matrix.codes.begin(), matrix.codes.end(), &need(out.codes, "out.codes"));
    std::copy(matrix.scales.begin(), matrix.scales.end(), &need(out.scales, "out.scales"));
  }
  out.global_scale = matrix.global_scale;
}

template <class Value, class Stored>
thresher_status quantize_to(const Stored* values, std::int32_t use_global_scale,
                            thresher_nvfp4_buffer* out, std::int32_t thread_count = 0) {
  static_assert(sizeof(Value) == sizeof(Stored));
  return guarded([&] {
    const std::int64_t rows = need(out, "out").rows;
    nvfp4::check_matrix_extents("quantize", rows, out->k_elements);
    if (rows > 0) need(values, "values");
    const auto count = static_cast<std::size_t>(rows * out->k_elements);
    const bool given = use_global_scale == THRESHER_GLOBAL_SCALE_GIVEN;
    if (given && out->global_scale == 0) throw Error("out.global_scale is 0, and was to be given");
    const QuantizeOptions options{.global_scale = use_global_scale != 0,
                                  .given_global_scale = given ? out->global_scale : 0,
                                  .thread_count = thread_count};
    if (rows > 0) need(out->codes, "out.codes");
    if (rows > 0) need(out->scales, "out.scales");
    // Fp16 and Bf16 are their bits and nothing more.
    const std::span<const Value> span(reinterpret_cast<const Value*>(values), count);
    out->global_scale =
        quantize(span, {out->codes, out->scales, rows, out->k_elements}, options).global_scale;
  });
}

// Before they are multiplied.
void check_scale_extents(const char* what, std::int64_t rows, std::int64_t scale_count_per_row) {
  nvfp4::check_extent(what, {.name = "scale_count_per_row",
                             .value = scale_count_per_row,
                             .min = 1,
                             .max = kExtentMax / kBlockElements});
  nvfp4::check_matrix_extents(what, rows, scale_count_per_row * kBlockElements);
}

void copy_to(const std::vector<std::uint8_t>& bytes, std::uint8_t* to, const char* name) {
  if (!bytes.empty()) std::copy(bytes.begin(), bytes.end(), &need(to, name));
}

template <class Unpack>
thresher_status unpack_to(const thresher_weights* handle, thresher_nvfp4_buffer* out,
                          const Unpack& unpack) {
  return guarded([&] {
    const Weights& weights = need(handle, "weights").weights;
    need(out, "out");
    if (out->rows != weights.n() || out->k_elements != weights.k_elements()) {
      throw Error(fmt::format("out is {} x {} but the weights are n = {}, k = {}", out->rows,
                              out->k_elements, weights.n(), weights.k_elements()));
    }
    write(unpack(weights), *out);
  });
}

}  // namespace
}  // namespace thresher

using namespace thresher;

#define THRESHER_TEXT_OF(number) #number
#define THRESHER_TEXT(number) THRESHER_TEXT_OF(number)
#define THRESHER_DOT_TEXT(number) "." THRESHER_TEXT_OF(number)
const char* thresher_version(void) {
  return THRESHER_TEXT(THRESHER_VERSION_MAJOR) THRESHER_DOT_TEXT(THRESHER_VERSION_MINOR)
      THRESHER_DOT_TEXT(THRESHER_VERSION_PATCH);
}

const char* thresher_last_error(void) { return last_error; }

thresher_status thresher_quantize(const float* values, int32_t use_global_scale,
                                  thresher_nvfp4_buffer* out) {
  return quantize_to<float>(values, use_global_scale, out);
}

thresher_status thresher_quantize_fp16(const uint16_t* values, int32_t use_global_scale,
                                       thresher_nvfp4_buffer* out) {
  return quantize_to<Fp16>(values, use_global_scale, out);
}

thresher_status thresher_quantize_bf16(const uint16_t* values, int32_t use_global_scale,
                                       thresher_nvfp4_buffer* out) {
  return quantize_to<Bf16>(values, use_global_scale, out);
}

thresher_status thresher_quantize_on_threads(const void* values, thresher_output type,
                                             int32_t use_global_scale, int32_t thread_count,
                                             thresher_nvfp4_buffer* out) {
  if (thread_count < 0) return fail(THRESHER_INVALID, "thread_count is negative");
  const auto* bits = static_cast<const uint16_t*>(values);
  switch (type) {
    case THRESHER_C_FP16:
      return quantize_to<Fp16>(bits, use_global_scale, out, thread_count);
    case THRESHER_C_BF16:
      return quantize_to<Bf16>(bits, use_global_scale, out, thread_count);
    case THRESHER_C_FP32:
      return quantize_to<float>(static_cast<const float*>(values), use_global_scale, out,
                                thread_count);
    default:
      return fail(THRESHER_INVALID, "type is neither fp16 nor bf16 nor fp32");
  }
}

thresher_status thresher_check_matrix(const thresher_nvfp4_view* matrix, const char* what) {
  return guarded([&] { check(view_of(need(matrix, "matrix")), &need(what, "what")); });
}

thresher_status thresher_dequantize(const thresher_nvfp4_view* matrix, float* values) {
  return guarded([&] {
    const std::vector<float> floats = dequantize(view_of(need(matrix, "matrix")));
    if (!floats.empty()) std::copy(floats.begin(), floats.end(), &need(values, "values"));
  });
}

thresher_nvfp4_view thresher_view(const thresher_nvfp4_buffer* buffer) {
  return value_or_zero([&] {
    const thresher_nvfp4_buffer& b = need(buffer, "buffer");
    return thresher_nvfp4_view{b.codes, b.scales, b.rows, b.k_elements, b.global_scale};
  });
}

thresher_status thresher_swizzle_scales_128x4(const uint8_t* scales, int64_t rows,
                                              int64_t scale_count_per_row, uint8_t* swizzled) {
  return guarded([&] {
    check_scale_extents("swizzle_scales_128x4", rows, scale_count_per_row);
    if (rows * scale_count_per_row > 0) need(scales, "scales");
    const std::span from(scales, static_cast<std::size_t>(rows * scale_count_per_row));
    copy_to(swizzle_scales_128x4(from, rows, scale_count_per_row), swizzled, "swizzled");
  });
}

thresher_status thresher_unswizzle_scales_128x4(const uint8_t* swizzled, int64_t rows,
                                                int64_t scale_count_per_row, uint8_t* scales) {
  return guarded([&] {
    check_scale_extents("unswizzle_scales_128x4", rows, scale_count_per_row);
    const std::int64_t padded = round_up(rows, 128) * round_up(scale_count_per_row, 4);
    if (padded > 0) need(swizzled, "swizzled");
    const std::span from(swizzled, static_cast<std::size_t>(padded));
    copy_to(unswizzle_scales_128x4(from, rows, scale_count_per_row), scales, "scales");
  });
}

thresher_status thresher_engine_create(const thresher_engine_options* options,
                                       thresher_engine** engine) {
  return create(engine, "engine", [&] {
    Engine created(options_of(options));
    std::string description = created.description();
    std::vector<std::string> variants = created.variants();
    return thresher_engine{std::move(created), std::move(description), std::move(variants)};
  });
}

void thresher_engine_destroy(thresher_engine* engine) { delete engine; }

const char* thresher_engine_device(const thresher_engine* engine) {
  return value_or_zero([&] { return need(engine, "engine").engine.device().c_str(); });
}

const char* thresher_engine_description(const thresher_engine* engine) {
  return value_or_zero([&] { return need(engine, "engine").description.c_str(); });
}

const char* thresher_engine_plan_note(const thresher_engine* engine) {
  return value_or_zero([&] { return need(engine, "engine").engine.plan_note().c_str(); });
}

int32_t thresher_thread_count(const thresher_engine* engine) {
  return value_or_zero([&] { return need(engine, "engine").engine.thread_count(); });
}

int64_t thresher_variant_count(const thresher_engine* engine) {
  return value_or_zero(
      [&] { return static_cast<int64_t>(need(engine, "engine").variants.size()); });
}

const char* thresher_variant_name(const thresher_engine* engine, int64_t index) {
  return value_or_zero([&] { return at(need(engine, "engine").variants, index).c_str(); });
}

const char* thresher_why_no_device(const thresher_engine_options* options) {
  return value_or_zero([&] { return kept(why_no_device(options_of(options))); });
}

const char* thresher_why_not_supported(const thresher_engine* engine,
                                       const thresher_problem* problem, const char* variant) {
  return value_or_zero([&] {
    const Engine& asked = need(engine, "engine").engine;
    return kept(
        asked.supports(problem_of(need(problem, "problem")), &need(variant, "variant")).why_not);
  });
}

const char* thresher_choose(const thresher_engine* engine, const thresher_problem* problem,
                            int64_t tokens_max) {
  return value_or_zero([&] {
    const Engine& asked = need(engine, "engine").engine;
    return kept(asked.choose(problem_of(need(problem, "problem")), tokens_max));
  });
}

thresher_status thresher_synchronize(const thresher_engine* engine) {
  return guarded([&] { need(engine, "engine").engine.synchronize(); });
}

thresher_status thresher_buffer_create(const thresher_engine* engine, size_t bytes,
                                       thresher_buffer** buffer) {
  return create(buffer, "buffer",
                [&] { return thresher_buffer{need(engine, "engine").engine.allocate(bytes)}; });
}

void thresher_buffer_destroy(thresher_buffer* buffer) { delete buffer; }

void* thresher_buffer_data(const thresher_buffer* buffer) {
  return value_or_zero([&] { return need(buffer, "buffer").buffer.data(); });
}

size_t thresher_buffer_bytes(const thresher_buffer* buffer) {
  return value_or_zero([&] { return need(buffer, "buffer").buffer.bytes(); });
}

thresher_status thresher_copy_in(const thresher_buffer* buffer, const void* from, size_t bytes,
                                 size_t offset_bytes) {
  return guarded([&] {
    const Buffer& to = need(buffer, "buffer").buffer;
    if (bytes > 0) need(static_cast<const std::byte*>(from), "from");
    to.copy_in({static_cast<const std::byte*>(from), bytes}, offset_bytes);
  });
}

thresher_status thresher_copy_out(const thresher_buffer* buffer, void* to, size_t bytes,
                                  size_t offset_bytes) {
  return guarded([&] {
    const Buffer& from = need(buffer, "buffer").buffer;
    if (bytes > 0) need(static_cast<std::byte*>(to), "to");
    from.copy_out({static_cast<std::byte*>(to), bytes}, offset_bytes);
  });
}

thresher_status thresher_pack(const thresher_engine* engine,
                              const thresher_weight_matrices* matrices,
                              thresher_weights** weights) {
  return create(weights, "weights", [&] {
    const Engine& packer = need(engine, "engine").engine;
    return thresher_weights{packer.pack(matrices_of(need(matrices, "matrices")))};
  });
}

thresher_status thresher_duplicate(const thresher_engine* engine, const thresher_weights* weights,
                                   thresher_weights** copy) {
  return create(copy, "copy", [&] {
    const Engine& packer = need(engine, "engine").engine;
    return thresher_weights{packer.duplicate(need(weights, "weights").weights)};
  });
}

void thresher_weights_destroy(thresher_weights* weights) { delete weights; }

thresher_op thresher_weights_op(const thresher_weights* weights) {
  return value_or_zero(
      [&] { return static_cast<thresher_op>(need(weights, "weights").weights.op()); });
}

int64_t thresher_weights_n(const thresher_weights* weights) {
  return value_or_zero([&] { return need(weights, "weights").weights.n(); });
}

int64_t thresher_weights_k_elements(const thresher_weights* weights) {
  return value_or_zero([&] { return need(weights, "weights").weights.k_elements(); });
}

size_t thresher_weights_bytes(const thresher_weights* weights) {
  return value_or_zero([&] { return need(weights, "weights").weights.bytes(); });
}

thresher_status thresher_unpack(const thresher_weights* weights, thresher_nvfp4_buffer* out) {
  return unpack_to(weights, out, [](const Weights& packed) { return packed.unpack(); });
}

thresher_status thresher_unpack_up(const thresher_weights* weights, thresher_nvfp4_buffer* out) {
  return unpack_to(weights, out, [](const Weights& packed) { return packed.unpack_up(); });
}

thresher_status thresher_plan_create(const thresher_engine* engine, const thresher_problem* problem,
                                     const char* variant, int64_t tokens_max,
                                     thresher_plan** plan) {
  return create(plan, "plan", [&] {
    const Engine& planner = need(engine, "engine").engine;
    const char* chosen = variant == nullptr ? "" : variant;
    Plan made = planner.plan(problem_of(need(problem, "problem")), chosen, tokens_max);
    std::vector<thresher_group> groups;
    for (const Group& group : made.problem().groups) groups.push_back({group.m, group.n, group.k});
    return thresher_plan{made, std::move(groups)};
  });
}

void thresher_plan_destroy(thresher_plan* plan) { delete plan; }

thresher_problem thresher_plan_problem(const thresher_plan* plan) {
  return value_or_zero([&] {
    const Problem& problem = need(plan, "plan").plan.problem();
    return thresher_problem{.name = problem.name.c_str(),
                            .op = static_cast<thresher_op>(problem.op),
                            .activations = static_cast<thresher_activations>(problem.activations),
                            .output = static_cast<thresher_output>(problem.output),
                            .groups = plan->groups.data(),
                            .group_count = static_cast<int64_t>(plan->groups.size())};
  });
}

const char* thresher_plan_variant(const thresher_plan* plan) {
  return value_or_zero([&] { return need(plan, "plan").plan.variant().c_str(); });
}

size_t thresher_plan_workspace_bytes(const thresher_plan* plan) {
  return value_or_zero([&] { return need(plan, "plan").plan.workspace_bytes(); });
}

int64_t thresher_plan_tokens_max(const thresher_plan* plan) {
  return value_or_zero([&] { return need(plan, "plan").plan.tokens_max(); });
}

int64_t thresher_plan_kernel_launch_count(const thresher_plan* plan) {
  return value_or_zero([&] { return need(plan, "plan").plan.kernel_launch_count(); });
}

int64_t thresher_plan_graph_launch_count(const thresher_plan* plan) {
  return value_or_zero([&] { return need(plan, "plan").plan.graph_launch_count(); });
}

int64_t thresher_plan_kernel_count(const thresher_plan* plan) {
  return value_or_zero(
      [&] { return static_cast<int64_t>(need(plan, "plan").plan.kernels().size()); });
}

thresher_kernel_report thresher_plan_kernel(const thresher_plan* plan, int64_t index) {
  return value_or_zero([&] {
    const KernelReport& report = at(need(plan, "plan").plan.kernels(), index);
    return thresher_kernel_report{report.name.c_str(), report.register_count, report.spill_bytes,
                                  report.shared_bytes, report.block_count,    report.thread_count};
  });
}

thresher_status thresher_workspace_create(const thresher_engine* engine, const thresher_plan* plan,
                                          thresher_workspace** workspace) {
  return create(workspace, "workspace", [&] {
    const Engine& owner = need(engine, "engine").engine;
    const Plan& made_for = need(plan, "plan").plan;
    return thresher_workspace{owner.workspace(made_for),
                              std::vector<GroupOperands>(made_for.problem().groups.size())};
  });
}

void thresher_workspace_destroy(thresher_workspace* workspace) { delete workspace; }

size_t thresher_workspace_bytes(const thresher_workspace* workspace) {
  return value_or_zero([&] { return need(workspace, "workspace").workspace.bytes(); });
}

thresher_status thresher_check(const thresher_engine* engine, const thresher_plan* plan,
                               const thresher_operands* operands) {
  return guarded([&] {
    const Engine& checker = need(engine, "engine").engine;
    const Plan& checked = need(plan, "plan").plan;
    std::vector<GroupOperands> groups;
    checker.check(checked, convert(checked, operands, groups));
  });
}

thresher_status thresher_run(const thresher_engine* engine, const thresher_plan* plan,
                             const thresher_operands* operands, thresher_workspace* workspace) {
  return guarded([&] {
    const Engine& runner = need(engine, "engine").engine;
    const Plan& planned = need(plan, "plan").plan;
    thresher_workspace& scratch = need(workspace, "workspace");
    runner.run(planned, convert(planned, operands, scratch.groups), scratch.workspace);
  });
}

thresher_status thresher_bind(const thresher_engine* engine, const thresher_plan* plan,
                              const thresher_operands* operands,
                              const thresher_workspace* workspace, thresher_call** call) {
  return create(call, "call", [&] {
    const Engine& binder = need(engine, "engine").engine;
    const Plan& planned = need(plan, "plan").plan;
    std::vector<GroupOperands> groups;
    const Operands converted = convert(planned, operands, groups);
    return thresher_call{binder.bind(planned, converted, need(workspace, "workspace").workspace)};
  });
}

void thresher_call_destroy(thresher_call* call) { delete call; }

thresher_status thresher_enqueue(const thresher_call* call, void* stream) {
  return guarded([&] { need(call, "call").call.enqueue(stream); });
}

thresher_status thresher_enqueue_rows(const thresher_call* call, const thresher_rows* rows,
                                      void* stream) {
  return guarded([&] { need(call, "call").call.enqueue(rows_of(need(rows, "rows")), stream); });
}
