// SPDX-License-Identifier: Apache-2.0
#include "tank/pitch/toml_reader.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "spelling.hpp"
#include "thresher/error.hpp"

namespace thresher {

std::optional<toml::table> TomlReader::parse(std::string_view text, std::size_t bytes_max) {
  if (text.size() > bytes_max) {
    note(toml::source_position{1, 1}, fmt::format("the file has more than {} bytes", bytes_max));
    return std::nullopt;
  }
  if (std::count(text.begin(), text.end(), '.') > static_cast<std::ptrdiff_t>(kDotCountMax)) {
    note(toml::source_position{1, 1}, fmt::format("the file has more than {} dots", kDotCountMax));
    return std::nullopt;
  }
  try {
    return toml::parse(text);
  } catch (const toml::parse_error& error) {
    note(error.source().begin, std::string(error.description()));
    return std::nullopt;
  }
}

void TomlReader::note(const toml::source_position& at, std::string fault) {
  faults_.push_back({at.line, at.column, std::move(fault)});
}

void TomlReader::note(const toml::node& at, std::string fault) {
  note(at.source().begin, std::move(fault));
}

void TomlReader::check_keys(const toml::table& table, std::span<const std::string_view> allowed,
                            std::string_view owner) {
  for (const auto& [key, value] : table) {
    if (std::find(allowed.begin(), allowed.end(), key.str()) != allowed.end()) continue;
    note(key.source().begin,
         fmt::format("unknown key {}; {} has {}{}", quote_value(key.str()), owner,
                     fmt::join(allowed, ", "), did_you_mean(key.str(), allowed)));
  }
}

std::optional<std::string> TomlReader::read_line(const toml::table& table, std::string_view key) {
  const toml::node* node = table.get(key);
  return node == nullptr ? std::nullopt : string_of(*node, key, "");
}

std::optional<std::string> TomlReader::read_text(const toml::table& table, std::string_view key) {
  const toml::node* node = table.get(key);
  return node == nullptr ? std::nullopt : string_of(*node, key, "\n\t");
}

std::optional<std::string> TomlReader::read_word(const toml::table& table, std::string_view key,
                                                 std::span<const std::string_view> words) {
  const std::optional<std::string> word = read_line(table, key);
  if (!word || std::find(words.begin(), words.end(), *word) != words.end()) return word;
  note(*table.get(key), fmt::format("{} = {} is none of {}{}", key, quote_value(*word),
                                    fmt::join(words, ", "), did_you_mean(*word, words)));
  return std::nullopt;
}

std::vector<const toml::table*> TomlReader::read_tables(const toml::table& root,
                                                        std::string_view key) {
  std::vector<const toml::table*> tables;
  const toml::node* nodes = root.get(key);
  if (nodes == nullptr || !nodes->is_array_of_tables()) {
    note(nodes == nullptr ? root : *nodes, fmt::format("the file has no [[{}]] tables", key));
    return tables;
  }
  for (const toml::node& node : *nodes->as_array()) tables.push_back(node.as_table());
  return tables;
}

std::optional<std::string> TomlReader::line_of(const toml::node& node, std::string_view what) {
  return string_of(node, what, "");
}

// These texts go to terminals, so that escape sequences must not get in.
std::optional<std::string> TomlReader::string_of(const toml::node& node, std::string_view what,
                                                 std::string_view allowed_controls) {
  if (!node.is_string()) {
    note(node, fmt::format("{} is {}; a string is allowed", what, describe_type(node)));
    return std::nullopt;
  }
  const std::string& text = node.as_string()->get();
  const auto is_refused = [&](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < 0x20 || byte == 0x7f) && allowed_controls.find(c) == std::string_view::npos;
  };
  if (std::any_of(text.begin(), text.end(), is_refused)) {
    note(node, fmt::format("{} has a control character; {} is allowed", what,
                           allowed_controls.empty() ? "one line of text" : "text in lines"));
    return std::nullopt;
  }
  return text;
}

std::vector<std::string> TomlReader::faults() const {
  std::vector<Fault> sorted = faults_;
  std::sort(sorted.begin(), sorted.end());
  std::vector<std::string> texts;
  for (const Fault& fault : sorted) {
    texts.push_back(
        fmt::format("{}:{}:{}: {}", source_name_, fault.line, fault.column, fault.text));
  }
  return texts;
}

void TomlReader::throw_faults() const {
  if (!ok()) throw Error(fmt::to_string(fmt::join(faults(), "\n")));
}

}  // namespace thresher
