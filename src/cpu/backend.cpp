// SPDX-License-Identifier: Apache-2.0
#include "cpu/backend.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "cpu/choose.hpp"
#include "cpu/device.hpp"
#include "cpu/model.hpp"
#include "cpu/plan.hpp"
#include "cpu/variant.hpp"

namespace thresher::cpu {
namespace {

// Those of the instruction set that the engine prefers first.
std::vector<std::string> names_of_variants() {
  std::vector<Isa> isas(std::begin(kAllIsas), std::end(kAllIsas));
  std::stable_partition(isas.begin(), isas.end(), [](Isa isa) { return isa == best_vector_isa(); });
  std::vector<std::string> names;
  for (const Isa isa : isas) {
    for (const Variant& variant : named_variants(isa)) names.push_back(name(variant));
  }
  return names;
}

std::string missing_for(std::string_view variant) {
  const std::string missing = missing_features(variant_from_name(variant).isa);
  return missing.empty() ? missing : "this CPU lacks " + missing;
}

// The seeds' starting point in the CPU's words: this machine's best vector instructions with every
// idea of the pitches still to be had. Group after group, no prefetch, a small register tile, plain
// stores, weights decoded for every tile, and two passes for a dual problem. The engine's own
// default is far ahead of it: a season finds out which of the ideas that is due to.
std::string baseline() {
  Variant variant = default_variant(best_vector_isa());
  variant.decode = Decode::kDirect;
  variant.tile_rows = 4;
  variant.tile_columns = 16;
  variant.stages = 0;
  variant.schedule = Schedule::kSequence;
  variant.store = Store::kPlain;
  variant.roles = Roles::kSame;
  variant.dual = Dual::kTwoPass;
  return name(variant);
}

KnobValues values_of(std::string_view variant) {
  const Variant read = variant_from_name(variant);
  KnobValues values = knobs_of(read);
  values.emplace("isa", to_string(read.isa));
  return values;
}

std::string turned(std::string_view variant, const KnobValues& knobs) {
  Variant read = variant_from_name(variant);
  for (const auto& [knob, value] : knobs) read = with_knob(read, knob, value);
  return name(read);
}

// For NVFP4 activations every body but AMX's sums exact integers in the same order.
std::string twin_set(const Problem& problem, std::string_view variant, bool, bool) {
  const bool is_integer =
      problem.activations == Activations::kNvfp4 && variant_from_name(variant).isa != Isa::kAmx;
  return is_integer ? "integer" : std::string(variant);
}

// Empty where the system does not say, as in most virtual machines.
std::string highest_clock() {
  std::ifstream file("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq");
  double khz = 0;
  return file >> khz ? fmt::format(", up to {:.2f} GHz", khz / 1e6) : "";
}

std::string machine_class() {
  const int cores = usable_core_count();
  return fmt::format("{}, {} core{}{}", cpu_model(), cores, cores == 1 ? "" : "s", highest_clock());
}

}  // namespace

const Backend& cpu_backend() {
  static constexpr Backend kRow{
      .name = "cpu",
      .variant_prefix = "cpu_",
      .title = "CPU",
      .season_suite = "tank_cpu",
      .pitch_folder = "pitches",
      .pilot_seconds = 4,
      .timed_weight_bytes = 768e6,  // packing more takes longer than timing
      .checks = {.witness = "cpu"},
      .threads = [](int asked) { return asked > 0 ? asked : usable_core_count(); },
      .agreeing_threads =
          [](const std::vector<int>& asked) {
            // One thread has nobody to disagree with.
            return asked.empty() ? std::vector<int>{1, std::max(2, usable_core_count())} : asked;
          },
      .named_variants = names_of_variants,
      .missing_for = missing_for,
      .choices =
          [] {
            std::vector<std::string> names{name(default_variant(best_vector_isa()))};
            if (can_run(Isa::kAmx)) names.push_back(name(default_variant(Isa::kAmx)));
            return names;
          },
      .choose = [](const Problem& problem, std::int64_t,
                   const Machine&) { return name(choose(problem)); },
      .batch_invariant = [](std::string_view variant) { return turned(variant, {}); },
      .baseline = baseline,
      .knobs = [] { return knob_texts(best_vector_isa()); },
      .knobs_of = values_of,
      .turned = turned,
      .twin_set = twin_set,
      .supports =
          [](const Problem& problem, std::string_view variant, const Machine& machine) {
            return supports(variant_from_name(variant), problem, machine.thread_count);
          },
      .workspace_bytes =
          [](const Problem& problem, std::string_view variant, const Machine& machine) {
            return make_plan(problem, variant_from_name(variant), machine.thread_count)
                .workspace_bytes;
          },
      .model =
          [](const Problem& problem, std::string_view variant, const Machine& machine) {
            return modelled_run(problem, variant_from_name(variant), machine);
          },
      .report = [](const EngineOptions&) { return std::vector<ReportLine>(); },
      .device_name = cpu_model,
      .machine_class = machine_class,
      .why_not = [](const EngineOptions&) { return std::string(); },
      .open = open_device};
  return kRow;
}

}  // namespace thresher::cpu
