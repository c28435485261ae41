// SPDX-License-Identifier: Apache-2.0
#include "tank/pitch/contestant_reader.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "tank/any_variant.hpp"
#include "tank/pitch/cuda_launch_reader.hpp"
#include "thresher/error.hpp"

namespace thresher {
namespace {

constexpr std::array<std::string_view, 4> kForms = {"knobs", "variant", "source", "command"};
constexpr std::array<std::string_view, 5> kSourceEndings = {".c", ".cpp", ".cc", ".so", ".cu"};
constexpr std::string_view kCudaEnding = kSourceEndings[4];
constexpr std::size_t kCommandWordsMax = 64;

std::vector<std::string_view> allowed_keys() {
  std::vector<std::string_view> keys(kForms.begin(), kForms.end());
  keys.insert(keys.end(), CudaLaunchReader::kKeys.begin(), CudaLaunchReader::kKeys.end());
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

}  // namespace

void ContestantReader::read(const toml::node& node, Pitch& pitch) {
  pitch.contestant.name = pitch.name;
  pitch.contestant.folder = folder_;
  pitch.contestant.backend = engine_of(pitch.backend).value_or(Backend::kCpu);
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
  if (forms[0] == "knobs") return read_knobs(form, pitch);
  if (forms[0] == "variant") return read_variant(form, pitch);
  if (forms[0] == "command") return read_command(form, pitch);
  read_source(form, pitch);
  if (pitch.contestant.kind == ContestantKind::kCuda) {
    pitch.contestant.launches = CudaLaunchReader(toml_).read(*table);
  }
}

// Only a CUDA source is launched: everything else launches for itself.
void ContestantReader::refuse_launches(const toml::table& table) {
  for (const std::string_view key : CudaLaunchReader::kKeys) {
    if (const toml::node* node = table.get(key)) {
      toml_.note(*node, fmt::format("{} belongs to a source that ends in {}", key, kCudaEnding));
    }
  }
}

// An empty table is allowed: the champion against itself, which is a control.
void ContestantReader::read_knobs(const toml::node& node, Pitch& pitch) {
  pitch.contestant.kind = ContestantKind::kVariant;
  const toml::table* table = node.as_table();
  if (table == nullptr) {
    return toml_.note(node, fmt::format("knobs is {}; a table such as {{stages = 16}} is allowed",
                                        describe_type(node)));
  }
  for (const auto& [key, value] : *table) read_knob(key, value, pitch);
}

void ContestantReader::read_knob(const toml::key& key, const toml::node& node, Pitch& pitch) {
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
  if (const std::optional<Backend> backend = engine_of(pitch.backend)) {
    const std::string fault = fault_of_knob(*backend, key.str(), value);
    if (!fault.empty()) return toml_.note(key.source().begin, fault);
  }
  pitch.knobs.emplace(key.str(), value);
}

void ContestantReader::read_variant(const toml::node& node, Pitch& pitch) {
  pitch.contestant.kind = ContestantKind::kVariant;
  const std::optional<std::string> text = toml_.line_of(node, "variant");
  if (!text) return;
  try {
    // Equal variants have equal names, whatever order their knobs were written in.
    const std::optional<Backend> backend = engine_of(pitch.backend);
    if (backend && backend_of_variant(*text) != *backend) {
      return toml_.note(
          node, fmt::format("variant {} is none of backend {}", quote_value(*text), pitch.backend));
    }
    pitch.contestant.variant = backend ? normal_name(*text) : *text;
    pitch.contestant.name = pitch.contestant.variant;
  } catch (const Error& error) {
    toml_.note(node, error.what());
  }
}

void ContestantReader::read_source(const toml::node& node, Pitch& pitch) {
  pitch.contestant.kind = ContestantKind::kLibrary;
  const std::optional<std::string> text = toml_.line_of(node, "source");
  if (!text) return;
  pitch.contestant.source = *text;
  const std::string ending = pitch.contestant.source.extension().string();
  if (std::find(kSourceEndings.begin(), kSourceEndings.end(), ending) == kSourceEndings.end()) {
    return toml_.note(node, fmt::format("source = {} ends in none of {}; other programs enter as a "
                                        "command",
                                        quote_value(*text), fmt::join(kSourceEndings, ", ")));
  }
  if (ending == kCudaEnding) {
    pitch.contestant.kind = ContestantKind::kCuda;
    if (pitch.contestant.backend != Backend::kGpu) {
      toml_.note(node, fmt::format("source = {} needs backend = \"gpu\"", quote_value(*text)));
    }
  }
  std::error_code ignored;
  if (folder_.empty() || std::filesystem::is_regular_file(folder_ / *text, ignored)) return;
  toml_.note(node, fmt::format("there is no file {} beside the pitch", quote_value(*text)));
}

void ContestantReader::read_command(const toml::node& node, Pitch& pitch) {
  pitch.contestant.kind = ContestantKind::kCommand;
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
    pitch.contestant.command.push_back(text.value_or(""));
  }
  if (pitch.contestant.command.front().empty()) {
    toml_.note(words->front(), "command starts with an empty word; the program is needed there");
  }
}

}  // namespace thresher
