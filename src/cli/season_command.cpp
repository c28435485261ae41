// SPDX-License-Identifier: Apache-2.0
#include "cli/season_command.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <random>

#include "cli/backend_option.hpp"
#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/interruption.hpp"
#include "cli/ledger_path.hpp"
#include "cli/machine.hpp"
#include "cli/memory_check.hpp"
#include "cli/presence.hpp"
#include "cli/scoreboard_report.hpp"
#include "cli/season_start.hpp"
#include "cli/selection.hpp"
#include "cli/terminal.hpp"
#include "cpu/features.hpp"
#include "referee/statistics/json.hpp"

namespace thresher::cli {
namespace {

namespace fs = std::filesystem;

constexpr double kPilotShare = 0.25;  // of a season's time
constexpr std::size_t kEventWidth = 99;
// What a season is played on when nobody says: milliseconds each on two cores, or what a GPU is
// for.

// One line on stderr that changes on a terminal; elsewhere a line now and then.
class Ticker {
 public:
  void show(const std::string& what) {
    const auto now = std::chrono::steady_clock::now();
    if (!on_terminal_ && now < next_) return;
    next_ = now + std::chrono::seconds(2);
    const std::string line = what.substr(0, kEventWidth);
    fmt::print(stderr, fmt::runtime(on_terminal_ ? "\r\033[K{}" : "{}\n"), line);
    std::fflush(stderr);
  }
  ~Ticker() {
    if (on_terminal_) fmt::print(stderr, "\r\033[K");
  }

 private:
  const bool on_terminal_ = is_terminal(stderr);
  std::chrono::steady_clock::time_point next_;
};

std::vector<fs::path> pitch_files(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".toml") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

// The pitches that ship with the project lie in its checkout: here, or above the binary.
std::vector<fs::path> shipped_pitches(const Backend& backend) {
  const fs::path folder = backend.pitch_folder;
  std::error_code error;
  std::vector<fs::path> places{fs::current_path(error)};
  for (fs::path place = fs::read_symlink("/proc/self/exe", error).parent_path();
       place.has_relative_path(); place = place.parent_path()) {
    places.push_back(place);
  }
  for (const fs::path& place : places) {
    std::vector<fs::path> files = pitch_files(place / folder);
    if (!files.empty()) return files;
  }
  throw UsageError(fmt::format("there is no folder '{}' here; name pitch files or their folder",
                               folder.string()));
}

std::vector<Pitch> load_pitches(const std::vector<fs::path>& arguments) {
  std::vector<Pitch> pitches;
  for (const fs::path& argument : arguments) {
    if (!fs::is_directory(argument)) {
      pitches.push_back(load_pitch(argument));
      continue;
    }
    for (const fs::path& file : pitch_files(argument)) pitches.push_back(load_pitch(file));
  }
  return pitches;
}

// "2026-04-01-a", then b, c ...
std::string new_name(const Ledger& ledger) {
  const std::vector<std::string> taken = ledger.seasons();
  const std::string day = fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::time(nullptr)));
  for (std::size_t i = 0;; ++i) {
    const std::string name =
        fmt::format("{}-{}", day, std::string(i / 26 + 1, static_cast<char>('a' + i % 26)));
    if (std::find(taken.begin(), taken.end(), name) == taken.end()) return name;
  }
}

std::string season_name(const SeasonOptions& options, const Ledger& ledger) {
  if (!options.season.empty()) return options.season;
  if (!options.resume) return new_name(ledger);
  const std::string open = unfinished_season(ledger);
  if (open.empty()) throw UsageError("no season is unfinished; start one without --resume");
  return open;
}

// A short season on two cores has time for short matches only; the verdict may be "unclear" then.
void set_matches(SeasonRules& rules, const SeasonOptions& options) {
  rules.match.seconds_max = options.match_seconds;
  rules.match.gpu = gpu_engine_options();
  rules.match.blocks_per_problem = 2;
  rules.match.analysis = {.heats_min = 4, .heats_max = 12};
  rules.pilot = rules.match;
  rules.pilot.seconds_max =
      std::min(backend_named(rules.backend).pilot_seconds, options.match_seconds);
  rules.pilot.blocks_per_problem = 1;
  rules.pilot.analysis = {.heats_min = 2, .heats_max = 2};
  rules.pilot_seconds_max = kPilotShare * options.seconds;
}

// What the season is about says where it is played: the pitches that were named, if they agree, or
// the champion.
const Backend& new_backend(const SeasonOptions& options, const std::vector<Pitch>& pitches) {
  if (!options.champion.empty()) return resolve_backend(options.backend, {options.champion});
  std::string word = options.backend;
  const bool agree = std::all_of(pitches.begin(), pitches.end(), [&](const Pitch& pitch) {
    return pitch.backend == pitches.front().backend;
  });
  if (word.empty() && agree && !pitches.empty() &&
      find_backend(pitches.front().backend) != nullptr) {
    word = pitches.front().backend;
  }
  return resolve_backend(word);
}

Contestant starting_champion(const SeasonOptions& options, const Backend& backend) {
  if (options.champion.empty()) return baseline(backend);
  check_variant_names({options.champion});
  return variant_named(options.champion);
}

std::string suite_argument(const SeasonOptions& options, const Backend& backend) {
  if (!options.suite.empty()) return options.suite;
  return std::string(backend.season_suite);
}

void start_here(const SeasonOptions& options, SeasonSetup& setup) {
  SeasonRules& rules = setup.rules;
  const Backend& backend = new_backend(options, setup.pitches);
  rules.backend = backend.name;
  const std::string suite = suite_argument(options, backend);
  rules.suite = load_named_suite(suite);
  check_match_fits(rules.suite);
  rules.rubric = rubric_by_name(options.rubric);
  rules.match.thread_count =
      options.thread_count > 0 ? options.thread_count : cpu::usable_core_count();
  setup.champion = starting_champion(options, backend);
  setup.seed = options.seed != 0 ? options.seed : std::random_device{}();
  setup.environment = {{"version", THRESHER_VERSION}, {"suite_argument", suite}};
  measure_device(setup);
}

// The rules of a season are those it was started with.
void go_on(const SeasonOptions& options, const SeasonRecord& record, SeasonSetup& setup) {
  const nlohmann::json& start = record.start;
  const std::string backend = start.at("backend");
  if (!options.backend.empty() && options.backend != backend) {
    throw UsageError(fmt::format("season '{}' is played on backend {}; leave --backend out",
                                 setup.rules.season, backend));
  }
  setup.rules.backend = resolve_backend(backend).name;
  setup.rules.suite =
      load_named_suite(start.at("environment").value("suite_argument", start.at("suite")));
  setup.rules.rubric = start.at("rubric").get<Rubric>();
  setup.rules.terms = start.at("terms").get<DealTerms>();
  setup.rules.match.thread_count = start.at("threads");
}

}  // namespace

std::vector<Option> season_options(SeasonOptions& options) {
  Option backend = backend_option(options.backend);
  backend.default_text = "that of the pitches named, else gpu where there is a usable one";
  return {{"--votes", &options.votes, "Ballots of people or agents, a .toml file each"},
          {.name = "--suite",
           .value = &options.suite,
           .what = "Suite name or .toml file",
           .default_text = fmt::format("{}, on a GPU {}", backend_named("cpu").season_suite,
                                       backend_named("gpu").season_suite)},
          backend,
          {.name = "--season",
           .value = &options.season,
           .what = "Its name; one that is unfinished goes on",
           .default_text = "today's date and a letter"},
          {.name = "--rubric",
           .value = &options.rubric,
           .what = "What scores weigh",
           .words = rubric_names()},
          {.name = "--champion",
           .value = &options.champion,
           .what = "The variant that holds the title at first",
           .default_text = "a baseline without any of the ideas"},
          {.name = "--seconds",
           .value = &options.seconds,
           .what = "Time for all of it",
           .range = {{1, 1e7}}},
          {.name = "--match-seconds",
           .value = &options.match_seconds,
           .what = "Longest time of one match",
           .range = {{1, 86400}}},
          contestant_threads_option(options.thread_count),
          {.name = "--seed",
           .value = &options.seed,
           .what = "Of the draw of control picks",
           .default_text = "drawn from the system"},
          ledger_option(options.ledger),
          json_flag(options.json)};
}

SeasonSetup make_setup(const SeasonOptions& options, const Ledger& ledger) {
  SeasonSetup setup;
  setup.rules.season = season_name(options, ledger);
  setup.pitches = load_pitches(options.pitches);
  const SeasonRecord record = read_season(ledger, setup.rules.season);
  if (record.has_started) {
    go_on(options, record, setup);
  } else {
    if (options.resume) {
      throw UsageError(fmt::format("there is no season '{}' to go on with", options.season));
    }
    start_here(options, setup);
  }
  const Backend& backend = backend_named(setup.rules.backend);
  setup.rules.device = backend.device_name();
  if (record.pitches.empty() && options.pitches.empty()) {
    setup.pitches = load_pitches(shipped_pitches(backend));
  }
  for (const fs::path& file : options.votes) {
    for (Ballot& ballot : load_votes(file, setup.rules.rubric)) {
      setup.votes.push_back(std::move(ballot));
    }
  }
  set_matches(setup.rules, options);
  setup.seconds_max = options.seconds;
  return setup;
}

// Every step is in the ledger before the next begins, so nothing but the match at hand is lost.
std::string how_to_go_on(const SeasonOptions& options, const SeasonSetup& setup) {
  std::string command = setup.stays_open ? "thresher round" : "thresher season --resume";
  command += fmt::format(" --season {} --ledger {} --seconds {} --match-seconds {}",
                         shell_quoted(setup.rules.season), shell_quoted(options.ledger.string()),
                         options.seconds, options.match_seconds);
  if (setup.stays_open) {
    for (const fs::path& pitch : options.pitches) command += " " + shell_quoted(pitch.string());
  }
  return fmt::format("season '{}' is kept as far as it was played, and this goes on with it: {}",
                     setup.rules.season, command);
}

int play(const SeasonOptions& options, Ledger& ledger, const SeasonSetup& setup) {
  const Interruption interruption(how_to_go_on(options, setup));
  const Presence presence(setup.stays_open ? "round" : "season");
  const auto begin = std::chrono::steady_clock::now();
  {
    Ticker ticker;
    const SeasonTools tools{
        .judge = judge,
        .hash = contestant_hash,
        .research =
            [&](const Contestant& champion) {
              return findings_on(champion, setup.rules,
                                 read_season(ledger, setup.rules.season).rates);
            },
        .seconds_now =
            [&] {
              return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
                  .count();
            },
        .report = [&](const std::string& what) { ticker.show(what); }};
    play_season(ledger, setup, tools);
  }
  const Scoreboard board = scoreboard(ledger, setup.rules.season);
  if (options.json) {
    fmt::print("{}\n", to_ordered_json(board).dump());
    return kExitOk;
  }
  print_scoreboard(board);
  fmt::print("\n'thresher report --season {}' makes a page of it.\n", board.season);
  return kExitOk;
}

}  // namespace thresher::cli
