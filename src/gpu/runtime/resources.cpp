// SPDX-License-Identifier: Apache-2.0
// ptxas writes for every entry function
//
//   ptxas info    : Compiling entry function 'gemm' for 'sm_90a'
//   ptxas info    : Function properties for gemm
//   ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
//   ptxas info    : Used 168 registers, used 1 barriers, 1024 bytes smem
//   ptxas info    : Compile time = 8.391 ms
//
// and for device functions that were not inlined the second and third line alone.
#include "gpu/runtime/resources.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace thresher::gpu {
namespace {

// The text between `before` and `after` in `line`, if both stand there in this order.
std::optional<std::string_view> between(std::string_view line, std::string_view before,
                                        std::string_view after) {
  const std::size_t start = line.find(before);
  if (start == std::string_view::npos) return std::nullopt;
  line.remove_prefix(start + before.size());
  const std::size_t end = line.find(after);
  if (end == std::string_view::npos) return std::nullopt;
  return line.substr(0, end);
}

// The number right before `words` in `line`: 24 for " bytes spill stores" in
// "..., 24 bytes spill stores, ...".
std::optional<std::int64_t> number_before(std::string_view line, std::string_view words) {
  const std::size_t end = line.find(words);
  if (end == std::string_view::npos) return std::nullopt;
  const std::size_t last_other = line.substr(0, end).find_last_not_of("0123456789");
  const std::size_t start = last_other == std::string_view::npos ? 0 : last_other + 1;
  std::int64_t number = 0;
  const auto [stop, error] = std::from_chars(line.data() + start, line.data() + end, number);
  if (error != std::errc() || stop != line.data() + end) return std::nullopt;
  return number;
}

bool contains(std::string_view line, std::string_view words) {
  return line.find(words) != std::string_view::npos;
}

// Lines that carry nothing: an empty count of global memory, and the time.
bool is_chatter(std::string_view line) {
  return contains(line, " bytes gmem") || contains(line, "Compile time = ") ||
         line.find_first_not_of(" \t\r") == std::string_view::npos;
}

class Reader {
 public:
  void read(std::string_view line) {
    if (const auto entry = between(line, "Compiling entry function '", "'")) {
      report_.kernels.push_back({.kernel = std::string(*entry)});
      current_ = nullptr;
    } else if (contains(line, "Function properties for ")) {
      function_ = line.substr(line.find(" for ") + 5);
      current_ = find(function_);
    } else if (const auto stack = number_before(line, " bytes stack frame")) {
      read_spills(line, *stack);
    } else if (const auto registers = number_before(line, " registers");
               registers.has_value() && contains(line, ": Used ")) {
      read_use(line, static_cast<int>(*registers));
    } else if (!is_chatter(line)) {
      report_.notes.emplace_back(line);
    }
  }
  PtxasReport take() { return std::move(report_); }

 private:
  // nullptr for a device function: it has no launch, so no row in the report.
  KernelResources* find(std::string_view name) {
    const auto found = std::find_if(report_.kernels.begin(), report_.kernels.end(),
                                    [&](const KernelResources& one) { return one.kernel == name; });
    return found == report_.kernels.end() ? nullptr : &*found;
  }

  void read_spills(std::string_view line, std::int64_t stack_bytes) {
    const auto stores = number_before(line, " bytes spill stores");
    const auto loads = number_before(line, " bytes spill loads");
    if (current_ == nullptr) {
      // No kernel's row can take it, and it must not go unseen.
      if (stores.value_or(0) + loads.value_or(0) > 0) {
        report_.notes.push_back(fmt::format("device function {} spills: {}", function_, line));
      }
      return;
    }
    current_->stack_bytes = stack_bytes;
    current_->spill_store_bytes = stores;
    current_->spill_load_bytes = loads;
  }

  void read_use(std::string_view line, int register_count) {
    if (current_ == nullptr) return;
    current_->register_count = register_count;
    current_->static_shared_bytes = number_before(line, " bytes smem").value_or(0);
    current_ = nullptr;
  }

  PtxasReport report_;
  std::string_view function_;
  KernelResources* current_ = nullptr;
};

}  // namespace

PtxasReport parse_ptxas_log(std::string_view log) {
  Reader reader;
  while (!log.empty()) {
    const std::size_t end = std::min(log.find('\n'), log.size());
    reader.read(log.substr(0, end));
    log.remove_prefix(std::min(end + 1, log.size()));
  }
  return reader.take();
}

std::string to_string(const KernelResources& resources) {
  std::string spills = "spills unknown";
  if (resources.spills()) {
    spills = fmt::format("spills {} bytes of stores and {} of loads",
                         resources.spill_store_bytes.value_or(0),
                         resources.spill_load_bytes.value_or(0));
  } else if (resources.spill_store_bytes.has_value()) {
    spills = "no spills";
  }
  return fmt::format("{}: {} registers, {}, {} bytes of stack, {} bytes of static shared memory",
                     resources.kernel, resources.register_count, spills, resources.stack_bytes,
                     resources.static_shared_bytes);
}

}  // namespace thresher::gpu
