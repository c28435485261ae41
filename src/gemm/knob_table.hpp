// SPDX-License-Identifier: Apache-2.0
// Knobs by name: one row per knob says how to print it, how to read it and what it takes. A
// backend's variants get their names, their parsing and their messages from its table.
//
// A name is a head ("cpu_avx2") followed by the knobs that differ from the head's defaults, in the
// order of the table: "cpu_avx2:decode=direct,stages=4". Equal variants have equal names.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "spelling.hpp"
#include "thresher/error.hpp"

namespace thresher {

inline bool read_int(std::string_view text, int low, int high, int& out) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return false;
  if (value < low || value > high) return false;
  out = value;
  return true;
}

// `words` are in the order of the enumerators.
template <class Enum>
bool read_word(std::string_view text, std::span<const std::string_view> words, Enum& out) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (text != words[i]) continue;
    out = static_cast<Enum>(i);
    return true;
  }
  return false;
}

template <class Enum>
std::string word(Enum value, std::span<const std::string_view> words) {
  return std::string(words[static_cast<std::size_t>(value)]);
}

template <class Variant>
struct Knob {
  std::string_view name;
  std::string_view allowed;
  std::string_view what;  // it does, in a few words
  std::string (*print)(const Variant&);
  bool (*read)(std::string_view text, Variant& variant);
  std::string_view tried =
      {};  // what a search tries, with spaces between; empty: the default alone
};

// A knob for people.
struct KnobText {
  std::string name;
  std::string allowed;
  std::string default_value;
  std::string what;
  std::vector<std::string> tried = {};  // by a search, neighbours side by side
};

template <class Variant>
class KnobTable {
 public:
  explicit KnobTable(std::span<const Knob<Variant>> knobs) : knobs_(knobs) {}

  std::string name(std::string_view head, const Variant& variant, const Variant& defaults) const {
    std::string text(head);
    char separator = ':';
    for (const Knob<Variant>& knob : knobs_) {
      const std::string value = knob.print(variant);
      if (value == knob.print(defaults)) continue;
      text += fmt::format("{}{}={}", separator, knob.name, value);
      separator = ',';
    }
    return text;
  }

  // Turns the knobs of `text`, a whole variant's name, on the defaults of its head.
  Variant read(std::string_view text, Variant variant) const {
    const std::size_t colon = text.find(':');
    if (colon == std::string_view::npos) return variant;
    std::string_view rest = text.substr(colon + 1);
    while (true) {
      const std::size_t comma = rest.find(',');
      const std::string_view setting = rest.substr(0, comma);
      const std::size_t equals = setting.find('=');
      if (equals == std::string_view::npos) {
        throw Error(fmt::format("variant '{}': '{}' is not of the form knob=value; knobs are {}",
                                text, setting, fmt::join(names(), ", ")));
      }
      try {
        variant = with(variant, setting.substr(0, equals), setting.substr(equals + 1));
      } catch (const Error& error) {
        throw Error(fmt::format("variant '{}': {}", text, error.what()));
      }
      if (comma == std::string_view::npos) return variant;
      rest = rest.substr(comma + 1);
    }
  }

  Variant with(Variant variant, std::string_view knob_name, std::string_view value) const {
    const Knob<Variant>& knob = find(knob_name);
    if (!knob.read(value, variant)) {
      throw Error(fmt::format("{} = '{}' is not {}", knob.name, value, knob.allowed));
    }
    return variant;
  }

  std::map<std::string, std::string> values(const Variant& variant) const {
    std::map<std::string, std::string> knobs;
    for (const Knob<Variant>& knob : knobs_) knobs.emplace(knob.name, knob.print(variant));
    return knobs;
  }

  std::vector<KnobText> texts(const Variant& defaults) const {
    std::vector<KnobText> texts;
    for (const Knob<Variant>& knob : knobs_) {
      texts.push_back({.name = std::string(knob.name),
                       .allowed = std::string(knob.allowed),
                       .default_value = knob.print(defaults),
                       .what = std::string(knob.what),
                       .tried = words_of(knob.tried)});
    }
    return texts;
  }

 private:
  static std::vector<std::string> words_of(std::string_view text) {
    std::vector<std::string> words;
    while (!text.empty()) {
      const std::size_t end = std::min(text.find(' '), text.size());
      words.emplace_back(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    return words;
  }

  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const Knob<Variant>& knob : knobs_) names.emplace_back(knob.name);
    return names;
  }

  const Knob<Variant>& find(std::string_view knob_name) const {
    for (const Knob<Variant>& knob : knobs_) {
      if (knob.name == knob_name) return knob;
    }
    const std::vector<std::string> known = names();
    throw Error(fmt::format("unknown knob '{}'; knobs are {}{}", knob_name, fmt::join(known, ", "),
                            did_you_mean(knob_name, known)));
  }

  std::span<const Knob<Variant>> knobs_;
};

}  // namespace thresher
