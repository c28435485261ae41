// SPDX-License-Identifier: Apache-2.0
#include "referee/worker/arena_view.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "thresher/error.hpp"

namespace thresher::referee {

void ArenaView::check_range(std::int64_t offset, std::int64_t count,
                            std::int64_t value_bytes) const {
  if (offset >= 0 && count >= 0 && offset <= bytes_ && count <= (bytes_ - offset) / value_bytes) {
    return;
  }
  throw Error(fmt::format("offset {} lies outside the arena of {} bytes", offset, bytes_));
}

Nvfp4View ArenaView::matrix(std::int64_t codes, std::int64_t scales, std::int64_t rows,
                            std::int64_t k, float global_scale) const {
  return {.codes = at<const std::uint8_t>(codes, rows * k / 2),
          .scales = at<const std::uint8_t>(scales, rows * k / kBlockElements),
          .rows = rows,
          .k_elements = k,
          .global_scale = global_scale};
}

HostedWeights ArenaView::weights(Op op, const GroupRecord& record) const {
  HostedWeights weights;
  weights.b = matrix(record.b_codes, record.b_scales, record.n, record.k, record.b_global_scale);
  if (op == Op::kDual) {
    weights.b_up =
        matrix(record.up_codes, record.up_scales, record.n, record.k, record.up_global_scale);
  }
  return weights;
}

Problem read_problem(const ArenaView& tables, const Request& request) {
  Problem problem{.name = fmt::format("problem {}", request.id),
                  .op = request.op,
                  .activations = request.activations,
                  .output = request.output,
                  .groups = {}};
  const auto* records = tables.at<const GroupRecord>(request.table_offset, request.group_count);
  for (std::int64_t g = 0; g < request.group_count; ++g) {
    problem.groups.push_back({.m = records[g].m, .n = records[g].n, .k = records[g].k});
  }
  return problem;
}

HostedCall read_call(const ArenaView& input, const ArenaView& output, const Problem& problem,
                     const Group& group, const CallRecord& record) {
  HostedCall result;
  result.alpha = record.alpha;
  result.alpha_up = record.alpha_up;
  if (group.m == 0) return result;
  if (problem.activations == Activations::kNvfp4) {
    result.a = input.matrix(record.a, record.a_scales, group.m, group.k, record.a_global_scale);
  } else {
    result.a16 = input.at<const std::uint16_t>(record.a, group.m * group.k);
  }
  const std::int64_t element_count = (group.m - 1) * record.c_stride + group.n;
  result.c = output.at<std::byte>(record.c, element_count * bytes_per_element(problem.output));
  result.c_stride_elements = record.c_stride;
  return result;
}

Mapping::Mapping(int fd, std::int64_t bytes, int protection) : bytes_(bytes) {
  // All pages at once: a first touch inside a timed call would be timed as well.
  void* mapped =
      mmap(nullptr, static_cast<std::size_t>(bytes), protection, MAP_SHARED | MAP_POPULATE, fd, 0);
  if (mapped == MAP_FAILED) throw Error(fmt::format("mmap: {}", std::strerror(errno)));
  data_ = static_cast<std::byte*>(mapped);
}

Mapping::~Mapping() { munmap(data_, static_cast<std::size_t>(bytes_)); }

}  // namespace thresher::referee
