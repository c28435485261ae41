// SPDX-License-Identifier: Apache-2.0
// thresher pitch check: would these pitches be let into a round, and if not, what is missing?
#include "tank/pitch/pitch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/backend_option.hpp"
#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/interruption.hpp"
#include "cli/ledger_path.hpp"
#include "cli/memory_check.hpp"
#include "cli/pitch_shipped.hpp"
#include "cli/presence.hpp"
#include "cli/progress.hpp"
#include "cli/table.hpp"
#include "referee/contestant/program.hpp"
#include "referee/match.hpp"
#include "tank/pitch/constraint.hpp"
#include "tank/season/season.hpp"

namespace thresher::cli {
namespace {

struct PitchOptions {
  std::vector<std::string> files;
  std::string backend;  // of the season that is asked about; empty: the pitch's own
  bool run = false;
  MatchOptions match;
  bool json = false;
};

struct CheckedPitch {
  std::string file;
  std::vector<std::string> faults;
  std::optional<Pitch> pitch;  // without faults; its contestant is the one that would run
  std::optional<Veto> veto;
  std::optional<Verdict> verdict;  // with --run

  bool ok() const {
    return pitch && !veto && (!verdict || verdict->kind == VerdictKind::kAccepted);
  }
};

std::vector<std::string> faults_of(const std::string& file) {
  try {
    return pitch_file_faults(file);
  } catch (const Error& error) {  // it cannot be read
    return {error.what()};
  }
}

// What a season on `backend` would say of a pitch for another one; empty: any season.
std::optional<Veto> veto_by_backend(const Pitch& pitch, const std::string& backend) {
  if (backend.empty() || pitch.backend == backend) return std::nullopt;
  return Veto{"backend", fmt::format("a season on backend {} cannot play it: the pitch needs {}",
                                     backend, pitch.backend)};
}

Verdict check_by_running(const Pitch& pitch, const Suite& suite, const PitchOptions& options) {
  check_match_fits(suite);
  const Backend& backend = resolve_backend(pitch.backend);  // or says what this machine lacks
  Progress progress(3);
  MatchOptions match = options.match;
  match.gpu = engine_options(backend);
  match.confinement.hidden = hidden_from_contestants();
  match.progress = [&](const std::string& step) { progress.begin_step(step); };
  Verdict verdict = check_contestant(pitch.contestant, suite, match);
  progress.clear();
  return verdict;
}

// Against the baseline, which is the champion of a season that has not begun.
CheckedPitch check_file(const std::string& file, const PitchOptions& options) {
  CheckedPitch checked{.file = file, .faults = faults_of(file)};
  if (!checked.faults.empty()) return checked;
  Pitch pitch = load_pitch(file);
  const Suite suite = load_suite(pitch.suite);
  if (const Backend* backend = find_backend(pitch.backend)) {
    pitch.contestant = contestant_against(pitch, baseline(*backend));
  }
  // No fault of the file, which may be right on another machine: a season asks when it builds.
  if (std::string why = referee::why_no_program(pitch.contestant, std::getenv("PATH"));
      !why.empty()) {
    checked.faults.push_back(fmt::format("{}: {}", file, why));
    return checked;
  }
  const std::string note = referee::passed_over_program(pitch.contestant, std::getenv("PATH"));
  if (!note.empty()) fmt::print(stderr, "thresher: {}: {}\n", file, note);
  checked.veto = veto_by_backend(pitch, options.backend);
  if (!checked.veto) {
    checked.veto = find_veto(pitch, builtin_constraints(), {.suite = suite.name});
  }
  if (options.run && !checked.veto) {
    checked.verdict = check_by_running(pitch, suite, options);
  }
  checked.pitch = std::move(pitch);
  return checked;
}

std::string describe(const Claim& claim) {
  if (claim.low == claim.high) return fmt::format("{:.2f}x", claim.value);
  return fmt::format("{:.2f}x, from {:.2f}x to {:.2f}x", claim.value, claim.low, claim.high);
}

std::string describe_contestant(const Pitch& pitch) {
  if (!pitch.knobs.empty()) {
    std::string knobs;
    for (const auto& [knob, value] : pitch.knobs) {
      knobs += fmt::format("{}{} = {}", knobs.empty() ? "" : ", ", knob, value);
    }
    return "the champion's variant with " + knobs;
  }
  const Contestant& contestant = pitch.contestant;
  switch (contestant.kind) {
    case ContestantKind::kLibrary:
    case ContestantKind::kCuda:
      return contestant.source.string();
    case ContestantKind::kCommand:
      return fmt::to_string(fmt::join(contestant.command, " "));
    case ContestantKind::kVariant:
      break;
  }
  return contestant.variant;
}

std::string on_one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

void print_pitch(const CheckedPitch& checked) {
  const Pitch& pitch = *checked.pitch;
  fmt::print("{}: {}\n", checked.file, checked.ok() ? "a complete pitch" : "would not be let in");
  Table table({{""}, {""}});
  table.add_row({"  pitch", fmt::format("{}: {}", pitch.name, pitch.title)});
  table.add_row({"  claims", fmt::format("{} on suite {}, backend {}", describe(pitch.claim),
                                         pitch.suite, pitch.backend)});
  for (const auto& [problem, claim] : pitch.claim_by_problem) {
    table.add_row({"", fmt::format("{} on {}", describe(claim), problem)});
  }
  table.add_row({"  runs", describe_contestant(pitch)});
  table.add_row({"  because", on_one_line(pitch.mechanism)});
  if (checked.veto) {
    table.add_row(
        {"  veto",
         Cell(fmt::format("{}: {}", checked.veto->constraint, checked.veto->reason), Tone::kBad)});
  }
  if (checked.verdict) {
    const bool right = checked.verdict->kind == VerdictKind::kAccepted;
    table.add_row(
        {"  referee", right ? Cell(checked.verdict->reason, Tone::kGood)
                            : Cell(fmt::format("{} ({}): {}", to_string(checked.verdict->kind),
                                               checked.verdict->check, checked.verdict->reason),
                                   Tone::kBad)});
  }
  print(table);
}

void print_checked(const CheckedPitch& checked) {
  if (checked.pitch) return print_pitch(checked);
  fmt::print("{}: {} {}\n", checked.file, checked.faults.size(),
             checked.faults.size() == 1 ? "fault" : "faults");
  for (const std::string& fault : checked.faults) fmt::print("  {}\n", fault);
}

nlohmann::json to_json(const CheckedPitch& checked) {
  nlohmann::json object = {{"file", checked.file}, {"ok", checked.ok()}, {"faults", checked.faults},
                           {"pitch", nullptr},     {"veto", nullptr},    {"verdict", nullptr}};
  if (checked.pitch) object["pitch"] = pitch_entry(*checked.pitch);
  if (checked.veto) {
    object["veto"] = {{"constraint", checked.veto->constraint}, {"reason", checked.veto->reason}};
  }
  if (checked.verdict) {
    object["verdict"] = {{"kind", to_string(checked.verdict->kind)},
                         {"check", checked.verdict->check},
                         {"reason", checked.verdict->reason}};
  }
  return object;
}

// Folders stand for the pitches in them, as they do for a season.
std::vector<std::string> all_files(const std::vector<std::string>& arguments) {
  std::vector<std::string> files;
  for (const std::string& argument : arguments) {
    std::error_code error;
    if (!std::filesystem::is_directory(argument, error)) {
      files.push_back(argument);
      continue;
    }
    const std::vector<std::filesystem::path> found = pitch_files_in(argument);
    if (found.empty()) throw UsageError(fmt::format("there is no pitch in folder '{}'", argument));
    for (const std::filesystem::path& file : found) files.push_back(file.string());
  }
  return files;
}

int run_check(const PitchOptions& options) {
  const Interruption interruption("a check keeps nothing; the same command starts it anew");
  const auto presence = options.run ? std::make_unique<Presence>("pitch check") : nullptr;
  nlohmann::json list = nlohmann::json::array();
  bool all_ok = true;
  for (const std::string& file : all_files(options.files)) {
    const CheckedPitch checked = check_file(file, options);
    all_ok = all_ok && checked.ok();
    if (options.json) {
      list.push_back(to_json(checked));
    } else {
      print_checked(checked);
    }
  }
  if (options.json) fmt::print("{}\n", nlohmann::json{{"pitches", std::move(list)}}.dump());
  return all_ok ? kExitOk : kExitFailure;
}

}  // namespace

Command pitch_command() {
  const auto options = std::make_shared<PitchOptions>();
  Option backend = backend_option(options->backend);
  backend.default_text = "each pitch's own";
  const Command check{
      .name = "check",
      .what =
          "Say what a pitch claims and runs, or what it lacks; exit code 1 if it lacks anything",
      .options = {{.name = "files",
                   .value = &options->files,
                   .what = "Pitch files or folders of them",
                   .required = true},
                  backend,
                  {"--run", &options->run, "Also build it, run it and check that it is right"},
                  {.name = "--call-seconds",
                   .value = &options->match.call_timeout_seconds,
                   .what = "With --run: longest time of one call",
                   .range = {{0.01, 3600}}},
                  {.name = "--seconds",
                   .value = &options->match.seconds_max,
                   .what = "With --run: longest time per pitch",
                   .range = {{0.1, 86400}}},
                  json_flag(options->json)},
      .run = [options] { return run_check(*options); }};
  return {.name = "pitch",
          .what = "Pitch files (docs/pitches.md)",
          .commands = {check, pitch_list_command(), pitch_show_command()}};
}

}  // namespace thresher::cli
