// SPDX-License-Identifier: Apache-2.0
// A backend as one row: a plain struct of functions, through which all other code reaches it. The
// rows stand in engine/backends.cpp; cpu/, gpu/ and emulated/ bring one each.
//
// Variants go by their names here. Functions that take one throw Error where it names none.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/device.hpp"
#include "backend/machine.hpp"
#include "gemm/knob_table.hpp"
#include "thresher/engine.hpp"

namespace thresher {

// What can be known of a variant's time without running it. The engine chooses by `us`, the sharks
// forecast with it.
struct ModelledRun {
  double work = 1;         // multiply-adds paid for, over those asked for: padding and decoding
  double balance = 1;      // share of the threads' or SMs' time that has work: 1 is even
  double bytes = 0;        // to and from memory
  double store_bytes = 0;  // of those, for C
  double launch_us = 0;    // between kernels
  double us = 0;           // all of it
};

// A part that a backend needs: a device, a driver, a compiler.
struct ReportLine {
  std::string name;
  std::string value;
  bool good = true;  // false: something is missing, and `value` says what to do
};

using KnobValues = std::map<std::string, std::string>;

// How `verify` goes about the calls of a backend.
struct Checks {
  std::size_t cases_at_a_time = 1;  // 0: one per core
  int calls = 1;   // of every plan: a second one finds what the first has left behind
  int orders = 1;  // in which what is asynchronous may happen: an engine each
  // Of the host's memory, for every copy of a problem that an engine is given.
  int host_copies = 1;
  // The device that knows sooner what is right; empty: this one itself.
  std::string_view witness = {};
};

struct Backend {
  std::string_view name;  // "cpu", "gpu", "emulator": what --backend and pitches say
  bool numbered = false;  // whether there are several of its devices: "gpu:1", "emulator:sm80"
  // Backends whose variants have the same names are run by the first of them.
  std::string_view variant_prefix;

  std::string_view title;         // "CPU", "GPU": in sentences
  std::string_view season_suite;  // what a season plays on if nobody says
  std::string_view pitch_folder;  // where its shipped pitches lie
  double pilot_seconds = 0;       // that a pilot run of a season takes

  // So many plans are worth preparing before somebody asks for them: a compiler makes them.
  std::size_t plans_ahead = 0;
  // So much of a layer is worth packing for being timed; 0: all of it.
  double timed_weight_bytes = 0;
  Checks checks;
  // What an engine computes with that was asked for so many threads; 0 where they are not its own.
  int (*threads)(int asked) = [](int) { return 0; };
  // The numbers of threads that must agree, of those asked for or else two; none where there are
  // no threads.
  std::vector<int> (*agreeing_threads)(const std::vector<int>& asked) =
      [](const std::vector<int>&) { return std::vector<int>(); };

  // Variants.
  std::vector<std::string> (*named_variants)() = nullptr;  // the default first, not all run here
  // Empty, or what an open device of this machine lacks for a variant.
  std::string (*missing_for)(std::string_view variant) = nullptr;
  std::vector<std::string> (*choices)() = nullptr;  // all that choose() may return
  std::string (*choose)(const Problem& problem, std::int64_t tokens_max,
                        const Machine& machine) = nullptr;
  // The same variant, or one near it, whose bits for a token do not depend on the other tokens.
  std::string (*batch_invariant)(std::string_view variant) = nullptr;
  std::string (*baseline)() = nullptr;  // where a season starts
  std::vector<KnobText> (*knobs)() = nullptr;
  KnobValues (*knobs_of)(std::string_view variant) = nullptr;  // and `isa`
  // Equal variants have equal names, whatever order their knobs were written in.
  std::string (*turned)(std::string_view variant, const KnobValues& knobs) = nullptr;
  // The word of all that must compute the same bits as this variant, for all variants and ways to
  // run that have it. `exact`: every partial sum is exact.
  std::string (*twin_set)(const Problem& problem, std::string_view variant, bool exact,
                          bool device_counts) = nullptr;

  // On a machine.
  Support (*supports)(const Problem& problem, std::string_view variant,
                      const Machine& machine) = nullptr;
  std::size_t (*workspace_bytes)(const Problem& problem, std::string_view variant,
                                 const Machine& machine) = nullptr;
  // `variant` must support `problem`.
  ModelledRun (*model)(const Problem& problem, std::string_view variant,
                       const Machine& machine) = nullptr;

  // What a machine has and lacks of all that its devices need.
  std::vector<ReportLine> (*report)(const EngineOptions& options) = nullptr;
  // "AMD EPYC 7763", "NVIDIA H200": what constraints and tables call the device. There must be one.
  std::string (*device_name)() = nullptr;
  // What verdicts hold for: the device's name, how much of it there is, and its clocks. There must
  // be one.
  std::string (*machine_class)() = nullptr;
  // Empty, or why it cannot be opened with these options.
  std::string (*why_not)(const EngineOptions& options) = nullptr;
  std::unique_ptr<backend::Device> (*open)(const EngineOptions& options) = nullptr;
};

}  // namespace thresher
