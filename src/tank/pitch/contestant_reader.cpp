// SPDX-License-Identifier: Apache-2.0
#include "tank/pitch/contestant_reader.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "engine/backends.hpp"
#include "referee/contestant/cuda_expression.hpp"
#include "referee/contestant/cuda_launches.hpp"
#include "thresher/error.hpp"

namespace thresher {
namespace {

constexpr std::array<std::string_view, 4> kForms = {"knobs", "variant", "source", "command"};
constexpr std::array<std::string_view, 5> kSourceEndings = {".c", ".cpp", ".cc", ".so", ".cu"};
constexpr std::string_view kCudaEnding = kSourceEndings[4];
constexpr std::size_t kCommandWordsMax = 64;
// What a contestant with a CUDA source has besides it.
constexpr std::array<std::string_view, 4> kCudaKeys = {"launch", "prepare", "workspace_bytes",
                                                       "packed_bytes"};
constexpr std::array<std::string_view, 5> kLaunchKeys = {"kernel", "grid", "block", "cluster",
                                                         "shared_bytes"};
constexpr std::string_view kNothing = "0";

std::vector<std::string_view> allowed_keys() {
  std::vector<std::string_view> keys(kForms.begin(), kForms.end());
  keys.insert(keys.end(), kCudaKeys.begin(), kCudaKeys.end());
  return keys;
}

std::vector<std::string_view> forms_of(const toml::table& table) {
  std::vector<std::string_view> forms;
  for (const std::string_view form : kForms) {
    if (table.contains(form)) forms.push_back(form);
  }
  return forms;
}

bool names_cuda(const toml::node& source) {
  const toml::value<std::string>* text = source.as_string();
  return text != nullptr && text->get().ends_with(kCudaEnding);
}

// How a CUDA source is launched: [[contestant.launch]], [[contestant.prepare]] and the memory they
// want. docs/contestants.md says what the kernels are given.
class CudaLaunchReader {
 public:
  explicit CudaLaunchReader(TomlReader& toml) : toml_(toml) {}

  CudaLaunches read(const toml::table& contestant) {
    CudaLaunches launches{.launches = read_launches(contestant, kCudaKeys[0]),
                          .prepare = read_launches(contestant, kCudaKeys[1]),
                          .packed_bytes = read_bytes(contestant, kCudaKeys[3]),
                          .workspace_bytes = read_bytes(contestant, kCudaKeys[2])};
    if (!toml_.ok()) return launches;
    try {
      check(launches);
    } catch (const Error& error) {
      toml_.note(contestant, error.what());
    }
    return launches;
  }

 private:
  std::vector<CudaLaunch> read_launches(const toml::table& contestant, std::string_view key) {
    const toml::node* nodes = contestant.get(key);
    if (nodes == nullptr) return {};
    if (!nodes->is_array_of_tables()) {
      toml_.note(*nodes,
                 fmt::format("{} is {}; [[contestant.{}]] tables with kernel, grid and block "
                             "are allowed",
                             key, describe_type(*nodes), key));
      return {};
    }
    std::vector<CudaLaunch> launches;
    for (const toml::node& node : *nodes->as_array()) {
      launches.push_back(read_launch(*node.as_table(), key));
    }
    return launches;
  }

  CudaLaunch read_launch(const toml::table& table, std::string_view what) {
    toml_.check_keys(table, kLaunchKeys, fmt::format("a {}", what));
    for (const std::string_view needed : {kLaunchKeys[0], kLaunchKeys[1], kLaunchKeys[2]}) {
      if (!table.contains(needed)) toml_.note(table, fmt::format("the {} has no {}", what, needed));
    }
    return {.kernel = toml_.read_line(table, "kernel").value_or(""),
            .grid = read_extents(table, "grid"),
            .block = read_extents(table, "block"),
            .cluster = read_extents(table, "cluster"),
            .shared_bytes = read_bytes(table, "shared_bytes")};
  }

  // One value, or an array of one to three.
  std::vector<std::string> read_extents(const toml::table& table, std::string_view key) {
    const toml::node* node = table.get(key);
    if (node == nullptr) return {};
    const toml::array* array = node->as_array();
    if (array == nullptr) return {read_expression(*node, key)};
    std::vector<std::string> extents;
    for (const toml::node& extent : *array) extents.push_back(read_expression(extent, key));
    return extents;
  }

  // An integer, or a string such as "ceil_div(n, 128) * groups".
  std::string read_expression(const toml::node& node, std::string_view what) {
    if (const toml::value<std::int64_t>* number = node.as_integer()) {
      if (number->get() >= 0) return fmt::format("{}", number->get());
      toml_.note(node, fmt::format("{} = {} is negative", what, number->get()));
      return std::string(kNothing);
    }
    if (!node.is_string()) {
      toml_.note(node, fmt::format("{} is {}; an integer or a string such as \"ceil_div(n, 128) * "
                                   "groups\" is allowed",
                                   what, describe_type(node)));
      return std::string(kNothing);
    }
    const std::string text = toml_.line_of(node, what).value_or(std::string(kNothing));
    try {
      referee::LaunchExpression{text};
    } catch (const Error& error) {
      toml_.note(node, fmt::format("{}: {}", what, error.what()));
    }
    return text;
  }

  std::string read_bytes(const toml::table& table, std::string_view key) {
    const toml::node* node = table.get(key);
    return node == nullptr ? std::string(kNothing) : read_expression(*node, key);
  }

  TomlReader& toml_;
};

class ContestantReader {
 public:
  ContestantReader(const std::filesystem::path& folder, TomlReader& toml, Pitch& pitch)
      : folder_(folder), toml_(toml), pitch_(pitch) {}

  void read(const toml::node& node) {
    pitch_.contestant.name = pitch_.name;
    pitch_.contestant.folder = folder_;
    if (find_backend(pitch_.backend) != nullptr) pitch_.contestant.backend = pitch_.backend;
    const toml::table* table = node.as_table();
    if (table == nullptr) {
      return toml_.note(node, fmt::format("contestant is {}; a table with one of {} is allowed",
                                          describe_type(node), fmt::join(kForms, ", ")));
    }
    toml_.check_keys(*table, allowed_keys(), "a contestant");
    const std::vector<std::string_view> forms = forms_of(*table);
    if (forms.size() != 1) {
      return toml_.note(
          node, fmt::format("the contestant has {}; exactly one of {} says what to run",
                            forms.empty() ? "nothing" : fmt::to_string(fmt::join(forms, " and ")),
                            fmt::join(kForms, ", ")));
    }
    const toml::node& form = *table->get(forms[0]);
    if (forms[0] != "source" || !names_cuda(form)) refuse_launches(*table);
    if (forms[0] == "knobs") return read_knobs(form);
    if (forms[0] == "variant") return read_variant(form);
    if (forms[0] == "command") return read_command(form);
    read_source(form);
    if (pitch_.contestant.kind == ContestantKind::kCuda) {
      pitch_.contestant.launches = CudaLaunchReader(toml_).read(*table);
    }
  }

 private:
  // An empty table is allowed: the champion against itself, which is a control.
  void read_knobs(const toml::node& node) {
    pitch_.contestant.kind = ContestantKind::kVariant;
    const toml::table* table = node.as_table();
    if (table == nullptr) {
      return toml_.note(node, fmt::format("knobs is {}; a table such as {{stages = 16}} is allowed",
                                          describe_type(node)));
    }
    for (const auto& [key, value] : *table) read_knob(key, value);
  }

  void read_knob(const toml::key& key, const toml::node& node) {
    std::string value;
    if (const toml::value<std::int64_t>* number = node.as_integer()) {
      value = fmt::format("{}", number->get());
    } else if (node.is_string()) {
      const std::optional<std::string> text = toml_.line_of(node, key.str());
      if (!text) return;
      value = *text;
    } else {
      return toml_.note(node, fmt::format("knob {} is {}; an integer or a string is allowed",
                                          quote_value(key.str()), describe_type(node)));
    }
    // Knobs of a backend that we have no engine for are for its constraints to judge.
    if (const Backend* backend = find_backend(pitch_.backend)) {
      try {
        backend->turned(backend->named_variants().front(), {{std::string(key.str()), value}});
      } catch (const Error& error) {
        return toml_.note(key.source().begin, error.what());
      }
    }
    pitch_.knobs.emplace(key.str(), value);
  }

  void read_variant(const toml::node& node) {
    pitch_.contestant.kind = ContestantKind::kVariant;
    const std::optional<std::string> text = toml_.line_of(node, "variant");
    if (!text) return;
    try {
      // Equal variants have equal names, whatever order their knobs were written in.
      const Backend* backend = find_backend(pitch_.backend);
      if (backend != nullptr && &backend_of_variant(*text) != backend) {
        return toml_.note(node, fmt::format("variant {} is none of backend {}", quote_value(*text),
                                            pitch_.backend));
      }
      pitch_.contestant.variant = backend != nullptr ? backend->turned(*text, {}) : *text;
      pitch_.contestant.name = pitch_.contestant.variant;
    } catch (const Error& error) {
      toml_.note(node, error.what());
    }
  }

  // Only a CUDA source is launched: everything else launches for itself.
  void refuse_launches(const toml::table& table) {
    for (const std::string_view key : kCudaKeys) {
      if (const toml::node* node = table.get(key)) {
        toml_.note(*node, fmt::format("{} belongs to a source that ends in {}", key, kCudaEnding));
      }
    }
  }

  void read_source(const toml::node& node) {
    pitch_.contestant.kind = ContestantKind::kLibrary;
    const std::optional<std::string> text = toml_.line_of(node, "source");
    if (!text) return;
    pitch_.contestant.source = *text;
    const std::string ending = pitch_.contestant.source.extension().string();
    if (std::find(kSourceEndings.begin(), kSourceEndings.end(), ending) == kSourceEndings.end()) {
      return toml_.note(node,
                        fmt::format("source = {} ends in none of {}; other programs enter as a "
                                    "command",
                                    quote_value(*text), fmt::join(kSourceEndings, ", ")));
    }
    if (ending == kCudaEnding) {
      pitch_.contestant.kind = ContestantKind::kCuda;
      const std::string_view needed = backend_of(pitch_.contestant).name;
      if (pitch_.contestant.backend != needed) {
        toml_.note(node,
                   fmt::format("source = {} needs backend = \"{}\"", quote_value(*text), needed));
      }
    }
    std::error_code ignored;
    if (folder_.empty() || std::filesystem::is_regular_file(folder_ / *text, ignored)) return;
    toml_.note(node, fmt::format("there is no file {} beside the pitch", quote_value(*text)));
  }

  void read_command(const toml::node& node) {
    pitch_.contestant.kind = ContestantKind::kCommand;
    const toml::array* words = node.as_array();
    if (words == nullptr || words->empty() || words->size() > kCommandWordsMax) {
      return toml_.note(node, fmt::format("command is {}; an array of 1 to {} strings such as "
                                          "[\"python3\", \"mine.py\"] is allowed",
                                          words == nullptr ? describe_type(node)
                                          : words->empty() ? "empty"
                                                           : "too long",
                                          kCommandWordsMax));
    }
    for (const toml::node& word : *words) {
      const std::optional<std::string> text = toml_.line_of(word, "a word of command");
      pitch_.contestant.command.push_back(text.value_or(""));
    }
    if (pitch_.contestant.command.front().empty()) {
      toml_.note(words->front(), "command starts with an empty word; the program is needed there");
    }
  }

  const std::filesystem::path& folder_;
  TomlReader& toml_;
  Pitch& pitch_;
};

}  // namespace

void read_contestant(const toml::node& node, const std::filesystem::path& folder, TomlReader& toml,
                     Pitch& pitch) {
  ContestantReader(folder, toml, pitch).read(node);
}

}  // namespace thresher
