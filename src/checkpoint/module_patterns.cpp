// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/module_patterns.hpp"

#include <fmt/format.h>
#include <regex.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <memory>
#include <unordered_set>

#include "thresher/error.hpp"

namespace thresher::checkpoint {
namespace {

using Covers = std::function<bool(const std::string& module)>;

constexpr std::string_view kRegexPrefix = "re:";
constexpr std::size_t kRegexBytesMax = 1000;

// Python's regular expressions in the words of POSIX, which takes linear time and a known amount of
// memory for whatever a file says. Empty where there are no such words.
class PosixWords {
 public:
  static std::string of(std::string_view pattern) {
    PosixWords words(pattern);
    while (!words.rest_.empty()) {
      if (!words.take()) return {};
    }
    return words.in_set_ ? std::string() : "^(" + words.out_ + ")";
  }

 private:
  explicit PosixWords(std::string_view pattern) : rest_(pattern) {}

  bool take() {
    const char c = rest_.front();
    if (c == '\\') return take_escaped();
    if (in_set_) {
      // POSIX's classes, which Python has not; and a bracket that may be one of the set.
      const bool is_first = out_.ends_with('[') || out_.ends_with("[^");
      if (c == '[' || (c == ']' && is_first)) return false;
      in_set_ = c != ']';
      return append(c, 1);
    }
    if (c == '{' || static_cast<unsigned char>(c) < ' ') return false;
    if (rest_.starts_with("(?:")) return append('(', 3);
    if (rest_.starts_with("(?")) return false;
    // As few as possible or as many: whether there is a match does not depend on it.
    for (const char* lazy : {"*?", "+?", "??"}) {
      if (rest_.starts_with(lazy)) return append(c, 2);
    }
    in_set_ = c == '[';
    return append(c, 1);
  }

  bool take_escaped() {
    if (rest_.size() < 2) return false;
    const char c = rest_[1];
    rest_.remove_prefix(2);
    if (c == 'd' || c == 'w') {
      const char* set = c == 'd' ? "0-9" : "0-9A-Za-z_";
      out_ += in_set_ ? std::string(set) : fmt::format("[{}]", set);
      return true;
    }
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) return false;
    // A set has no escapes in POSIX, and these would mean something there.
    if (in_set_) {
      out_ += c;
      return c != ']' && c != '^' && c != '-' && c != '[';
    }
    out_ += {'\\', c};
    return true;
  }

  bool append(char c, std::size_t taken) {
    out_ += c;
    rest_.remove_prefix(taken);
    return true;
  }

  std::string_view rest_;
  std::string out_;
  bool in_set_ = false;
};

Covers regex_covers(std::string_view place, const std::string& entry) {
  const std::string_view pattern = std::string_view(entry).substr(kRegexPrefix.size());
  const std::string posix =
      pattern.size() > kRegexBytesMax ? std::string() : PosixWords::of(pattern);
  auto* compiled = new regex_t;
  if (posix.empty() || regcomp(compiled, posix.c_str(), REG_EXTENDED | REG_NOSUB) != 0) {
    delete compiled;
    throw Error(
        fmt::format("{}: '{}' is not understood here, so nobody knows which modules it names",
                    place, entry.substr(0, 200)));
  }
  const std::shared_ptr<regex_t> regex(compiled, [](regex_t* one) {
    regfree(one);
    delete one;
  });
  return [regex](const std::string& module) {
    return regexec(regex.get(), module.c_str(), 0, nullptr, 0) == 0;
  };
}

// '*' stands for any letters, also for none and for dots; '?' for one.
bool glob_covers(std::string_view pattern, std::string_view text) {
  std::size_t star = std::string_view::npos;
  std::size_t at = 0;
  std::size_t tried = 0;  // what the last star stands for ends here
  for (std::size_t i = 0; i < text.size();) {
    if (at < pattern.size() && pattern[at] == '*') {
      star = at++;
      tried = i;
    } else if (at < pattern.size() && (pattern[at] == '?' || pattern[at] == text[i])) {
      ++at;
      ++i;
    } else if (star != std::string_view::npos) {
      at = star + 1;
      i = ++tried;
    } else {
      return false;
    }
  }
  while (at < pattern.size() && pattern[at] == '*') ++at;
  return at == pattern.size();
}

bool is_part_of(std::string_view module, std::string_view whole) {
  return module.starts_with(whole) &&
         (module.size() == whole.size() || module[whole.size()] == '.');
}

// Null for a name.
Covers pattern_of(std::string_view place, const std::string& entry, CheckpointFormat format) {
  if (format == CheckpointFormat::kModelOpt) {
    if (entry.find_first_of("*?") == std::string::npos) return nullptr;
    return [entry](const std::string& module) { return glob_covers(entry, module); };
  }
  return entry.starts_with(kRegexPrefix) ? regex_covers(place, entry) : nullptr;
}

}  // namespace

std::vector<std::string> without_modules(std::string_view place,
                                         const std::vector<std::string>& entries,
                                         CheckpointFormat format,
                                         const std::vector<std::string>& taken,
                                         const std::vector<std::string>& left) {
  // With what they are parts of: thousands of entries may be names.
  std::unordered_set<std::string_view> named;
  for (const std::string& module : taken) {
    for (std::size_t end = module.size(); end != std::string::npos && end > 0;
         end = std::string_view(module).substr(0, end).rfind('.')) {
      named.insert(std::string_view(module).substr(0, end));
    }
  }
  std::vector<std::string> kept;
  std::unordered_set<std::string> known;
  const auto keep = [&](const std::string& entry) {
    if (known.insert(entry).second) kept.push_back(entry);
  };
  for (const std::string& entry : entries) {
    Covers covers = pattern_of(place, entry, format);
    const bool covers_taken =
        covers == nullptr ? named.contains(entry) : std::any_of(taken.begin(), taken.end(), covers);
    if (!covers_taken) {
      keep(entry);
      continue;
    }
    if (covers == nullptr) {
      covers = [&](const std::string& module) { return is_part_of(module, entry); };
    }
    for (const std::string& module : left) {
      if (covers(module)) keep(module);
    }
  }
  return kept;
}

}  // namespace thresher::checkpoint
