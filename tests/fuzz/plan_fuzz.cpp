// SPDX-License-Identifier: Apache-2.0
// Any bytes at all, given to the reader of plan files, make a plan that is written and read as
// itself, or a thresher::Error; and any problem can be looked up in it. A recorded space that was
// read can be searched: the reader of T4 files gets the same bytes.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "assert.hpp"
#include "control.hpp"
#include "engine/plan_file.hpp"
#include "thresher/error.hpp"
#include "tune/replay.hpp"

namespace {

void expect_printable(std::string_view message) {
  THRESHER_ASSERT(!message.empty() && message.size() < 4096);
  THRESHER_ASSERT(!thresher::has_control(message));
}

void expect_sound(const thresher::MachinePlan& plan) {
  for (const thresher::PlanEntry& entry : plan.entries) {
    THRESHER_ASSERT(std::isfinite(entry.speedup) && entry.speedup > 0);
    const std::int64_t tokens = entry.tokens;
    thresher::Problem problem{.name = "p", .op = entry.of.op, .activations = entry.of.activations};
    problem.groups.assign(static_cast<std::size_t>(entry.of.groups % 64),
                          {.m = 0, .n = entry.of.n, .k = entry.of.k});
    const thresher::PlanEntry* found = find_entry(plan, problem, tokens);
    THRESHER_ASSERT(found == nullptr || found->of == thresher::plan_class(problem));
  }
}

void expect_sound(const thresher::PlanFile& file) {
  const std::string text = to_json(file);
  const thresher::PlanFile again = thresher::plan_file_from_json(text);
  THRESHER_ASSERT(to_json(again) == text);
  THRESHER_ASSERT(again.machines.size() == file.machines.size());
  for (const thresher::MachinePlan& plan : file.machines) expect_sound(plan);
}

void read_plan(std::string_view text) {
  try {
    expect_sound(thresher::plan_file_from_json(text));
  } catch (const thresher::Error& error) {
    expect_printable(error.what());
  }
}

void read_space(std::string_view text) {
  try {
    const thresher::tune::RecordedSpace recorded = thresher::tune::recorded_space_from_json(text);
    const std::vector<double> shares =
        replay(recorded, thresher::tune::Strategy::kSearch, recorded.times.size() + 1, 1);
    THRESHER_ASSERT(shares.size() == recorded.times.size() && shares.back() == 1);
  } catch (const thresher::Error& error) {
    expect_printable(error.what());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  read_plan(text);
  read_space(text);
  return 0;
}
