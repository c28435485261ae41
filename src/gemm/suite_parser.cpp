// SPDX-License-Identifier: Apache-2.0
// TOML text to Suite. Every complaint names the line and the column of the value it is about, and
// says what is allowed there; docs/suites.md lists them. Limits on size, problems, groups and dots
// keep memory, time and recursion small whatever the file says.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>

#include "control.hpp"
#include "gemm/extent_faults.hpp"
#include "gemm/suite.hpp"
#include "gemm/toml_words.hpp"
#include "spelling.hpp"
#include "thresher/error.hpp"

namespace thresher {
namespace {

constexpr std::size_t kProblemCountMax = 1024;
constexpr std::size_t kGroupCountInSuiteMax = std::size_t{1} << 18;

constexpr std::array<std::string_view, 3> kSuiteKeys = {"name", "description", "problem"};
constexpr std::array<std::string_view, 8> kProblemKeys = {"name",   "op", "activations", "output",
                                                          "groups", "m",  "n",           "k"};

// m, n or k: one value for all groups, or one per group.
struct Extents {
  const toml::node& node;
  std::vector<std::int64_t> values;

  bool is_array() const { return node.is_array(); }
  std::int64_t of_group(std::size_t group) const { return is_array() ? values[group] : values[0]; }
};

class SuiteReader {
 public:
  explicit SuiteReader(std::string_view source_name) : source_name_(source_name) {}

  Suite read(std::string_view text) const {
    check_text(text);
    try {
      return read_suite(toml::parse(text));
    } catch (const toml::parse_error& error) {
      refuse(error.source(), std::string(error.description()));
    }
  }

 private:
  [[noreturn]] void refuse(const toml::source_position& at, const std::string& fault) const {
    throw Error(fmt::format("{}:{}:{}: {}", source_name_, at.line, at.column, fault));
  }
  [[noreturn]] void refuse(const toml::source_region& at, const std::string& fault) const {
    refuse(at.begin, fault);
  }

  void refuse_if(const std::string& fault, const toml::node& node) const {
    if (!fault.empty()) refuse(node.source(), fault);
  }

  // A suite needs no dotted keys, so dots are only punctuation here and easy to limit.
  void check_text(std::string_view text) const {
    if (text.size() > kSuiteBytesMax) {
      refuse(toml::source_position{1, 1},
             fmt::format("the file has more than {} bytes", kSuiteBytesMax));
    }
    toml::source_position position{1, 1};
    std::size_t dot_count = 0;
    for (const char c : text) {
      if (c == '.' && ++dot_count > kDotCountMax) {
        refuse(position, fmt::format("the file has more than {} dots", kDotCountMax));
      }
      ++position.column;
      if (c == '\n') position = {position.line + 1, 1};
    }
  }

  Suite read_suite(const toml::table& root) const {
    check_keys(root, kSuiteKeys, "a suite");
    Suite suite;
    suite.name = read_name(root, "the suite");
    suite.description = read_description(root);

    const toml::node* problems = root.get("problem");
    if (problems == nullptr) refuse(root.source(), "the suite has no [[problem]]");
    if (!problems->is_array_of_tables()) {
      refuse(problems->source(), fmt::format("problem is {}; [[problem]] tables are allowed",
                                             describe_type(*problems)));
    }
    std::map<std::string, toml::source_index> line_of_name;
    std::size_t group_count = 0;
    for (const toml::node& node : *problems->as_array()) {
      Problem problem = read_problem(*node.as_table());
      const auto [taken, is_new] = line_of_name.emplace(problem.name, node.source().begin.line);
      if (!is_new) {
        refuse(node.source(), fmt::format("the name {} is taken by the problem in line {}",
                                          quote_value(problem.name), taken->second));
      }
      group_count += problem.groups.size();
      check_suite_size(node, line_of_name.size(), group_count);
      suite.problems.push_back(std::move(problem));
    }
    return suite;
  }

  void check_suite_size(const toml::node& node, std::size_t problem_count,
                        std::size_t group_count) const {
    if (problem_count > kProblemCountMax) {
      refuse(node.source(), fmt::format("more than {} problems", kProblemCountMax));
    }
    if (group_count > kGroupCountInSuiteMax) {
      refuse(node.source(), fmt::format("more than {} groups in all", kGroupCountInSuiteMax));
    }
  }

  template <std::size_t count>
  void check_keys(const toml::table& table, const std::array<std::string_view, count>& allowed,
                  const char* owner) const {
    for (const auto& [key, value] : table) {
      if (std::find(allowed.begin(), allowed.end(), key.str()) == allowed.end()) {
        refuse(key.source(),
               fmt::format("unknown key {}; {} has {}{}", quote_value(key.str()), owner,
                           fmt::join(allowed, ", "), did_you_mean(key.str(), allowed)));
      }
    }
  }

  // The string under `key`, or null if there is none.
  const std::string* read_string(const toml::table& table, std::string_view key) const {
    const toml::node* node = table.get(key);
    if (node == nullptr) return nullptr;
    if (!node->is_string()) {
      refuse(node->source(),
             fmt::format("{} is {}; a string is allowed", key, describe_type(*node)));
    }
    return &node->as_string()->get();
  }

  std::string read_name(const toml::table& table, const char* owner) const {
    const std::string* name = read_string(table, "name");
    if (name == nullptr) refuse(table.source(), fmt::format("{} has no name", owner));
    refuse_if(fault_of_name(*name), *table.get("name"));
    return *name;
  }

  // It stands in tables, so it is one line of printable text.
  std::string read_description(const toml::table& root) const {
    const std::string* description = read_string(root, "description");
    if (description == nullptr) return {};
    if (has_control(*description)) {
      refuse(root.get("description")->source(),
             "description has a control character; one line of text is allowed");
    }
    return *description;
  }

  Problem read_problem(const toml::table& table) const {
    check_keys(table, kProblemKeys, "a problem");
    Problem problem;
    problem.name = read_name(table, "the problem");
    problem.op = read_word(table, "op", op_from_string, problem.op);
    problem.activations =
        read_word(table, "activations", activations_from_string, problem.activations);
    problem.output = read_word(table, "output", output_from_string, problem.output);
    problem.groups = read_groups(table);
    try {
      check(problem);
    } catch (const Error& error) {
      refuse(table.source(), error.what());
    }
    return problem;
  }

  template <typename Enum>
  Enum read_word(const toml::table& table, std::string_view key,
                 Enum (*from_string)(std::string_view), Enum otherwise) const {
    const std::string* word = read_string(table, key);
    if (word == nullptr) return otherwise;
    try {
      return from_string(*word);
    } catch (const Error& error) {
      refuse(table.get(key)->source(), error.what());
    }
  }

  std::vector<Group> read_groups(const toml::table& table) const {
    const Extents m = read_extents(table, "m", fault_of_m);
    const Extents n = read_extents(table, "n", fault_of_n);
    const Extents k = read_extents(table, "k", fault_of_k);
    const std::size_t count = m.is_array() ? m.values.size() : read_group_count(table);
    refuse_if(fault_of_group_count(static_cast<std::int64_t>(count)), m.node);
    if (m.is_array() && table.contains("groups")) {
      refuse(table.get("groups")->source(),
             "groups beside an array of m; the array already has one value per group");
    }
    check_length("n", n, count);
    check_length("k", k, count);

    std::vector<Group> groups(count);
    for (std::size_t g = 0; g < count; ++g) {
      groups[g] = {m.of_group(g), n.of_group(g), k.of_group(g)};
    }
    return groups;
  }

  std::size_t read_group_count(const toml::table& table) const {
    const toml::node* node = table.get("groups");
    if (node == nullptr) return 1;
    const std::int64_t count = read_integer(*node, "groups", "an integer is allowed");
    refuse_if(fault_of_group_count(count), *node);
    return static_cast<std::size_t>(count);
  }

  void check_length(const char* key, const Extents& extents, std::size_t group_count) const {
    if (!extents.is_array() || extents.values.size() == group_count) return;
    refuse(extents.node.source(), fmt::format("{} has {} values where there are {} groups", key,
                                              extents.values.size(), group_count));
  }

  Extents read_extents(const toml::table& table, std::string_view key,
                       std::string (*fault_of)(std::int64_t)) const {
    const toml::node* node = table.get(key);
    if (node == nullptr) refuse(table.source(), fmt::format("the problem has no {}", key));
    Extents extents{*node, {}};
    const auto append = [&](const toml::node& item, const char* allowed) {
      const std::int64_t value = read_integer(item, key, allowed);
      refuse_if(fault_of(value), item);
      extents.values.push_back(value);
    };
    if (const toml::array* array = node->as_array()) {
      for (const toml::node& item : *array) append(item, "an array holds integers");
    } else {
      append(*node, "an integer or an array of integers is allowed");
    }
    return extents;
  }

  std::int64_t read_integer(const toml::node& node, std::string_view key,
                            const char* allowed) const {
    if (node.is_integer()) return node.as_integer()->get();
    refuse(node.source(), fmt::format("{} is {}; {}", key, describe_type(node), allowed));
  }

  std::string_view source_name_;
};

}  // namespace

Suite parse_suite(std::string_view toml, std::string_view source_name) {
  return SuiteReader(source_name).read(toml);
}

}  // namespace thresher
