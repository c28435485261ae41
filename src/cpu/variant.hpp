// SPDX-License-Identifier: Apache-2.0
// A variant: a complete setting of the CPU backend's knobs, and its name.
//
// The name is "cpu_<instruction set>" followed by the knobs that differ from that instruction set's
// defaults, in the order below: "cpu_avx2:decode=direct,stages=4". Equal variants have equal names.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cpu/features.hpp"
#include "gemm/knob_table.hpp"
#include "thresher/engine.hpp"
#include "thresher/problem.hpp"

namespace thresher::cpu {

// How weights become integers: kDirect decodes nibbles in registers for every tile; kPanel decodes
// a chunk of a panel into cache once and runs all rows over it; kByRows decides group by group.
enum class Decode : std::uint8_t { kByRows, kDirect, kPanel };
// kTogether: one list of tasks over all groups. kSequence: group after group, a barrier between
// them.
enum class Schedule : std::uint8_t { kTogether, kSequence };
// A gemm has one pass either way, so that one variant can run a suite of both.
enum class Dual : std::uint8_t { kFused, kTwoPass };
enum class Store : std::uint8_t { kPlain, kStreaming };
// kSplit: half of the threads decode panels, the other half multiply.
enum class Roles : std::uint8_t { kSame, kSplit };

struct Variant {
  Isa isa = Isa::kPortable;
  Decode decode = Decode::kByRows;
  int tile_rows = 1;          // register tile
  int tile_columns = 16;      // 16 or 32
  int chunk_elements = 2048;  // k per decoded chunk, a multiple of 64
  int stages = 0;             // superblocks (64 k) a direct tile prefetches ahead; 0: none
  int task_rows = 256;        // cache tile: rows of C per task
  int task_columns = 32;      // and its columns, a multiple of 32
  Schedule schedule = Schedule::kTogether;
  Dual dual = Dual::kFused;
  Store store = Store::kPlain;
  Roles roles = Roles::kSame;

  bool operator==(const Variant&) const = default;
};

// The setting behind a bare "cpu_<isa>".
Variant default_variant(Isa isa);

std::string name(const Variant& variant);
// Throws Error naming the knob, its value and what is allowed.
Variant variant_from_name(std::string_view text);

// Every knob under its name, with its value as it would stand in a variant's name.
std::map<std::string, std::string> knobs_of(const Variant& variant);
// `variant` with one knob turned. Throws Error naming the knob, its value and what is allowed.
Variant with_knob(Variant variant, std::string_view knob_name, std::string_view value);

// The knobs for people, with the defaults of an instruction set.
std::vector<KnobText> knob_texts(Isa isa);

// Whether `variant` can run `problem` on this machine with so many threads, and why not.
Support supports(const Variant& variant, const Problem& problem, int thread_count);

// For an instruction set: the default and each knob turned away from it, one at a time.
std::vector<Variant> named_variants(Isa isa);

// From this many rows on a group is worth decoding into panels, under Decode::kByRows.
std::int64_t panel_rows_min(Isa isa);

}  // namespace thresher::cpu
