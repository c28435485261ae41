// SPDX-License-Identifier: Apache-2.0
#include "cli/season_command.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <random>

#include "cli/backend_option.hpp"
#include "cli/cluster_place.hpp"
#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/contestant_threads.hpp"
#include "cli/interruption.hpp"
#include "cli/ledger_path.hpp"
#include "cli/memory_check.hpp"
#include "cli/pitch_needs.hpp"
#include "cli/scoreboard_report.hpp"
#include "cli/season_start.hpp"
#include "cli/season_summary.hpp"
#include "cli/season_ticker.hpp"
#include "cli/selection.hpp"
#include "cli/terminal.hpp"
#include "cli/terms_option.hpp"
#include "referee/statistics/json.hpp"
#include "referee/venue.hpp"
#include "tank/pitch/shipped_pitches.hpp"

namespace thresher::cli {
namespace {

namespace fs = std::filesystem;

constexpr double kPilotShare = 0.2;  // of a season's time

std::vector<fs::path> pitch_files(const fs::path& folder) {
  std::vector<fs::path> files = pitch_files_in(folder);
  if (files.empty()) {
    throw UsageError(
        fmt::format("folder '{}' has no pitches: no .toml file in it is one", folder.string()));
  }
  return files;
}

// The pitches that ship with the program are in it. They and what they run are written beside the
// ledger, where a season that goes on later finds them again.
std::vector<fs::path> shipped_files(const Backend& backend, const fs::path& ledger) {
  return write_shipped_folder(backend.pitch_folder, fs::absolute(ledger).parent_path());
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

// What this machine cannot play is said in a line and left out: it is nobody's verdict.
std::vector<Pitch> playable(std::vector<Pitch> pitches) {
  const bool had_any = !pitches.empty();
  std::erase_if(pitches, [](const Pitch& pitch) {
    const std::string missing = missing_need(pitch);
    if (missing.empty()) return false;
    fmt::print(stderr, "not played here: {}: {}\n", pitch.name, missing);
    return true;
  });
  if (had_any && pitches.empty()) {
    throw UsageError("none of the pitches can be played on this machine");
  }
  return pitches;
}

// A champion that fails in one match, as it may on a machine that is being misused, is no reason to
// lose the season: that match says nothing. One that fails again and again is.
class RefereeOfSeason {
 public:
  explicit RefereeOfSeason(SeasonTicker& ticker) : ticker_(ticker) {}

  MatchRecord operator()(Match match) {
    match.options.progress = [this](const std::string& step) { ticker_.step(step); };
    try {
      MatchRecord record = judge(match);
      failures_ = 0;
      return record;
    } catch (const Error& error) {
      if (++failures_ == kFailuresMax) throw;
      return {.verdict = {.kind = VerdictKind::kUnclear,
                          .check = kCheckOfChampion,
                          .reason = error.what()},
              .samples = match.options.earlier,
              .earlier_heat_count = static_cast<int>(match.options.earlier.heats.size()),
              .champion_hash = contestant_hash(match.champion),
              .challenger_hash = contestant_hash(match.challenger),
              .log = {error.what()}};
    }
  }

 private:
  static constexpr int kFailuresMax = 3;  // one after the other
  static constexpr const char* kCheckOfChampion = "champion";

  SeasonTicker& ticker_;
  int failures_ = 0;
};

// The one that --more is about, ended or not.
std::string last_measured_season(const Ledger& ledger) {
  std::string last;
  for (const LedgerEntry& entry : ledger.entries({}, "season")) {
    if (entry.source == "measured") last = entry.season;
  }
  return last;
}

// "2026-04-01-a", then b, c ...
std::string new_name(const std::vector<std::string>& taken) {
  const std::string day = fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::time(nullptr)));
  for (std::size_t i = 0;; ++i) {
    const std::string name =
        fmt::format("{}-{}", day, std::string(i / 26 + 1, static_cast<char>('a' + i % 26)));
    if (std::find(taken.begin(), taken.end(), name) == taken.end()) return name;
  }
}

// The ledger that is there already: a mistake in the options must not make one.
std::optional<Ledger> known_ledger(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error) ? std::optional<Ledger>(path) : std::nullopt;
}

std::string season_name(const SeasonOptions& options, const std::optional<Ledger>& ledger) {
  if (!options.season.empty()) {
    check_season_name(options.season);
    return options.season;
  }
  if (options.more_seconds > 0) {
    const std::string last = ledger ? last_measured_season(*ledger) : "";
    if (last.empty()) throw UsageError("no season has been played yet that could be given more");
    return last;
  }
  if (!options.resume) return new_name(ledger ? ledger->seasons() : std::vector<std::string>());
  const std::string open = ledger ? unfinished_season(*ledger) : "";
  if (open.empty()) throw UsageError("no season is unfinished; start one without --resume");
  return open;
}

// A short season on two cores has time for short matches only; the verdict may be "unclear" then.
void set_matches(SeasonRules& rules, const SeasonOptions& options, double seconds) {
  rules.match.seconds_max = options.match_seconds;
  rules.match.gpu = engine_options(backend_named(rules.backend));
  rules.match.confinement.hidden = hidden_from_contestants(options.ledger);
  if (options.cluster.is_remote()) {
    rules.match.confinement.hidden.push_back(spool_folder(options.cluster, options.ledger));
  }
  rules.match.blocks_per_problem = 2;
  rules.match.analysis = {.heats_min = 4, .heats_max = 16};
  rules.pilot = rules.match;
  rules.pilot.seconds_max =
      std::min(backend_named(rules.backend).pilot_seconds, options.match_seconds);
  rules.pilot.blocks_per_problem = 1;
  rules.pilot.analysis = {.heats_min = 2, .heats_max = 2};
  rules.pilot_seconds_max = kPilotShare * seconds;
}

const Backend& resolve(const SeasonOptions& options, const std::string& word,
                       const std::vector<std::string>& variants = {}) {
  return options.cluster.is_remote() ? backend_there(options.cluster, word, variants)
                                     : resolve_backend(word, variants);
}

// What the season is about says where it is played: the pitches that were named, if they agree, or
// the champion.
const Backend& new_backend(const SeasonOptions& options, const std::vector<Pitch>& pitches) {
  if (!options.champion.empty()) return resolve(options, options.backend, {options.champion});
  std::string word = options.backend;
  const bool agree = std::all_of(pitches.begin(), pitches.end(), [&](const Pitch& pitch) {
    return pitch.backend == pitches.front().backend;
  });
  if (word.empty() && agree && !pitches.empty() &&
      find_backend(pitches.front().backend) != nullptr) {
    word = pitches.front().backend;
  }
  return resolve(options, word);
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

void start(const SeasonOptions& options, SeasonSetup& setup) {
  SeasonRules& rules = setup.rules;
  const Backend& backend = new_backend(options, setup.pitches);
  rules.backend = backend.name;
  const std::string suite = suite_argument(options, backend);
  rules.suite = load_named_suite(suite);
  rules.rubric = rubric_by_name(options.rubric);
  rules.terms = terms_from(options.terms);
  setup.champion = starting_champion(options, backend);
  setup.seed = options.seed != 0 ? options.seed : std::random_device{}();
  setup.environment = {{"version", THRESHER_VERSION}, {"suite_argument", suite}};
}

void measure_here(const SeasonOptions& options, SeasonSetup& setup) {
  check_match_fits(setup.rules.suite);
  setup.rules.match.thread_count = contestant_threads(options.thread_count);
  measure_device(setup);
}

// Queueing and measuring may take a while.
void measure_there(const SeasonOptions& options, ClusterPlace& place, SeasonSetup& setup) {
  const Interruption interruption("no season has begun yet; the same command starts it anew");
  SeasonTicker ticker(setup.seconds_max);
  const std::string what = "asking a node of the cluster what it can do";
  ticker.begin(what);
  place.set_voice({.report = [&](const std::string& text) { ticker.begin(what + ": " + text); },
                   .announce = [&](const std::string& text) { ticker.announce(text); }});
  setup.rules.match.thread_count = options.thread_count;
  place.survey(setup);
  place.set_voice({});
}

// The rules of a season are those it was started with.
void go_on(const SeasonOptions& options, const SeasonRecord& record, SeasonSetup& setup) {
  const nlohmann::json& start = record.start;
  const std::string backend = start.at("backend");
  if (!options.backend.empty() && options.backend != backend) {
    throw UsageError(fmt::format("season '{}' is played on backend {}; leave --backend out",
                                 setup.rules.season, backend));
  }
  if (!options.terms.empty()) {
    throw UsageError(
        fmt::format("season '{}' is judged by the terms it was started with; leave "
                    "--terms out",
                    setup.rules.season));
  }
  setup.rules.backend = resolve(options, backend).name;
  setup.rules.suite =
      load_named_suite(start.at("environment").value("suite_argument", start.at("suite")));
  setup.rules.rubric = start.at("rubric").get<Rubric>();
  setup.rules.terms = start.at("terms").get<DealTerms>();
  setup.rules.match.thread_count = start.at("threads");
}

bool has_new(const std::vector<Pitch>& pitches, const SeasonRecord& record) {
  return std::any_of(pitches.begin(), pitches.end(), [&](const Pitch& pitch) {
    return std::none_of(record.pitches.begin(), record.pitches.end(),
                        [&](const Pitch& known) { return known.name == pitch.name; });
  });
}

// "tank_cpu, on a GPU tank_gpu"
std::string season_suites() {
  std::string text;
  for (const Backend* backend : backends()) {
    if (referee::find_venue(backend->name) == nullptr) continue;
    text += text.empty() ? backend->season_suite
                         : fmt::format(", on a {} {}", backend->title, backend->season_suite);
  }
  return text;
}

}  // namespace

std::vector<Option> season_options(SeasonOptions& options) {
  Option backend = backend_option(options.backend);
  backend.default_text = "that of the pitches named, else gpu where there is a usable one";
  std::vector<Option> all{
      {"--votes", &options.votes, "Ballots of people or agents, a .toml file each"},
      {.name = "--suite",
       .value = &options.suite,
       .what = "Suite name or .toml file",
       .default_text = season_suites()},
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
      terms_option(options.terms),
      {.name = "--seconds",
       .value = &options.seconds,
       .what = "Time for all of it",
       .range = {{1, 1e7}},
       .default_text =
           fmt::format("{}, of a season that goes on what it has left", kSeasonSeconds)},
      {.name = "--match-seconds",
       .value = &options.match_seconds,
       .what = "Longest time of one match before others get theirs",
       .range = {{1, 86400}}},
      contestant_threads_option(options.thread_count),
      {.name = "--seed",
       .value = &options.seed,
       .what = "Of the draw of control picks",
       .default_text = "drawn from the system"},
      ledger_option(options.ledger),
      json_flag(options.json)};
  for (Option& one : cluster_options(options.cluster)) all.push_back(std::move(one));
  return all;
}

SeasonSetup make_setup(const SeasonOptions& options, ClusterPlace* place) {
  check_cluster(options.cluster);
  SeasonSetup setup;
  setup.pitches = load_pitches(options.pitches);
  const std::optional<Ledger> ledger = known_ledger(options.ledger);
  setup.rules.season = season_name(options, ledger);
  if (place != nullptr) place->claim(setup.rules.season);
  const SeasonRecord record = ledger ? read_season(*ledger, setup.rules.season) : SeasonRecord();
  const bool is_new = !record.has_started;
  if (!is_new) {
    go_on(options, record, setup);
  } else {
    if (options.resume || options.more_seconds > 0) {
      throw UsageError(fmt::format("there is no season '{}' to go on with", options.season));
    }
    start(options, setup);
  }
  const Backend& backend = backend_named(setup.rules.backend);
  if (record.pitches.empty() && options.pitches.empty()) {
    setup.pitches = load_pitches(shipped_files(backend, options.ledger));
  }
  setup.rules.jobs = job_count(options.cluster);
  if (place == nullptr) {
    setup.pitches = playable(std::move(setup.pitches));
    if (is_new) {
      const Interruption interruption("nothing is recorded yet; the same command starts it anew");
      measure_here(options, setup);
    }
    setup.rules.device = backend.device_name();
  } else {
    if (is_new) {
      measure_there(options, *place, setup);
    } else if (has_new(setup.pitches, record)) {
      place->leave_out_unplayable(setup);
    }
    setup.rules.device = device_of(is_new ? setup.environment : record.start.at("environment"));
  }
  for (const fs::path& file : options.votes) {
    for (Ballot& ballot : load_votes(file, setup.rules.rubric)) {
      setup.votes.push_back(std::move(ballot));
    }
  }
  setup.extension_seconds = options.more_seconds;
  setup.seconds_max = options.more_seconds > 0 ? options.more_seconds
                      : options.seconds > 0    ? options.seconds
                                               : record.seconds_max.value_or(kSeasonSeconds);
  set_matches(setup.rules, options, setup.seconds_max);
  return setup;
}

std::string words_of(const std::vector<fs::path>& paths) {
  std::string words;
  for (const fs::path& path : paths) words += " " + shell_quoted(path.string());
  return words;
}

// What the ledger remembers of the season need not be said again. Every step is in it before the
// next begins, so nothing but the match at hand is lost.
std::string how_to_go_on(const SeasonOptions& options, const SeasonSetup& setup) {
  std::string command = called_as() + (setup.stays_open ? " round" : " season --resume");
  // Before the options, which would take them for theirs.
  if (setup.stays_open) command += words_of(options.pitches);
  command += fmt::format(" --season {}", shell_quoted(setup.rules.season));
  if (options.ledger != kDefaultLedger) command += " --ledger" + words_of({options.ledger});
  if (options.seconds > 0) command += fmt::format(" --seconds {}", options.seconds);
  if (options.match_seconds != SeasonOptions{}.match_seconds) {
    command += fmt::format(" --match-seconds {}", options.match_seconds);
  }
  if (!options.votes.empty()) command += " --votes" + words_of(options.votes);
  command += cluster_words(options.cluster);
  return fmt::format("season '{}' is kept as far as it was played{}, and this goes on with it: {}",
                     setup.rules.season,
                     options.cluster.is_remote() ? ", its tasks stay in Slurm's queue" : "",
                     command);
}

// The season asks this machine for everything.
SeasonTools tools_here(Ledger& ledger, const SeasonSetup& setup, SeasonTicker& ticker) {
  const auto begin = std::chrono::steady_clock::now();
  return {
      .judge = RefereeOfSeason(ticker),
      .hash = contestant_hash,
      .research =
          [&](const Contestant& champion) {
            return findings_on(champion, setup.rules,
                               read_season(ledger, setup.rules.season).rates);
          },
      .seconds_now =
          [begin] {
            return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
          },
      .report = [&](const std::string& what) { ticker.begin(what); },
      .announce = [&](const std::string& what) { ticker.announce(what); }};
}

// The season asks a cluster's nodes.
SeasonTools tools_there(Ledger& ledger, const SeasonSetup& setup, SeasonTicker& ticker,
                        ClusterPlace& place) {
  SeasonTools tools = tools_here(ledger, setup, ticker);
  const auto what = std::make_shared<std::string>();
  tools.report = [&, what](const std::string& text) { ticker.begin(*what = text); };
  place.set_voice(
      {.report = [&, what](const std::string& text) { ticker.begin(*what + ": " + text); },
       .announce = [&](const std::string& text) { ticker.announce(text); }});
  const SeasonRecord record = read_season(ledger, setup.rules.season);
  if (record.has_started) place.open(setup.rules.season, record.start);
  tools.research = [&](const Contestant& champion) {
    return place.findings(champion, setup.rules, read_season(ledger, setup.rules.season).rates);
  };
  tools.seconds_now = [&] { return place.seconds_now(); };
  tools.play_all = [&](const std::vector<MatchOrder>& orders, const TakeReport& take) {
    if (!place.is_open()) {
      place.open(setup.rules.season, read_season(ledger, setup.rules.season).start);
    }
    place.play_all(orders, take);
  };
  return tools;
}

std::unique_ptr<ClusterPlace> place_of(const SeasonOptions& options) {
  if (!options.cluster.is_remote()) return nullptr;
  return std::make_unique<ClusterPlace>(options.cluster, options.ledger);
}

std::unique_ptr<Presence> presence_of(const SeasonOptions& options, const std::string& command) {
  return options.cluster.is_remote() ? nullptr : std::make_unique<Presence>(command);
}

int play(const SeasonOptions& options, Ledger& ledger, const SeasonSetup& setup,
         ClusterPlace* place) {
  const Interruption interruption(how_to_go_on(options, setup));
  {
    SeasonTicker ticker(setup.seconds_max);
    play_season(ledger, setup,
                place == nullptr ? tools_here(ledger, setup, ticker)
                                 : tools_there(ledger, setup, ticker, *place));
    if (place != nullptr) place->finish();
  }
  const Scoreboard board = scoreboard(ledger, setup.rules.season);
  if (options.json) {
    fmt::print("{}\n", to_ordered_json(board).dump());
  } else {
    print_scoreboard(board);
    fmt::print("\n{}", season_summary(read_season(ledger, board.season), options.ledger,
                                      terminal_width(stdout)));
  }
  return board.rows.empty() ? kExitFailure : kExitOk;
}

}  // namespace thresher::cli
