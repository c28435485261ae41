// SPDX-License-Identifier: Apache-2.0
#include "engine/plan_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>

#include "backend/backend.hpp"
#include "control.hpp"
#include "gemm/extent_faults.hpp"
#include "thresher/error.hpp"
#include "thresher/thresher.h"
#include "write_all.hpp"

namespace thresher {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kFormat = 3;
constexpr int kFormatMin = 2;
constexpr std::uintmax_t kBytesMax = 16 << 20;
constexpr double kTokensRatioMax = 2;

bool is_count(const Json& value) {
  constexpr std::uint64_t kMax = std::uint64_t{1} << 40;
  return value.is_number_unsigned() && value.get<std::uint64_t>() <= kMax;
}

// A field of the file, or an Error that says where it should be.
class Field {
 public:
  Field(const Json& object, std::string place) : object_(object), place_(std::move(place)) {
    if (!object.is_object()) throw Error(fmt::format("{} is not an object", place_));
  }

  const Json& at(const char* name) const {
    const auto found = object_.find(name);
    if (found == object_.end()) throw Error(fmt::format("{} has no '{}'", place_, name));
    return *found;
  }
  std::string text(const char* name) const {
    const Json& value = at(name);
    if (!value.is_string()) throw Error(fmt::format("{}: '{}' is not a text", place_, name));
    const std::string text = value;
    if (!has_control(text)) return text;
    throw Error(
        fmt::format("{}: '{}' has a control character; one line of text is allowed", place_, name));
  }
  bool has(const char* name) const { return object_.contains(name); }
  std::int64_t count(const char* name) const {
    const Json& value = at(name);
    if (is_count(value)) return value;
    throw Error(fmt::format("{}: '{}' is not a count from 0 to 2^40", place_, name));
  }
  double ratio(const char* name) const {
    const Json& value = at(name);
    if (value.is_number() && value.get<double>() > 0 && std::isfinite(value.get<double>())) {
      return value;
    }
    throw Error(fmt::format("{}: '{}' is not a number above 0", place_, name));
  }
  bool flag(const char* name) const {
    const Json& value = at(name);
    if (!value.is_boolean())
      throw Error(fmt::format("{}: '{}' is not true or false", place_, name));
    return value;
  }

 private:
  const Json& object_;
  const std::string place_;
};

PlanClass class_from(const Field& field) {
  return {.op = op_from_string(field.text("op")),
          .activations = activations_from_string(field.text("activations")),
          .groups = field.count("groups"),
          .n = field.count("n"),
          .k = field.count("k")};
}

// Every item of a list, or an Error that says which one is wrong.
template <class Item>
std::vector<Item> items_from(const Json& list, const char* name, const char* what,
                             Item (*item_from)(const Json&)) {
  if (!list.is_array()) throw Error(fmt::format("'{}' is not a list", name));
  std::vector<Item> items;
  for (const Json& json : list) {
    try {
      items.push_back(item_from(json));
    } catch (const Error& fault) {
      throw Error(fmt::format("{} {}: {}", what, items.size(), fault.what()));
    }
  }
  return items;
}

// A moment is [seconds, tried, speedup].
PlanStory::Moment moment_from(const Json& json) {
  const bool is_triple = json.is_array() && json.size() == 3 && json[0].is_number() &&
                         json[1].is_number_unsigned() && json[2].is_number();
  if (!is_triple) throw Error("it is not three numbers");
  return {.seconds = json[0], .tried = json[1], .speedup = json[2]};
}

std::vector<PlanStory::Moment> trace_from(const Field& field) {
  return items_from(field.at("trace"), "trace", "moment", moment_from);
}

PlanStory story_from(const Json& json) {
  const Field field(json, "its story");
  return {.space = field.count("space"),
          .tried = field.count("tried"),
          .choice_us = field.ratio("choice_us"),
          .at_random = field.flag("at_random"),
          .trace = trace_from(field)};
}

std::int64_t rows_from(const Json& json) {
  if (!is_count(json)) throw Error("they are not a count from 0 to 2^40");
  return json;
}

// Nothing where the file does not say.
std::optional<PlanMeasured> measured_from(const Field& field) {
  if (!field.has("rows")) return std::nullopt;
  PlanMeasured measured{.output = output_from_string(field.text("output")),
                        .rows = items_from(field.at("rows"), "rows", "rows of group", rows_from)};
  const std::int64_t tokens = field.count("tokens");
  const auto count = static_cast<std::int64_t>(measured.rows.size());
  std::int64_t left = tokens;
  for (const std::int64_t rows : measured.rows) left = rows <= left ? left - rows : -1;
  if (count == field.count("groups") && left == 0) return measured;
  throw Error(fmt::format("it: 'rows' are not those of {} groups with {} tokens together",
                          field.count("groups"), tokens));
}

PlanEntry entry_from(const Json& json) {
  const Field field(json, "it");
  return {.of = class_from(field),
          .tokens = field.count("tokens"),
          .measured = measured_from(field),
          .variant = field.text("variant"),
          .choice = field.text("choice"),
          .better = field.flag("better"),
          .speedup = field.ratio("speedup"),
          .low = field.ratio("low"),
          .high = field.ratio("high"),
          .reason = field.text("reason"),
          .story = json.contains("story") ? std::optional(story_from(json["story"]))
                                          : std::optional<PlanStory>()};
}

PlanSearch search_from(const Json& json) {
  const Field field(json, "it");
  PlanSearch search{.of = class_from(field),
                    .tokens = field.count("tokens"),
                    .seconds = field.ratio("seconds"),
                    .trials = {}};
  if (field.has("trace")) search.trace = trace_from(field);
  const Json& trials = field.at("trials");
  if (!trials.is_object()) throw Error("it: 'trials' is not an object");
  for (const auto& [variant, speedup] : trials.items()) {
    if (has_control(variant)) throw Error("it: a variant has a control character in its name");
    const bool fits = speedup.is_number() && speedup.get<double>() >= 0;
    if (!fits || !std::isfinite(speedup.get<double>())) {
      throw Error(fmt::format("it: the speedup of '{}' is not a number from 0 on", variant));
    }
    search.trials.push_back({variant, speedup});
  }
  return search;
}

MachinePlan machine_from(const Json& json) {
  const Field field(json, "it");
  const Field machine(field.at("machine"), "'machine'");
  MachinePlan plan{
      .fingerprint = {.backend = machine.text("backend"),
                      .device = machine.text("device"),
                      .machine_class = machine.has("class") ? machine.text("class") : "",
                      .thread_count = machine.count("threads"),
                      .version = machine.text("version")},
      .entries = items_from(field.at("entries"), "entries", "entry", entry_from)};
  if (json.contains("unfinished")) {
    plan.unfinished =
        items_from(json["unfinished"], "unfinished", "unfinished search", search_from);
  }
  return plan;
}

Json class_to_json(const PlanClass& of, std::int64_t tokens) {
  return {{"op", to_string(of.op)},
          {"activations", to_string(of.activations)},
          {"groups", of.groups},
          {"n", of.n},
          {"k", of.k},
          {"tokens", tokens}};
}

Json trace_to_json(const std::vector<PlanStory::Moment>& trace) {
  Json json = Json::array();
  for (const PlanStory::Moment& moment : trace) {
    json.push_back({moment.seconds, moment.tried, moment.speedup});
  }
  return json;
}

Json story_to_json(const PlanStory& story) {
  return {{"space", story.space},
          {"tried", story.tried},
          {"choice_us", story.choice_us},
          {"at_random", story.at_random},
          {"trace", trace_to_json(story.trace)}};
}

Json to_json_entry(const PlanEntry& entry) {
  Json json = class_to_json(entry.of, entry.tokens);
  if (entry.measured) {
    json["output"] = to_string(entry.measured->output);
    json["rows"] = entry.measured->rows;
  }
  json.update({{"variant", entry.variant},
               {"choice", entry.choice},
               {"better", entry.better},
               {"speedup", entry.speedup},
               {"low", entry.low},
               {"high", entry.high},
               {"reason", entry.reason}});
  if (entry.story) json["story"] = story_to_json(*entry.story);
  return json;
}

Json to_json_search(const PlanSearch& search) {
  Json json = class_to_json(search.of, search.tokens);
  json["seconds"] = search.seconds;
  json["trials"] = Json::object();
  for (const PlanSearch::Trial& trial : search.trials)
    json["trials"][trial.variant] = trial.speedup;
  json["trace"] = trace_to_json(search.trace);
  return json;
}

Json to_json_fingerprint(const PlanFingerprint& machine) {
  Json json{{"backend", machine.backend}, {"device", machine.device}};
  if (!machine.machine_class.empty()) json["class"] = machine.machine_class;
  json.update({{"threads", machine.thread_count}, {"version", machine.version}});
  return json;
}

Json to_json_machine(const MachinePlan& plan) {
  Json json{{"machine", to_json_fingerprint(plan.fingerprint)}, {"entries", Json::array()}};
  for (const PlanEntry& entry : plan.entries) json["entries"].push_back(to_json_entry(entry));
  for (const PlanSearch& one : plan.unfinished) json["unfinished"].push_back(to_json_search(one));
  return json;
}

// What a device says of itself, where its row has several and speaks of the first.
std::string told(const backend::Device& device, std::string_view name, std::string (*of_row)()) {
  for (const backend::Fact& fact : device.facts()) {
    const auto* text = std::get_if<std::string>(&fact.value);
    if (fact.name == name && text != nullptr) return *text;
  }
  return of_row();
}

[[noreturn]] void refuse_to_write(const std::filesystem::path& path) {
  throw Error(
      fmt::format("cannot write {}: {}", path.string(), std::generic_category().message(errno)));
}

// A plan is written beside its place, and put there whole.
std::filesystem::path scratch_of(const std::filesystem::path& path) {
  std::filesystem::path scratch = path;
  return scratch += fmt::format(".{}", getpid());
}

int open_scratch(const std::filesystem::path& path, const std::filesystem::path& scratch) {
  const int fd = ::open(scratch.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) refuse_to_write(path);
  return fd;
}

}  // namespace

PlanFingerprint fingerprint_of(const backend::Device& device) {
  const Backend& row = device.row();
  return {.backend = std::string(row.name),
          .device = told(device, "device", row.device_name),
          .machine_class = told(device, "class", row.machine_class),
          .thread_count = device.machine().thread_count,
          .version = thresher_version()};
}

std::string to_string(const PlanFingerprint& machine) {
  const std::string& name = machine.machine_class.empty() ? machine.device : machine.machine_class;
  if (machine.thread_count == 0) return name;
  return fmt::format("{}, {} thread{}", name, machine.thread_count,
                     machine.thread_count == 1 ? "" : "s");
}

std::optional<PlanClass> plan_class(const Problem& problem) {
  if (problem.groups.empty()) return std::nullopt;
  const Group& first = problem.groups.front();
  for (const Group& group : problem.groups) {
    if (group.n != first.n || group.k != first.k) return std::nullopt;
  }
  return PlanClass{problem.op, problem.activations,
                   static_cast<std::int64_t>(problem.groups.size()), first.n, first.k};
}

PlanFile plan_file_from_json(std::string_view text) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) throw Error("it is not JSON");
  const Field field(json, "the file");
  const std::int64_t format = field.count("thresher_plan");
  if (format < kFormatMin || format > kFormat) {
    throw Error(fmt::format("its format is {}, and this program reads {} and {}", format,
                            kFormatMin, kFormat));
  }
  return {items_from(field.at("machines"), "machines", "machine", machine_from)};
}

PlanFile read_plan_file(const std::filesystem::path& path) {
  std::error_code error;
  const std::uintmax_t bytes = std::filesystem::file_size(path, error);
  if (error) throw Error(fmt::format("cannot read {}: {}", path.string(), error.message()));
  if (bytes > kBytesMax) {
    throw Error(fmt::format("{} has {} bytes; no plan is that long", path.string(), bytes));
  }
  std::ifstream stream(path, std::ios::binary);
  std::string text(bytes, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(bytes));
  if (!stream) throw Error(fmt::format("cannot read {}", path.string()));
  try {
    return plan_file_from_json(text);
  } catch (const Error& fault) {
    throw Error(fmt::format("{}: {}", path.string(), fault.what()));
  }
}

std::string to_json(const PlanFile& file) {
  Json json{{"thresher_plan", kFormat}, {"machines", Json::array()}};
  for (const MachinePlan& plan : file.machines) json["machines"].push_back(to_json_machine(plan));
  return json.dump(2) + "\n";
}

void check_plan_place(const std::filesystem::path& path) {
  const std::filesystem::path scratch = scratch_of(path);
  ::close(open_scratch(path, scratch));
  ::unlink(scratch.c_str());
}

void write_plan_file(const std::filesystem::path& path, const PlanFile& file) {
  const std::filesystem::path scratch = scratch_of(path);
  const int fd = open_scratch(path, scratch);
  const bool written = write_all(fd, to_json(file)) && ::fsync(fd) == 0;
  const bool closed = ::close(fd) == 0;
  if (written && closed && std::rename(scratch.c_str(), path.c_str()) == 0) return;
  const int error = errno;
  ::unlink(scratch.c_str());
  errno = error;
  refuse_to_write(path);
}

PlanMeasured measured_of(const Problem& problem) {
  PlanMeasured measured{.output = problem.output, .rows = {}};
  for (const Group& group : problem.groups) measured.rows.push_back(group.m);
  return measured;
}

Problem problem_of(const PlanEntry& entry) {
  if (const std::string fault = fault_of_group_count(entry.of.groups); !fault.empty()) {
    throw Error(fault);
  }
  Problem problem{.name = fmt::format("{}_{}_g{}_n{}_k{}_t{}", to_string(entry.of.op),
                                      to_string(entry.of.activations), entry.of.groups, entry.of.n,
                                      entry.of.k, entry.tokens),
                  .op = entry.of.op,
                  .activations = entry.of.activations};
  if (entry.measured) problem.output = entry.measured->output;
  for (std::int64_t g = 0; g < entry.of.groups; ++g) {
    const std::int64_t even =
        entry.tokens / entry.of.groups + (g < entry.tokens % entry.of.groups ? 1 : 0);
    const std::int64_t rows =
        entry.measured ? entry.measured->rows[static_cast<std::size_t>(g)] : even;
    problem.groups.push_back({.m = rows, .n = entry.of.n, .k = entry.of.k});
  }
  check(problem);
  return problem;
}

std::string why_not_entry(const PlanEntry& entry, const backend::Device& device) {
  try {
    const Backend& row = device.row();
    row.turned(entry.variant, {});
    const Problem problem = problem_of(entry);
    if (!entry.measured) return {};
    const std::string choice = row.choose(problem, entry.tokens, device.machine());
    if (choice == entry.choice) return {};
    return fmt::format("it was compared with {}, and the engine's choice is {} by now",
                       entry.choice, choice);
  } catch (const Error& fault) {
    return fault.what();
  }
}

const PlanEntry* find_entry(const MachinePlan& plan, const Problem& problem, std::int64_t tokens) {
  const std::optional<PlanClass> wanted = plan_class(problem);
  if (!wanted) return nullptr;
  const PlanEntry* nearest = nullptr;
  double least = kTokensRatioMax;
  for (const PlanEntry& entry : plan.entries) {
    if (entry.of != *wanted || entry.tokens == 0 || tokens == 0) continue;
    // Equal ratios are equal doubles, which their logarithms are not.
    const double ratio = static_cast<double>(std::max(tokens, entry.tokens)) /
                         static_cast<double>(std::min(tokens, entry.tokens));
    if (ratio > least) continue;
    const bool is_tie = nearest != nullptr && ratio == least;
    if (is_tie && entry.tokens >= nearest->tokens) continue;
    nearest = &entry;
    least = ratio;
  }
  return nearest;
}

std::string why_foreign(const PlanFingerprint& plan, const PlanFingerprint& here) {
  const auto differs = [](const char* what, const auto& theirs, const auto& ours) {
    return fmt::format("it is of {} {}, and this is {}", what, theirs, ours);
  };
  if (plan.backend != here.backend) return differs("backend", plan.backend, here.backend);
  if (plan.device != here.device) return differs("device", plan.device, here.device);
  if (!plan.machine_class.empty() && plan.machine_class != here.machine_class) {
    return differs("class", plan.machine_class, here.machine_class);
  }
  if (plan.thread_count != here.thread_count) {
    return differs("thread count", plan.thread_count, here.thread_count);
  }
  if (plan.version != here.version) return differs("version", plan.version, here.version);
  return {};
}

const MachinePlan* find_machine(const PlanFile& file, const PlanFingerprint& here) {
  const MachinePlan* of_any_class = nullptr;
  for (const MachinePlan& plan : file.machines) {
    if (plan.fingerprint == here) return &plan;
    if (why_foreign(plan.fingerprint, here).empty()) of_any_class = &plan;
  }
  return of_any_class;
}

MachinePlan& machine_in(PlanFile& file, const PlanFingerprint& here) {
  if (const MachinePlan* found = find_machine(file, here); found != nullptr) {
    return file.machines[static_cast<std::size_t>(found - file.machines.data())];
  }
  return file.machines.emplace_back(MachinePlan{.fingerprint = here});
}

std::string why_foreign(const PlanFile& file, const PlanFingerprint& here) {
  std::string why;
  for (const MachinePlan& plan : file.machines) {
    why += (why.empty() ? "" : "; ") + why_foreign(plan.fingerprint, here);
  }
  return why.empty() ? "it is of no machine" : why;
}

}  // namespace thresher
