// SPDX-License-Identifier: Apache-2.0
// Leaves out every fence, arrival and wait of all kernels, one at a time, and looks who notices. A
// word that nobody misses must stand in the document with the reason, and nothing else may.
//
//   kernel_mutations [--quick] [--jobs N] [--list] DOCUMENT SOURCE_FOLDER
//
// --quick has few cases and one order of events for each; --list prints who noticed what.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>

#include "emulated/mutations/attempt.hpp"
#include "emulated/mutations/cases.hpp"
#include "emulated/mutations/places.hpp"
#include "thresher/error.hpp"

namespace thresher::emulated::testing {
namespace {

struct Options {
  bool quick = false;
  bool list = false;
  int jobs = 2;
  std::vector<std::string> paths;
};

Options options_from(int count, char** arguments) {
  Options options;
  for (int i = 1; i < count; ++i) {
    const std::string argument = arguments[i];
    if (argument == "--quick") {
      options.quick = true;
    } else if (argument == "--list") {
      options.list = true;
    } else if (argument == "--jobs" && i + 1 < count) {
      options.jobs = std::max(1, std::atoi(arguments[++i]));
    } else {
      options.paths.push_back(argument);
    }
  }
  if (options.paths.size() != 2) {
    throw Error("usage: kernel_mutations [--quick] [--jobs N] [--list] DOCUMENT SOURCE_FOLDER");
  }
  return options;
}

// What all cases say and compute with nothing left out.
struct Survey {
  std::vector<Case> cases;
  std::vector<std::vector<std::uint8_t>> right;         // by case
  std::map<SiteName, std::vector<std::size_t>> saying;  // the cases that say a word there
  std::map<SiteName, std::string> names;
};

Survey survey_of(std::vector<Case> cases) {
  Survey survey;
  std::set<SiteName> sites;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const emulator::WatchedSites watched;
    if (isatty(STDERR_FILENO) != 0) fmt::print(stderr, "{}\n", cases[i].name);
    survey.right.push_back(cases[i].run(/*seed=*/1));
    for (const SiteName& site : watched.said()) {
      survey.saying[site].push_back(i);
      sites.insert(site);
    }
  }
  survey.cases = std::move(cases);
  survey.names = names_of(sites);
  return survey;
}

struct Finding {
  std::string by;  // empty: nobody noticed
  std::string in;  // the case
};

Finding find(const Survey& survey, const SiteName& site, bool quick) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    if (quick && seed > 1) break;
    for (const std::size_t i : survey.saying.at(site)) {
      std::string by = noticed(survey.cases[i], site, seed, survey.right[i]);
      if (!by.empty()) return {.by = std::move(by), .in = survey.cases[i].name};
    }
  }
  return {};
}

// One of several processes that share the places; it writes a line for each.
void work(const Survey& survey, const Options& options, int worker, FILE* out) {
  int index = 0;
  for (const auto& [site, saying] : survey.saying) {
    if (index++ % options.jobs != worker) continue;
    const Finding finding = find(survey, site, options.quick);
    fmt::print(out, "{}\t{}\t{}\n", survey.names.at(site), finding.in, finding.by);
    std::fflush(out);
  }
}

std::map<std::string, Finding> find_all(const Survey& survey, const Options& options) {
  std::vector<FILE*> pipes;
  for (int worker = 0; worker < options.jobs; ++worker) {
    int ends[2];
    if (pipe(ends) != 0) throw Error("pipe() failed");
    if (fork() == 0) {
      close(ends[0]);
      FILE* const out = fdopen(ends[1], "w");
      work(survey, options, worker, out);
      std::fclose(out);
      _exit(0);
    }
    close(ends[1]);
    pipes.push_back(fdopen(ends[0], "r"));
  }
  std::map<std::string, Finding> findings;
  for (FILE* const in : pipes) {
    char line[8192];
    while (std::fgets(line, sizeof(line), in) != nullptr) {
      const std::string text = line;
      const std::size_t first = text.find('\t');
      const std::size_t second = text.find('\t', first + 1);
      if (second == std::string::npos) continue;  // more lines of the same message
      findings[text.substr(0, first)] = {.by = text.substr(second + 1, text.size() - second - 2),
                                         .in = text.substr(first + 1, second - first - 1)};
    }
    std::fclose(in);
  }
  while (wait(nullptr) > 0) {
  }
  return findings;
}

// How many lines of complaint there are.
int complain(const Survey& survey, const std::map<std::string, Finding>& findings,
             const Options& options) {
  int count = 0;
  const auto say = [&](const std::string& line) {
    fmt::print("{}\n", line);
    ++count;
  };
  std::map<std::string, std::string> reasons = reasons_in(options.paths[0]);
  for (const auto& [site, name] : survey.names) {
    const auto found = findings.find(name);
    const bool listed = reasons.erase(name) > 0;
    if (found == findings.end()) {
      say(fmt::format("not tried: {}", name));
    } else if (found->second.by.empty() && !listed) {
      say(fmt::format("nobody misses {} ({}:{})", name, site.file, site.line));
    } else if (!found->second.by.empty() && listed) {
      say(fmt::format("{} lists {}, but it is missed: {}", options.paths[0], name,
                      found->second.by));
    }
  }
  for (const auto& [name, reason] : reasons) {
    say(fmt::format("{} lists {}, which no kernel says", options.paths[0], name));
  }
  std::set<SiteName> said;
  for (const auto& [site, name] : survey.names) said.insert(site);
  for (const std::string& place : never_said(options.paths[1], said)) {
    say(fmt::format("no case comes by {}", place));
  }
  for (const std::string& word : words_without_sites(options.paths[1])) {
    say(fmt::format("{} orders something and takes no Site, so it was not left out", word));
  }
  return count;
}

int run(const Options& options) {
  const Survey survey = survey_of(options.quick ? few_cases() : every_case());
  const std::map<std::string, Finding> findings = find_all(survey, options);
  if (options.list) {
    for (const auto& [name, finding] : findings) {
      fmt::print("{}\n    {}\n    {}\n", name, finding.by.empty() ? "not noticed" : finding.by,
                 finding.in);
    }
  }
  const auto noticed_count = std::count_if(
      findings.begin(), findings.end(), [](const auto& entry) { return !entry.second.by.empty(); });
  const int complaints = complain(survey, findings, options);
  fmt::print("{} words left out in {} cases: {} noticed, {} complaints\n", findings.size(),
             survey.cases.size(), noticed_count, complaints);
  return complaints == 0 ? 0 : 1;
}

}  // namespace
}  // namespace thresher::emulated::testing

int main(int count, char** arguments) {
  try {
    return thresher::emulated::testing::run(
        thresher::emulated::testing::options_from(count, arguments));
  } catch (const std::exception& error) {
    fmt::print(stderr, "kernel_mutations: {}\n", error.what());
    return 2;
  }
}
