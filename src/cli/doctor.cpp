// SPDX-License-Identifier: Apache-2.0
// thresher doctor: what this machine has, what it can do, and how quiet it is.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "bench/openblas.hpp"
#include "cli/backend_option.hpp"
#include "cli/cluster_options.hpp"
#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/doctor_slurm.hpp"
#include "cli/presence.hpp"
#include "cli/progress.hpp"
#include "cli/table.hpp"
#include "cpu/features.hpp"
#include "referee/sandbox/leftovers.hpp"
#include "referee/sandbox/sandbox.hpp"

namespace thresher::cli {
namespace {

using Json = nlohmann::ordered_json;

struct DoctorOptions {
  std::string backend;
  std::filesystem::path plan;
  double seconds = 1.5;
  int thread_count = 0;
  bool json = false;
  ClusterOptions cluster;
  int task_count = 0;
};

// What the CPU reached with so many threads, by name.
struct CpuCeilings {
  int thread_count = 0;
  std::map<std::string, double> values;
};

// A device with memory of its own, such as a GPU.
struct FoundDevice {
  const Backend& backend;
  std::vector<ReportLine> parts;
  std::string why_not;                        // empty: it works here
  std::optional<backend::Ceilings> ceilings;  // where it was measured

  // Which the engine takes on this machine: "gpu_sm90" on Hopper, "gpu_sm100" on Blackwell (for
  // NVFP4 activations), "gpu_sm80" on other GPUs.
  std::string kernels() const { return backend.named_variants().front(); }
};

struct Examination {
  std::string huge_pages;
  std::vector<CpuCeilings> ceilings;  // one thread, then all
  const bench::Openblas* openblas = nullptr;
  std::vector<FoundDevice> devices;
  std::vector<referee::Protection> protections;  // of the sandbox that contestants run in
  std::string plan_note;                         // of the plan file that was asked about
};

// The word in brackets in "always [madvise] never".
std::string huge_page_mode() {
  std::ifstream file("/sys/kernel/mm/transparent_hugepage/enabled");
  std::string word;
  while (file >> word) {
    if (word.front() == '[') return word.substr(1, word.size() - 2);
  }
  return "unknown";
}

std::string huge_page_advice(const std::string& mode) {
  if (mode == "always" || mode == "madvise") return "the engine gets 2 MiB pages for weights";
  if (mode == "never") {
    return "weights stream slower from 4 KiB pages; as root: "
           "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled";
  }
  return "this system does not say whether the engine gets 2 MiB pages";
}

// By the worse of the thread counts.
std::string noise_judgement(const std::vector<CpuCeilings>& ceilings) {
  double noise = 0;
  for (const CpuCeilings& one : ceilings) noise = std::max(noise, one.values.at("noise"));
  if (noise < 0.005) return "quiet: differences of 1 % can be trusted";
  if (noise < 0.02) return "usable: compare medians of interleaved runs, trust 3 % and more";
  return "noisy: other work is running; trust only large differences, or stop it and try again";
}

std::vector<FoundDevice> find_devices() {
  std::vector<FoundDevice> found;
  for (const Backend* backend : backends()) {
    const EngineOptions options = engine_options(*backend);
    std::vector<ReportLine> parts = backend->report(options);
    if (parts.empty()) continue;  // it needs nothing but this program
    found.push_back({*backend, std::move(parts), backend->why_not(options), {}});
  }
  return found;
}

// What an engine says of the file that would be opened as other commands do it.
std::string plan_note_of(const DoctorOptions& options) {
  EngineOptions engine = engine_options(resolve_backend(options.backend));
  engine.thread_count = options.thread_count;
  engine.plan_file = options.plan;
  return Engine(engine).plan_note();
}

Examination examine(const DoctorOptions& options) {
  const int thread_count =
      options.thread_count != 0 ? options.thread_count : cpu::usable_core_count();
  std::vector<int> thread_counts{1};
  if (thread_count > 1) thread_counts.push_back(thread_count);

  // Who tries the sandbox may take a seat, which is left when this ends.
  referee::keep_caretaker();
  // Asks for a GPU where the user did, and fails where there is none.
  const Backend& asked = resolve_backend(options.backend);
  Examination found{.huge_pages = huge_page_mode(),
                    .ceilings = {},
                    .openblas = bench::Openblas::find(),
                    .devices = find_devices(),
                    .protections = referee::probe_protections(),
                    .plan_note = {}};
  if (!options.plan.empty()) found.plan_note = plan_note_of(options);
  const auto measured_too =
      std::count_if(found.devices.begin(), found.devices.end(),
                    [&](const FoundDevice& device) { return &device.backend == &asked; });
  Progress progress(std::ssize(thread_counts) + measured_too, {});
  for (const int count : thread_counts) {
    progress.begin_step(fmt::format("measuring with {} threads", count));
    const Engine engine({.thread_count = count});
    const backend::Ceilings measured = engine.state().measure_ceilings(options.seconds);
    found.ceilings.push_back({count, {measured.values.begin(), measured.values.end()}});
  }
  for (FoundDevice& device : found.devices) {
    if (&device.backend != &asked) continue;
    progress.begin_step(fmt::format("measuring the {}", asked.title));
    const Engine engine(engine_options(asked));
    device.ceilings = engine.state().measure_ceilings(options.seconds);
  }
  return found;
}

Json to_json(const CpuCeilings& ceilings) {
  Json json{{"threads", ceilings.thread_count}};
  for (const auto& [name, value] : ceilings.values) json[name] = value;
  return json;
}

Json to_json(const FoundDevice& device) {
  Json json{{"usable", device.why_not.empty()}, {"why_not", device.why_not}};
  if (device.why_not.empty()) json["kernels"] = device.kernels();
  for (const ReportLine& part : device.parts) json["found"][part.name] = part.value;
  if (device.ceilings) {
    for (const auto& [name, value] : device.ceilings->values) json["ceilings"][name] = value;
  }
  return json;
}

void print_examination_json(const Examination& found) {
  Json isas = Json::array();
  for (const cpu::Isa isa : cpu::kAllIsas) {
    isas.push_back({{"name", cpu::to_string(isa)},
                    {"runs", cpu::can_run(isa)},
                    {"missing", cpu::missing_features(isa)}});
  }
  Json ceilings = Json::array();
  for (const CpuCeilings& one : found.ceilings) ceilings.push_back(to_json(one));
  Json sandbox = Json::array();
  for (const referee::Protection& one : found.protections) {
    sandbox.push_back({{"name", one.name},
                       {"granted", one.ok},
                       {"why_not", one.why_not},
                       {"otherwise", one.otherwise}});
  }
  const cpu::Caches caches = cpu::caches();
  const bool has_openblas = found.openblas != nullptr;
  Json report{{"version", THRESHER_VERSION},
              {"processor", cpu::cpu_model()},
              {"usable_cores", cpu::usable_core_count()},
              {"caches",
               {{"l1d_bytes", caches.l1d_bytes},
                {"l2_bytes", caches.l2_bytes},
                {"l3_bytes", caches.l3_bytes}}},
              {"huge_pages", found.huge_pages},
              {"instruction_sets", isas},
              {"measured_instruction_set", cpu::to_string(cpu::best_isa())},
              {"ceilings", ceilings},
              {"noise_judgement", noise_judgement(found.ceilings)},
              {"openblas", has_openblas ? Json(found.openblas->description()) : Json(nullptr)},
              {"sandbox", sandbox}};
  for (const FoundDevice& device : found.devices) {
    report[std::string(device.backend.name)] = to_json(device);
  }
  if (!found.plan_note.empty()) report["plan"] = found.plan_note;
  fmt::print("{}\n", report.dump());
}

std::string bytes_text(std::int64_t bytes) {
  if (bytes == 0) return "unknown";
  if (bytes >= 1 << 20) return fmt::format("{:g} MiB", static_cast<double>(bytes) / (1 << 20));
  return fmt::format("{:g} KiB", static_cast<double>(bytes) / (1 << 10));
}

void print_machine(const Examination& found) {
  const cpu::Caches caches = cpu::caches();
  Table table({{""}, {""}});
  table.add_row({"processor", cpu::cpu_model()});
  table.add_row({"usable cores", fmt::format("{}", cpu::usable_core_count())});
  table.add_row({"caches", fmt::format("L1d {}, L2 {}, L3 {}", bytes_text(caches.l1d_bytes),
                                       bytes_text(caches.l2_bytes), bytes_text(caches.l3_bytes))});
  table.add_row(
      {"huge pages", fmt::format("{}: {}", found.huge_pages, huge_page_advice(found.huge_pages))});
  for (const cpu::Isa isa : cpu::kAllIsas) {
    const std::string missing = cpu::missing_features(isa);
    table.add_row(
        {fmt::format("cpu_{}", cpu::to_string(isa)),
         missing.empty() ? Cell("runs", Tone::kGood) : Cell("missing: " + missing, Tone::kDim)});
  }
  print(table);
}

void print_ceilings(const std::vector<CpuCeilings>& ceilings) {
  std::vector<Column> columns{{fmt::format("measured with {}", cpu::to_string(cpu::best_isa()))}};
  std::vector<Cell> read{"DRAM read, GB/s"};
  std::vector<Cell> integer{cpu::best_isa() == cpu::Isa::kAmx ? "bf16 tile multiply-adds, GOP/s"
                                                              : "8-bit multiply-adds, GOP/s"};
  std::vector<Cell> fma{"FP32 multiply-adds, GFLOP/s"};
  std::vector<Cell> noise{"noise of a fixed spin, %"};
  for (const CpuCeilings& one : ceilings) {
    columns.push_back(
        {fmt::format("{} thread{}", one.thread_count, one.thread_count == 1 ? "" : "s"),
         Align::kRight});
    read.push_back(fmt::format("{:.1f}", one.values.at("read_gb_per_s")));
    integer.push_back(fmt::format("{:.0f}", one.values.at("integer_gop_per_s")));
    fma.push_back(fmt::format("{:.0f}", one.values.at("fma_gflop_per_s")));
    noise.push_back(fmt::format("{:.2f}", 100 * one.values.at("noise")));
  }
  Table table(columns);
  for (const std::vector<Cell>& row : {read, integer, fma, noise}) table.add_row(row);
  print(table);
}

// Contestants are untrusted code; a match says the same of every protection it had to go without.
void add_sandbox(const std::vector<referee::Protection>& protections, Table& table) {
  const auto granted = std::count_if(protections.begin(), protections.end(),
                                     [](const referee::Protection& one) { return one.ok; });
  table.add_row({"sandbox",
                 fmt::format("{} of {} protections for contestants", granted, protections.size())});
  std::vector<std::string> names;
  for (const referee::Protection& one : protections) {
    if (one.ok) names.push_back(one.name);
  }
  table.add_row({"", fmt::format("{}", fmt::join(names, ", "))});
  for (const referee::Protection& one : protections) {
    if (one.ok) continue;
    table.add_row(
        {"", Cell(fmt::format("no {}: {}; what is left: {}", one.name, one.why_not, one.otherwise),
                  Tone::kDim)});
  }
}

void add_device(const FoundDevice& device, Table& table) {
  for (const ReportLine& part : device.parts) {
    table.add_row({part.name, Cell(part.value, part.good ? Tone::kPlain : Tone::kDim)});
  }
  const std::string_view title = device.backend.title;
  table.add_row({fmt::format("{} backend", title),
                 device.why_not.empty() ? Cell("runs " + device.kernels(), Tone::kGood)
                                        : Cell(device.why_not, Tone::kDim)});
  if (device.ceilings) {
    table.add_row({fmt::format("{} ceilings", title), device.ceilings->text});
  }
}

void print_surroundings(const Examination& found) {
  Table table({{""}, {""}});
  table.add_row({"noise", noise_judgement(found.ceilings)});
  if (!found.plan_note.empty()) table.add_row({"plan", found.plan_note});
  table.add_row({"peers", found.openblas != nullptr ? found.openblas->description()
                                                    : bench::Openblas::how_to_install()});
  add_sandbox(found.protections, table);
  for (const FoundDevice& device : found.devices) add_device(device, table);
  print(table);
}

int run_doctor(const DoctorOptions& options) {
  check_cluster(options.cluster);
  if (options.cluster.is_remote()) {
    return examine_cluster(
        {.cluster = options.cluster,
         .backend = std::string(backend_there(options.cluster, options.backend).name),
         .task_count = options.task_count,
         .json = options.json});
  }
  const Presence presence("doctor");
  const Examination found = examine(options);
  if (options.json) {
    print_examination_json(found);
    return kExitOk;
  }
  print_machine(found);
  fmt::print("\n");
  print_ceilings(found.ceilings);
  fmt::print("\n");
  print_surroundings(found);
  return kExitOk;
}

}  // namespace

Command doctor_command() {
  const auto options = std::make_shared<DoctorOptions>();
  std::vector<Option> all{backend_option(options->backend),
                          {.name = "--seconds",
                           .value = &options->seconds,
                           .what = "Time to measure per thread count",
                           .range = {{0.05, 600}}},
                          {.name = "--threads",
                           .value = &options->thread_count,
                           .what = "Threads to measure with besides one",
                           .range = {{1, 1024}},
                           .default_text = "all cores"},
                          {"--plan", &options->plan,
                           "Say whether this file of 'thresher tune' is used here, or why not"},
                          json_flag(options->json),
                          {.name = "--tasks",
                           .value = &options->task_count,
                           .what = "With --on slurm: so many empty tasks, to see how fast they go",
                           .range = {{1, 100000}},
                           .default_text = "one that looks at its node"}};
  for (Option& one : cluster_options(options->cluster)) all.push_back(std::move(one));
  return {.name = "doctor",
          .what = "Say what this machine has, what it can do and how quiet it is",
          .options = all,
          .run = [options] { return run_doctor(*options); }};
}

}  // namespace thresher::cli
