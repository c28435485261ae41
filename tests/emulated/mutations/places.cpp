// SPDX-License-Identifier: Apache-2.0
#include "emulated/mutations/places.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>

#include "thresher/error.hpp"

namespace thresher::emulated::testing {
namespace {

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  if (!file) throw Error(fmt::format("cannot read {}", path.string()));
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// "src/gpu/sm90/kernels/gemm.cuh" is "sm90/gemm.cuh".
std::string short_file(const std::string& file) {
  return std::regex_replace(file, std::regex("^.*src/gpu/([^/]+)/kernels/"), "$1/");
}

std::set<std::string> words_with_sites(const std::filesystem::path& vocabulary) {
  std::set<std::string> words;
  // Parameters may have brackets themselves: "float (&values)[kCount]".
  const std::regex declared(R"((\w+)\((?:[^()]|\([^()]*\))*Site site = Site::here\(\))");
  for (const auto& entry : std::filesystem::recursive_directory_iterator(vocabulary)) {
    if (entry.path().filename().string().starts_with("emulated")) {
      const std::string text = text_of(entry.path());
      for (std::sregex_iterator found(text.begin(), text.end(), declared), end; found != end;
           ++found) {
        words.insert((*found)[1]);
      }
    }
  }
  return words;
}

std::string without_comments(const std::string& text) {
  return std::regex_replace(text, std::regex("//[^\n]*"), "");
}

// Words whose PTX fences, arrives, waits or hands on.
std::set<std::string> words_that_order(const std::filesystem::path& vocabulary) {
  std::set<std::string> words;
  const std::regex begin(R"(THRESHER_DEVICE [^;{()]*?(\w+)\()");
  const std::regex orders(
      R"(fence[.:]|\bbar(rier)?[.](sync|arrive|warp|cluster|cta)|[.]wait|commit|griddepcontrol)"
      R"(|mbarrier[.](arrive|try_wait|test_wait)|relinquish|\batom[.]|\bred[.]|acquire|release)");
  for (const auto& entry : std::filesystem::recursive_directory_iterator(vocabulary)) {
    if (entry.path().extension() != ".cuh") continue;
    const std::string text = without_comments(text_of(entry.path()));
    for (std::sregex_iterator word(text.begin(), text.end(), begin), end; word != end;) {
      const std::string name = (*word)[1];
      const auto first = (*word)[0].second;
      const auto last = ++word == end ? text.end() : (*word)[0].first;
      if (std::regex_search(first, last, orders)) words.insert(name);
    }
  }
  return words;
}

// A call that takes several lines may count as any of them.
bool was_said(const std::set<SiteName>& said, const std::string& file, const std::string& word,
              int line) {
  return std::any_of(said.begin(), said.end(), [&](const SiteName& site) {
    return site.word == word && site.line >= line && site.line <= line + 3 &&
           site.file.ends_with(file);
  });
}

}  // namespace

std::map<SiteName, std::string> names_of(const std::set<SiteName>& sites) {
  std::map<std::string, int> counts;
  std::map<SiteName, std::string> names;
  for (const SiteName& site : sites) {  // in the order of files and lines
    const std::string name =
        fmt::format("{}, {}: {}", short_file(site.file), site.function, site.word);
    const int count = ++counts[name];
    names[site] = count == 1 ? name : fmt::format("{} ({})", name, count);
  }
  return names;
}

std::vector<std::string> never_said(const std::string& source_folder,
                                    const std::set<SiteName>& said) {
  const std::filesystem::path gpu = std::filesystem::path(source_folder) / "src" / "gpu";
  const std::set<std::string> words = words_with_sites(gpu / "hw");
  const std::regex call(R"(hw::(\w+)(<[^<>()]*>)?\()");
  std::vector<std::string> missing;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(gpu)) {
    const std::string path = entry.path().string();
    if (!path.ends_with(".cuh") || path.find("/kernels/") == std::string::npos) continue;
    std::istringstream lines(text_of(entry.path()));
    std::string line;
    for (int number = 1; std::getline(lines, line); ++number) {
      line = line.substr(0, line.find("//"));
      for (std::sregex_iterator found(line.begin(), line.end(), call), end; found != end; ++found) {
        const std::string word = (*found)[1];
        const std::string file = path.substr(path.find("src/gpu/"));
        if (words.contains(word) && !was_said(said, file, word, number)) {
          missing.push_back(fmt::format("{}:{}: {}", file, number, word));
        }
      }
    }
  }
  return missing;
}

std::vector<std::string> words_without_sites(const std::string& source_folder) {
  const std::filesystem::path vocabulary =
      std::filesystem::path(source_folder) / "src" / "gpu" / "hw";
  const std::set<std::string> with_sites = words_with_sites(vocabulary);
  const std::set<std::string> ordering = words_that_order(vocabulary);
  if (ordering.empty()) throw Error("no word in " + vocabulary.string() + " orders anything");
  std::vector<std::string> without;
  std::set_difference(ordering.begin(), ordering.end(), with_sites.begin(), with_sites.end(),
                      std::back_inserter(without));
  return without;
}

std::map<std::string, std::string> reasons_in(const std::string& document) {
  std::istringstream lines(text_of(document));
  std::map<std::string, std::string> reasons;
  const std::regex row(R"(\| `([^`]+)` \| (.+) \|)");
  bool in_table = false;
  for (std::string line; std::getline(lines, line);) {
    if (line == "<!-- mutations -->") in_table = true;
    if (line.empty()) in_table = in_table && reasons.empty();
    std::smatch found;
    if (in_table && std::regex_match(line, found, row)) reasons[found[1]] = found[2];
  }
  return reasons;
}

}  // namespace thresher::emulated::testing
