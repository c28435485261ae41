// SPDX-License-Identifier: Apache-2.0
// The file that `thresher tune` writes and EngineOptions::plan_file names: variants that were
// measured to be faster than the engine's own choice, for machines and for classes of problems.
// docs/tuning.md has the format and the rule.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/device.hpp"
#include "thresher/problem.hpp"

namespace thresher {

// Where it was measured. A file from elsewhere is not used.
struct PlanFingerprint {
  std::string backend;  // "cpu", "gpu"
  std::string device;   // "AMD EPYC 7763", "NVIDIA H200"
  // That, its cores or SMs and its highest clock; empty in files of format 2, which do not say.
  std::string machine_class = {};
  std::int64_t thread_count = 0;  // of a CPU; 0 on a GPU
  std::string version;            // of the program: another may have other variants

  bool operator==(const PlanFingerprint&) const = default;
};

PlanFingerprint fingerprint_of(const backend::Device& device);
// "AMD EPYC 7763, 64 cores, 8 threads"
std::string to_string(const PlanFingerprint& machine);

// Problems that are alike: equal groups but for their tokens.
struct PlanClass {
  Op op = Op::kGemm;
  Activations activations = Activations::kNvfp4;
  std::int64_t groups = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;

  bool operator==(const PlanClass&) const = default;
};
// Nothing where groups differ in n or k: such problems have no class.
std::optional<PlanClass> plan_class(const Problem& problem);

// How an entry was found, for those who want to see it. An engine does not look at it.
struct PlanStory {
  // The best so far, as raced.
  struct Moment {
    double seconds = 0;
    std::int64_t tried = 0;
    double speedup = 1;
  };

  std::int64_t space = 0;  // variants that there are
  std::int64_t tried = 0;
  double choice_us = 0;    // a call of the engine's choice
  bool at_random = false;  // a comparison: nothing but luck proposed what to try
  std::vector<Moment> trace;
};

// The very problem that was measured, as far as its class does not say it.
struct PlanMeasured {
  Output output = Output::kFp16;
  std::vector<std::int64_t> rows;  // of each group
};

struct PlanEntry {
  PlanClass of;
  std::int64_t tokens = 0;                    // of all groups together
  std::optional<PlanMeasured> measured = {};  // nothing: a file of format 2, which does not say
  std::string variant;
  std::string choice;   // the engine's own, which it was compared with
  bool better = false;  // than the choice, says the referee: otherwise the choice stays
  double speedup = 1;   // over the choice, with its 95 % interval
  double low = 1;
  double high = 1;
  std::string reason;  // in words
  std::optional<PlanStory> story = {};
};

// A search that was interrupted, to go on from. An engine does not look at it.
struct PlanSearch {
  struct Trial {
    std::string variant;
    double speedup = 0;  // over the engine's choice, as raced; 0: it does not run
  };

  PlanClass of;
  std::int64_t tokens = 0;
  double seconds = 0;  // that it took so far
  std::vector<Trial> trials;
  std::vector<PlanStory::Moment> trace = {};
};

struct MachinePlan {
  PlanFingerprint fingerprint;
  std::vector<PlanEntry> entries = {};
  std::vector<PlanSearch> unfinished = {};
};

struct PlanFile {
  std::vector<MachinePlan> machines;
};

// Throws Error naming the file, the entry and what is wrong with it.
PlanFile read_plan_file(const std::filesystem::path& path);
PlanFile plan_file_from_json(std::string_view text);
std::string to_json(const PlanFile& file);
// Throws Error where no file can be written to that place.
void check_plan_place(const std::filesystem::path& path);
// Whole or not at all.
void write_plan_file(const std::filesystem::path& path, const PlanFile& file);

// The problem that an entry was measured on; where it does not say, one with its tokens spread over
// the groups as evenly as they go.
Problem problem_of(const PlanEntry& entry);
PlanMeasured measured_of(const Problem& problem);

// Empty, or why this program has no use for an entry that was measured on such a machine.
std::string why_not_entry(const PlanEntry& entry, const backend::Device& device);

// The entry for so many tokens of a problem: of its class the one whose tokens are nearest, as a
// ratio, and at most twice or half as many; of two that are as near, the one with fewer tokens.
// Null: none is.
const PlanEntry* find_entry(const MachinePlan& plan, const Problem& problem, std::int64_t tokens);

// What the file has for a machine: a part of its class, or else one that names no class; null:
// nothing.
const MachinePlan* find_machine(const PlanFile& file, const PlanFingerprint& here);
// The same, made where there is none.
MachinePlan& machine_in(PlanFile& file, const PlanFingerprint& here);
// In which way a machine is another than one that a plan was made on; empty: they are one.
std::string why_foreign(const PlanFingerprint& plan, const PlanFingerprint& here);
// The same of all machines of a file.
std::string why_foreign(const PlanFile& file, const PlanFingerprint& here);

}  // namespace thresher
