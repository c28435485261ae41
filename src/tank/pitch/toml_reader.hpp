// SPDX-License-Identifier: Apache-2.0
// Reads TOML that people write, and notes every fault with its place instead of stopping at the
// first: who mends a file wants the whole list.
#pragma once

#include <compare>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gemm/toml_words.hpp"

namespace thresher {

class TomlReader {
 public:
  // `source_name` stands in front of every fault.
  explicit TomlReader(std::string_view source_name) : source_name_(source_name) {}

  // Nothing, and a fault, if `text` is no TOML or has more than `bytes_max`.
  std::optional<toml::table> parse(std::string_view text, std::size_t bytes_max);

  void note(const toml::source_position& at, std::string fault);
  void note(const toml::node& at, std::string fault);

  // Notes every key of `table` that is not `allowed`; `owner` is what has them: "a pitch".
  void check_keys(const toml::table& table, std::span<const std::string_view> allowed,
                  std::string_view owner);

  // A string without control characters, or, of read_text, with no others than line breaks and
  // tabs. Nothing if the key is missing, and nothing but a fault if the value is anything else.
  std::optional<std::string> read_line(const toml::table& table, std::string_view key);
  std::optional<std::string> read_text(const toml::table& table, std::string_view key);

  // A string that is one of `words`. Nothing if the key is missing, and nothing but a fault if the
  // value is anything else.
  std::optional<std::string> read_word(const toml::table& table, std::string_view key,
                                       std::span<const std::string_view> words);

  // The [[key]] tables of a file; none are a fault.
  std::vector<const toml::table*> read_tables(const toml::table& root, std::string_view key);

  // Of a value: a string without control characters. `what` names it in the fault.
  std::optional<std::string> line_of(const toml::node& node, std::string_view what);

  bool ok() const { return faults_.empty(); }
  // "source:line:column: fault", in the order of their places.
  std::vector<std::string> faults() const;
  // Throws Error with every fault on a line of its own, if there is any.
  void throw_faults() const;

 private:
  struct Fault {
    toml::source_index line = 0;
    toml::source_index column = 0;
    std::string text;

    auto operator<=>(const Fault&) const = default;
  };

  std::optional<std::string> string_of(const toml::node& node, std::string_view what,
                                       std::string_view allowed_controls);

  std::string source_name_;
  std::vector<Fault> faults_;
};

}  // namespace thresher
