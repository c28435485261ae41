// SPDX-License-Identifier: Apache-2.0
#include "cpu/variant.hpp"

#include <fmt/format.h>

#include <limits>

#include "cpu/body.hpp"
#include "cpu/plan.hpp"
#include "gemm/knob_table.hpp"
#include "thresher/error.hpp"

namespace thresher::cpu {
namespace {

constexpr std::string_view kPrefix = "cpu_";

// "12x16" as two numbers.
bool read_pair(std::string_view text, int high, int& first, int& second) {
  const std::size_t cross = text.find('x');
  if (cross == std::string_view::npos) return false;
  return read_int(text.substr(0, cross), 1, high, first) &&
         read_int(text.substr(cross + 1), 1, high, second);
}

// In the order of the enumerators.
constexpr std::string_view kDecodeWords[] = {"by_rows", "direct", "panel"};
constexpr std::string_view kScheduleWords[] = {"together", "sequence"};
constexpr std::string_view kDualWords[] = {"fused", "two_pass"};
constexpr std::string_view kStoreWords[] = {"plain", "streaming"};
constexpr std::string_view kRolesWords[] = {"same", "split"};

constexpr int kStagesMax = 64;
constexpr int kChunkMax = 1 << 20;
constexpr int kTaskMax = 1 << 20;

bool read_tile(std::string_view text, Variant& v) {
  return read_pair(text, kTileRowsMax, v.tile_rows, v.tile_columns) &&
         (v.tile_columns == 16 || v.tile_columns == 32);
}

bool read_chunk(std::string_view text, Variant& v) {
  return read_int(text, kSuperblockElements, kChunkMax, v.chunk_elements) &&
         v.chunk_elements % kSuperblockElements == 0;
}

bool read_task(std::string_view text, Variant& v) {
  return read_pair(text, kTaskMax, v.task_rows, v.task_columns) && v.task_columns % 32 == 0;
}

const Knob<Variant> kKnobs[] = {
    {"decode", "by_rows, direct or panel",
     "how weights become integers: in registers for every tile (direct), into cache "
     "once per chunk for all rows (panel), or decided by the rows of a group",
     [](const Variant& v) { return word(v.decode, kDecodeWords); },
     [](std::string_view text, Variant& v) { return read_word(text, kDecodeWords, v.decode); },
     "by_rows direct panel"},
    {"tile", "ROWSxCOLUMNS with 1 to 32 rows and 16 or 32 columns",
     "the register tile, rows x columns of C",
     [](const Variant& v) { return fmt::format("{}x{}", v.tile_rows, v.tile_columns); }, read_tile,
     "1x16 2x16 4x16 6x16 8x16 12x16 16x16 2x32 4x32 6x32 8x32 16x32 32x32"},
    {"chunk", "a multiple of 64 up to 1048576", "k per decoded chunk of a panel",
     [](const Variant& v) { return fmt::format("{}", v.chunk_elements); }, read_chunk,
     "1024 2048 4096"},
    {"stages", "0 to 64",
     "how many superblocks of 64 k ahead a direct tile asks for its weights (into "
     "the second cache; an eighth of that into the first)",
     [](const Variant& v) { return fmt::format("{}", v.stages); },
     [](std::string_view text, Variant& v) { return read_int(text, 0, kStagesMax, v.stages); },
     "0 4 8 16"},
    {"task", "ROWSxCOLUMNS with columns a multiple of 32, both up to 1048576",
     "the cache tile: rows x columns of C that one thread takes at a time",
     [](const Variant& v) { return fmt::format("{}x{}", v.task_rows, v.task_columns); }, read_task,
     "64x32 64x128 256x32"},
    {"schedule", "together or sequence", "tiles of all groups in one list, or group after group",
     [](const Variant& v) { return word(v.schedule, kScheduleWords); },
     [](std::string_view text, Variant& v) { return read_word(text, kScheduleWords, v.schedule); }},
    {"dual", "fused or two_pass", "gate and up in one pass, or two passes over C",
     [](const Variant& v) { return word(v.dual, kDualWords); },
     [](std::string_view text, Variant& v) { return read_word(text, kDualWords, v.dual); },
     "fused two_pass"},
    {"store", "plain or streaming", "ordinary stores, or stores past the caches",
     [](const Variant& v) { return word(v.store, kStoreWords); },
     [](std::string_view text, Variant& v) { return read_word(text, kStoreWords, v.store); },
     "plain streaming"},
    {"roles", "same or split",
     "every thread does everything, or half of them decode panels and the others "
     "multiply",
     [](const Variant& v) { return word(v.roles, kRolesWords); },
     [](std::string_view text, Variant& v) { return read_word(text, kRolesWords, v.roles); }},
};

const KnobTable<Variant> kTable{kKnobs};

Isa isa_from_name(std::string_view variant_text, std::string_view isa_name) {
  std::string known;
  for (const Isa isa : kAllIsas) {
    if (isa_name == to_string(isa)) return isa;
    known += fmt::format("{}{}{}", known.empty() ? "" : ", ", kPrefix, to_string(isa));
  }
  throw Error(
      fmt::format("unknown variant '{}'; variants begin with one of {}", variant_text, known));
}

// The tile knob speaks of NVFP4 activations; for 16-bit ones the plan cuts it down to what there
// is.
std::string why_not_tile(const Variant& variant) {
  const Kernels& kernels = body(variant.isa).nvfp4;
  const auto find = kernels.direct_tile != nullptr ? kernels.direct_tile : kernels.decoded_tile;
  if (find(variant.tile_rows, variant.tile_columns / kPanelColumns) != nullptr) return {};
  return fmt::format("{} has no register tile of {}x{}", to_string(variant.isa), variant.tile_rows,
                     variant.tile_columns);
}

std::string why_not(const Variant& variant, const Problem& problem, int thread_count) {
  const std::string missing = missing_features(variant.isa);
  if (!missing.empty()) return fmt::format("this CPU lacks {}", missing);
  const Kernels& kernels = body(variant.isa).kernels(problem.activations);
  if (kernels.tile_rows_max == 0) {
    return fmt::format("{} cannot multiply {} activations exactly", to_string(variant.isa),
                       to_string(problem.activations));
  }
  if (const std::string why = why_not_tile(variant); !why.empty()) return why;
  if (variant.decode == Decode::kPanel && kernels.decoded_tile == nullptr) {
    return fmt::format("{} has no decoded panels for {} activations", to_string(variant.isa),
                       to_string(problem.activations));
  }
  if (variant.decode == Decode::kDirect && kernels.direct_tile == nullptr) {
    return fmt::format("{} multiplies decoded panels only", to_string(variant.isa));
  }
  if (variant.roles == Roles::kSplit) {
    if (variant.decode != Decode::kPanel) return "roles=split needs decode=panel";
    if (thread_count < 2) return "roles=split needs at least 2 threads";
  }
  return why_not_size(problem, variant);
}

}  // namespace

Variant default_variant(Isa isa) {
  Variant variant;
  variant.isa = isa;
  switch (isa) {
    case Isa::kPortable:
      variant.tile_rows = 32;
      break;
    case Isa::kAvx2:
      variant.tile_rows = 12;
      variant.chunk_elements = 4096;
      variant.stages = 32;
      break;
    case Isa::kAvx512:
    case Isa::kAvx512Vnni:
      variant.tile_rows = 16;
      variant.stages = 32;
      break;
    case Isa::kAmx:
      variant.tile_rows = 32;
      variant.tile_columns = 32;
      break;
  }
  return variant;
}

std::int64_t panel_rows_min(Isa isa) {
  switch (isa) {
    case Isa::kAvx2:
      return 32;
    case Isa::kAmx:
      return 0;
    // With 32 registers decoding hides behind the multiplications: a panel never pays.
    case Isa::kAvx512:
    case Isa::kAvx512Vnni:
    case Isa::kPortable:
      break;
  }
  return std::numeric_limits<std::int64_t>::max();
}

std::string name(const Variant& variant) {
  return kTable.name(fmt::format("{}{}", kPrefix, to_string(variant.isa)), variant,
                     default_variant(variant.isa));
}

Variant variant_from_name(std::string_view text) {
  const std::string_view head = text.substr(0, text.find(':'));
  const std::string_view isa_name =
      head.starts_with(kPrefix) ? head.substr(kPrefix.size()) : std::string_view{};
  return kTable.read(text, default_variant(isa_from_name(text, isa_name)));
}

std::map<std::string, std::string> knobs_of(const Variant& variant) {
  return kTable.values(variant);
}

Variant with_knob(Variant variant, std::string_view knob_name, std::string_view value) {
  return kTable.with(variant, knob_name, value);
}

std::vector<KnobText> knob_texts(Isa isa) { return kTable.texts(default_variant(isa)); }

Support supports(const Variant& variant, const Problem& problem, int thread_count) {
  std::string why = why_not(variant, problem, thread_count);
  const bool ok = why.empty();
  return {.ok = ok, .why_not = std::move(why)};
}

std::vector<Variant> named_variants(Isa isa) {
  const Variant base = default_variant(isa);
  std::vector<Variant> variants{base};
  const auto turn = [&](auto change) {
    Variant variant = base;
    change(variant);
    if (variant != base) variants.push_back(variant);
  };
  const bool has_direct = isa != Isa::kAmx;
  const bool has_panels = isa != Isa::kPortable;
  if (has_direct && has_panels) {
    turn([](Variant& v) { v.decode = Decode::kDirect; });
    turn([](Variant& v) { v.decode = Decode::kPanel; });
  }
  turn([](Variant& v) { v.tile_rows = v.isa == Isa::kAmx ? 16 : 4; });
  if (isa == Isa::kAvx512 || isa == Isa::kAvx512Vnni) {
    turn([](Variant& v) { v.tile_rows = 8, v.tile_columns = 32; });
  }
  if (has_panels) turn([](Variant& v) { v.decode = Decode::kPanel, v.chunk_elements = 512; });
  if (has_direct) {
    turn([](Variant& v) { v.stages = 0; });
    turn([](Variant& v) { v.stages = 8; });
  }
  turn([](Variant& v) { v.task_rows = 64, v.task_columns = 128; });
  turn([](Variant& v) { v.schedule = Schedule::kSequence; });
  turn([](Variant& v) { v.dual = Dual::kTwoPass; });
  turn([](Variant& v) { v.store = Store::kStreaming; });
  if (has_panels) turn([](Variant& v) { v.decode = Decode::kPanel, v.roles = Roles::kSplit; });
  return variants;
}

}  // namespace thresher::cpu
