// SPDX-License-Identifier: Apache-2.0
#include "gpu/gemm/variant.hpp"

#include "gemm/knob_table.hpp"

namespace thresher::gpu {
namespace {

// In the order of the enumerators.
constexpr std::string_view kKindWords[] = {"pipelined", "plain"};
constexpr std::string_view kWidthsWords[] = {"by_group", "fixed"};
constexpr std::string_view kStoreWords[] = {"direct", "staged", "vectors"};
constexpr std::string_view kScheduleWords[] = {"tiles", "balanced"};
constexpr std::string_view kLaunchesWords[] = {"grouped", "per_group", "streams"};
constexpr std::string_view kDualWords[] = {"fused", "two_pass"};
constexpr std::string_view kArriveWords[] = {"warp", "thread"};
constexpr std::string_view kPrologueWords[] = {"kernel", "inside", "none"};
constexpr std::string_view kLoadsWords[] = {"copies", "multicast", "boxes"};
constexpr std::string_view kRolesWords[] = {"same", "split"};
constexpr std::string_view kSwitchWords[] = {"off", "on"};

// A knob whose value is a word, and one whose value is a number; `kMember` is where it lies.
template <auto kMember, const auto& kWords>
constexpr Knob<Variant> word_knob(std::string_view name, std::string_view allowed,
                                  std::string_view what, std::string_view tried = {}) {
  return {
      name,
      allowed,
      what,
      [](const Variant& v) { return word(v.knobs.*kMember, kWords); },
      [](std::string_view text, Variant& v) { return read_word(text, kWords, v.knobs.*kMember); },
      tried};
}

template <int GemmKnobs::*kMember, int kLow, int kHigh>
constexpr Knob<Variant> number_knob(std::string_view name, std::string_view allowed,
                                    std::string_view what, std::string_view tried = {}) {
  return {name,
          allowed,
          what,
          [](const Variant& v) { return fmt::format("{}", v.knobs.*kMember); },
          [](std::string_view text, Variant& v) {
            return read_int(text, kLow, kHigh, v.knobs.*kMember);
          },
          tried};
}

bool read_tokens(std::string_view text, Variant& v) {
  return read_int(text, 8, 256, v.knobs.tokens) && v.knobs.tokens % 8 == 0;
}

const Knob<Variant> kKnobs[] = {
    word_knob<&GemmKnobs::kind, kKindWords>(
        "kernel", "pipelined or plain",
        "the pipelined kernel, or the baseline: one stage, every warp does everything, "
        "a block per tile"),
    {"tokens", "a multiple of 8 from 8 to 256", "tokens in the widest tile",
     [](const Variant& v) { return fmt::format("{}", v.knobs.tokens); }, read_tokens,
     "16 32 48 64 96 128 176 256"},
    word_knob<&GemmKnobs::widths, kWidthsWords>(
        "widths", "by_group or fixed",
        "a group's tokens are cut into tiles of three widths, as few and as narrow as "
        "they need, or into tiles of one width",
        "by_group fixed"),
    number_knob<&GemmKnobs::weight_rows, 128, 256>(
        "rows", "128, 192 or 256",
        "rows of weights per tile; 192 are Hopper's, with warpgroups = 3; on Blackwell 256 are a "
        "pair of blocks, 128 each",
        "128 256"),
    number_knob<&GemmKnobs::consumer_warpgroups, 1, 4>(
        "warpgroups", "1 to 4", "consumer warpgroups that share the rows; 3 are for 192 rows",
        "1 2 4"),
    number_knob<&GemmKnobs::stages, 2, 32>("stages", "2 to 32",
                                           "tiles of 64 k in flight in shared memory", "4 6"),
    number_knob<&GemmKnobs::fragment_steps, 2, 4>("steps", "2 or 4",
                                                  "MMA steps of 16 k per decoded fragment"),
    {"roles", "same or split", "a producer warp of its own loads, or one of the consumers' threads",
     [](const Variant& v) { return word(v.knobs.specialised, kRolesWords); },
     [](std::string_view text, Variant& v) {
       return read_word(text, kRolesWords, v.knobs.specialised);
     }},
    word_knob<&GemmKnobs::store, kStoreWords>(
        "store", "direct, staged or vectors",
        "results leave from registers, or through shared memory: as bulk copies "
        "(staged), or 16 bytes per thread (vectors)",
        "direct staged vectors"),
    word_knob<&GemmKnobs::schedule, kScheduleWords>(
        "schedule", "tiles or balanced",
        "whole tiles in turn, or equal stretches of all work, whose ends may lie inside "
        "a tile",
        "tiles balanced"),
    number_knob<&GemmKnobs::split_k, 1, 64>(
        "split_k", "1 to 64", "parts that k is cut into, added in their order", "1 2"),
    number_knob<&GemmKnobs::blocks_per_sm, 1, 8>(
        "blocks", "1 to 8", "blocks per SM that registers and shared memory shall suffice for",
        "1 2"),
    word_knob<&GemmKnobs::arrive, kArriveWords>(
        "arrive", "warp or thread",
        "who tells the loader that a stage is free: one thread per warp, or every "
        "thread for itself"),
    word_knob<&GemmKnobs::prologue, kPrologueWords>(
        "prologue", "kernel, inside or none",
        "who brings the activations into the kernel's layout: a kernel of its own, or "
        "the GEMM's blocks before they multiply; none: they are read as they are",
        "kernel inside"),
    word_knob<&GemmKnobs::loads, kLoadsWords>(
        "loads", "copies, multicast or boxes",
        "how weights come to shared memory on Blackwell: every block copies its own, two "
        "blocks copy half to both and have half of the tile's tokens each, or boxes of a "
        "tensor map"),
    word_knob<&GemmKnobs::launches, kLaunchesWords>(
        "launches", "grouped, per_group or streams",
        "one launch for all groups, one per group, or one per group on streams of its "
        "own"),
    {"graph", "off or on", "whether a call is one launch of a recorded CUDA graph",
     [](const Variant& v) { return word(v.graph, kSwitchWords); },
     [](std::string_view text, Variant& v) { return read_word(text, kSwitchWords, v.graph); }},
    word_knob<&GemmKnobs::dual, kDualWords>("dual", "fused or two_pass",
                                            "gate and up in one launch, or one after the other",
                                            "fused two_pass"),
};

const KnobTable<Variant> kTable{kKnobs};

}  // namespace

std::string_view head_of(Mma mma) {
  if (mma == Mma::kBlockScaled) return "gpu_sm100";
  return mma == Mma::kWarp ? "gpu_sm80" : "gpu_sm90";
}

std::string name(const Variant& variant) {
  const Mma mma = variant.knobs.mma;
  return kTable.name(head_of(mma), variant, default_variant(mma));
}

Variant variant_from_name(std::string_view text) {
  for (const Mma mma : {Mma::kWarpgroup, Mma::kWarp, Mma::kBlockScaled}) {
    if (text.substr(0, text.find(':')) != head_of(mma)) continue;
    return kTable.read(text, default_variant(mma));
  }
  throw Error(fmt::format("unknown variant '{}'; variants of a GPU begin with {}, {} or {}", text,
                          head_of(Mma::kWarpgroup), head_of(Mma::kWarp),
                          head_of(Mma::kBlockScaled)));
}

std::map<std::string, std::string> knobs_of(const Variant& variant) {
  return kTable.values(variant);
}

Variant with_knob(Variant variant, std::string_view knob_name, std::string_view value) {
  return kTable.with(variant, knob_name, value);
}

std::vector<KnobText> knob_texts(Mma mma) { return kTable.texts(default_variant(mma)); }

}  // namespace thresher::gpu
