// SPDX-License-Identifier: Apache-2.0
#include "report/variant_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "tank/ledger/ledger.hpp"

namespace thresher::report {
namespace {

struct Head {
  std::string_view name;
  std::string_view words;
};

constexpr Head kHeads[] = {
    {"cpu_portable", "portable CPU code"},
    {"cpu_avx2", "AVX2 on the CPU"},
    {"cpu_avx512", "AVX-512 on the CPU"},
    {"cpu_avx512vnni", "AVX-512 VNNI on the CPU"},
    {"cpu_amx", "AMX on the CPU"},
    {"gpu_sm90", "Hopper kernel"},
    {"gpu_sm80", "kernel for Ampere and newer"},
    {"gpu_sm100", "Blackwell kernel"},
};

// The first row that fits is taken; an empty value fits any, and # in its words stands for it.
struct KnobWords {
  std::string_view head;  // how the variant's name begins: the devices share names of knobs
  std::string_view knob;
  std::string_view value;
  std::string_view words;
};

constexpr KnobWords kKnobWords[] = {
    {"cpu_", "decode", "direct", "weights decoded in registers"},
    {"cpu_", "decode", "panel", "weights decoded into the cache"},
    {"cpu_", "decode", "by_rows", "decoding decided by the rows of a group"},
    {"cpu_", "tile", "", "register tiles of #"},
    {"cpu_", "chunk", "", "panels of # k"},
    {"cpu_", "stages", "0", "no prefetch"},
    {"cpu_", "stages", "", "weights fetched # superblocks ahead"},
    {"cpu_", "task", "", "tasks of #"},
    {"cpu_", "schedule", "sequence", "group after group"},
    {"cpu_", "schedule", "together", "all groups at once"},
    {"cpu_", "dual", "fused", "gate and up in one pass"},
    {"cpu_", "dual", "two_pass", "gate and up in two passes"},
    {"cpu_", "store", "plain", "ordinary stores"},
    {"cpu_", "store", "streaming", "stores past the caches"},
    {"cpu_", "roles", "same", "every thread does everything"},
    {"cpu_", "roles", "split", "half of the threads decode, half multiply"},
    {"gpu_", "kernel", "plain", "plain, one stage"},
    {"gpu_", "kernel", "pipelined", "pipelined"},
    {"gpu_", "tokens", "", "tiles of up to # tokens"},
    {"gpu_", "widths", "by_group", "tile widths by group"},
    {"gpu_", "widths", "fixed", "tiles of one width"},
    {"gpu_", "rows", "", "# rows of weights per tile"},
    {"gpu_", "warpgroups", "1", "1 consumer warpgroup"},
    {"gpu_", "warpgroups", "", "# consumer warpgroups"},
    {"gpu_", "stages", "", "# stages in flight"},
    {"gpu_", "steps", "", "fragments of # MMA steps"},
    {"gpu_", "roles", "same", "no producer warp"},
    {"gpu_", "roles", "split", "a producer warp"},
    {"gpu_", "store", "direct", "results stored from registers"},
    {"gpu_", "store", "staged", "results stored as bulk copies"},
    {"gpu_", "store", "vectors", "results stored 16 bytes per thread"},
    {"gpu_", "schedule", "tiles", "whole tiles in turn"},
    {"gpu_", "schedule", "balanced", "equal shares of the work per block"},
    {"gpu_", "split_k", "1", "k in one part"},
    {"gpu_", "split_k", "", "k cut into # parts"},
    {"gpu_", "blocks", "1", "1 block per SM"},
    {"gpu_", "blocks", "", "# blocks per SM"},
    {"gpu_", "arrive", "warp", "one arrival per warp"},
    {"gpu_", "arrive", "thread", "every thread arrives"},
    {"gpu_", "prologue", "kernel", "activations prepared by a kernel of their own"},
    {"gpu_", "prologue", "inside", "activations prepared inside the GEMM"},
    {"gpu_", "prologue", "none", "activations read as they are"},
    {"gpu_", "loads", "copies", "weights as plain copies"},
    {"gpu_", "loads", "multicast", "weights copied once for two blocks"},
    {"gpu_", "loads", "boxes", "weights copied by a tensor map"},
    {"gpu_", "launches", "grouped", "one launch for all groups"},
    {"gpu_", "launches", "per_group", "a launch per group"},
    {"gpu_", "launches", "streams", "a stream per group"},
    {"gpu_", "graph", "off", "no graph"},
    {"gpu_", "graph", "on", "replayed as a CUDA graph"},
    {"gpu_", "dual", "fused", "gate and up in one launch"},
    {"gpu_", "dual", "two_pass", "gate and up in two passes"},
};

// "12x16" as "12×16".
std::string shown_value(std::string_view value) {
  const std::size_t x = value.find('x');
  const bool is_shape = x != std::string_view::npos && x > 0 && x + 1 < value.size() &&
                        value.find_first_not_of("0123456789x") == std::string_view::npos;
  if (!is_shape) return std::string(value);
  return fmt::format("{}×{}", value.substr(0, x), value.substr(x + 1));
}

std::string knob_words(std::string_view head, std::string_view knob, std::string_view value) {
  for (const KnobWords& row : kKnobWords) {
    const bool fits =
        head.starts_with(row.head) && knob == row.knob && (row.value.empty() || value == row.value);
    if (!fits) continue;
    std::string words(row.words);
    if (const std::size_t at = words.find('#'); at != std::string::npos) {
      words.replace(at, 1, shown_value(value));
    }
    return words;
  }
  return fmt::format("{} = {}", knob, value);
}

// Empty for what is no variant of ours.
std::string_view head_words(std::string_view head) {
  const auto* const known = std::find_if(std::begin(kHeads), std::end(kHeads),
                                         [&](const Head& one) { return one.name == head; });
  return known == std::end(kHeads) ? std::string_view() : known->words;
}

}  // namespace

std::string turned_words(std::string_view name, const nlohmann::json& baseline_knobs,
                         const nlohmann::json& knobs) {
  const std::string_view head = name.substr(0, name.find(':'));
  const std::string_view known = head_words(head);
  if (known.empty() || !baseline_knobs.is_object() || !knobs.is_object() || knobs.empty()) {
    return variant_words(name);
  }
  std::vector<std::string> parts;
  for (const auto& [knob, value] : knobs.items()) {
    const bool turned = value.is_string() && field(baseline_knobs, knob.c_str()) != value;
    // The head says the instruction set.
    if (turned && knob != "isa") parts.push_back(knob_words(head, knob, value.get<std::string>()));
  }
  if (parts.empty()) return fmt::format("{}, knobs like the baseline's", known);
  return fmt::format("{}, unlike the baseline: {}", known, fmt::join(parts, ", "));
}

std::string variant_words(std::string_view name) {
  const std::size_t colon = name.find(':');
  const std::string_view head = name.substr(0, colon);
  const std::string_view known = head_words(head);
  if (known.empty()) return {};
  if (colon == std::string_view::npos) return fmt::format("{}, all defaults", known);
  std::vector<std::string> parts;
  std::string_view rest = name.substr(colon + 1);
  while (!rest.empty()) {
    const std::string_view one = rest.substr(0, rest.find(','));
    const std::size_t equals = std::min(one.find('='), one.size());
    parts.push_back(
        knob_words(head, one.substr(0, equals), one.substr(std::min(equals + 1, one.size()))));
    rest.remove_prefix(std::min(one.size() + 1, rest.size()));
  }
  return fmt::format("{}: {}", known, fmt::join(parts, ", "));
}

Html variant_html(const std::string& name) { return variant_html(name, variant_words(name)); }

Html variant_html(const std::string& name, const std::string& words) {
  if (words.empty()) return name;
  return element("details", element("summary", words) + element("code", name, {{"class", "raw"}}),
                 {{"class", "variant"}});
}

}  // namespace thresher::report
