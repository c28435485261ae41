// SPDX-License-Identifier: Apache-2.0
#include "tune/recorded_space.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <system_error>

#include "control.hpp"
#include "thresher/error.hpp"

namespace thresher::tune {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::uintmax_t kRecordBytesMax = 256 << 20;

// A result before anybody knows all values of its knobs.
struct Result {
  std::vector<Json> values;
  double time = std::numeric_limits<double>::infinity();
};

const Json& member(const Json& object, const char* name, bool (Json::*is)() const noexcept,
                   const char* kind) {
  const auto found = object.is_object() ? object.find(name) : object.end();
  if (found == object.end()) throw Error(fmt::format("has no '{}'", name));
  if (!((*found).*is)()) throw Error(fmt::format("'{}' is not {}", name, kind));
  return *found;
}

bool is_value(const Json& value) {
  return value.is_number() || value.is_boolean() || value.is_string();
}

std::string text_of(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

// What the objective was measured to be.
double time_of(const Json& result) {
  std::string objective = "time";
  if (const auto found = result.find("objectives"); found != result.end()) {
    if (!found->is_array() || found->size() != 1 || !found->front().is_string()) {
      throw Error("'objectives' is not a list of one name");
    }
    objective = found->front();
    if (has_control(objective)) throw Error("its objective has a control character in its name");
  }
  for (const Json& measured : member(result, "measurements", &Json::is_array, "a list")) {
    if (member(measured, "name", &Json::is_string, "a text") != objective) continue;
    const Json& value = member(measured, "value", &Json::is_number, "a number");
    const double time = value;
    if (time > 0 && std::isfinite(time)) return time;
    throw Error(fmt::format("its {} of {} is not above 0", objective, value.dump()));
  }
  throw Error(fmt::format("it is correct but has no measurement called '{}'", objective));
}

Result result_from(const Json& json, const std::vector<std::string>& knobs) {
  const Json& configuration = member(json, "configuration", &Json::is_object, "an object");
  if (configuration.size() != knobs.size()) throw Error("has other knobs than the first result");
  Result result;
  for (const std::string& knob : knobs) {
    const auto found = configuration.find(knob);
    if (found == configuration.end()) throw Error("has other knobs than the first result");
    if (!is_value(*found)) throw Error(fmt::format("knob '{}' is no plain value", knob));
    result.values.push_back(*found);
  }
  const std::string invalidity = member(json, "invalidity", &Json::is_string, "a text");
  if (invalidity == "correct") result.time = time_of(json);
  return result;
}

std::vector<Result> results_from(const Json& results, std::vector<std::string>& knobs) {
  std::vector<Result> made;
  for (const Json& json : results) {
    try {
      if (made.empty()) {
        const Json& first = member(json, "configuration", &Json::is_object, "an object");
        for (const auto& [knob, value] : first.items()) {
          if (has_control(knob)) throw Error("a knob has a control character in its name");
          knobs.push_back(knob);
        }
      }
      made.push_back(result_from(json, knobs));
    } catch (const Error& fault) {
      throw Error(fmt::format("result {}: {}", made.size(), fault.what()));
    }
  }
  return made;
}

// Numbers by size, so that neighbours stand side by side; what is no number follows by name.
std::vector<Json> values_in_order(const std::vector<Result>& results, std::size_t knob) {
  std::map<std::string, Json> once;
  for (const Result& result : results)
    once.emplace(result.values[knob].dump(), result.values[knob]);
  std::vector<Json> values;
  for (const auto& [text, value] : once) values.push_back(value);
  std::stable_sort(values.begin(), values.end(), [](const Json& a, const Json& b) {
    if (a.is_number() && b.is_number()) return a.get<double>() < b.get<double>();
    return a.is_number() && !b.is_number();
  });
  return values;
}

void add_knob(RecordedSpace& recorded, const std::string& name, const std::vector<Result>& results,
              std::size_t knob) {
  const std::vector<Json> values = values_in_order(results, knob);
  if (values.size() < 2) return;
  std::map<std::string, int> index_of;
  std::vector<std::string> texts;
  for (const Json& value : values) {
    index_of.emplace(value.dump(), static_cast<int>(texts.size()));
    texts.push_back(text_of(value));
  }
  recorded.space.knobs.push_back(name);
  recorded.space.values.push_back(std::move(texts));
  for (std::size_t i = 0; i < results.size(); ++i) {
    recorded.space.points[i].push_back(index_of.at(results[i].values[knob].dump()));
  }
}

}  // namespace

RecordedSpace recorded_space_from_json(std::string_view text) {
  if (text.starts_with("\x1f\x8b")) throw Error("it is compressed: gunzip it first");
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) throw Error("it is not JSON");
  std::vector<std::string> knobs;
  std::vector<Result> results;
  try {
    results = results_from(member(json, "results", &Json::is_array, "a list"), knobs);
  } catch (const Error& fault) {
    const std::string what = fault.what();
    throw Error(what.starts_with("result ") ? what : fmt::format("the file {}", what));
  }
  RecordedSpace recorded;
  recorded.space.points.resize(results.size());
  for (std::size_t i = 0; i < knobs.size(); ++i) add_knob(recorded, knobs[i], results, i);
  std::map<Point, std::size_t> seen;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const auto [before, is_new] = seen.emplace(recorded.space.points[i], i);
    if (!is_new) throw Error(fmt::format("result {}: the same as result {}", i, before->second));
    recorded.times.push_back(results[i].time);
    recorded.runs_count += std::isfinite(results[i].time) ? 1 : 0;
  }
  if (recorded.runs_count == 0) throw Error("none of its results is correct");
  recorded.least = *std::min_element(recorded.times.begin(), recorded.times.end());
  return recorded;
}

RecordedSpace read_recorded_space(const std::filesystem::path& path) {
  std::error_code error;
  const std::uintmax_t bytes = std::filesystem::file_size(path, error);
  if (error) throw Error(fmt::format("cannot read {}: {}", path.string(), error.message()));
  if (bytes > kRecordBytesMax) {
    throw Error(fmt::format("{} has {} bytes, and {} are read at most", path.string(), bytes,
                            kRecordBytesMax));
  }
  std::ifstream stream(path, std::ios::binary);
  std::string text(bytes, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(bytes));
  if (!stream) throw Error(fmt::format("cannot read {}", path.string()));
  try {
    RecordedSpace recorded = recorded_space_from_json(text);
    recorded.name = path.stem().string();
    return recorded;
  } catch (const Error& fault) {
    throw Error(fmt::format("{}: {}", path.string(), fault.what()));
  }
}

std::string recorded_space_to_json(const VariantSpace& space,
                                   const std::map<std::string, double>& us_by_name) {
  Json json{{"schema_version", "1.0.0"},
            {"metadata", {{"timeunit", "microseconds"}}},
            {"results", Json::array()}};
  for (std::size_t i = 0; i < space.names.size(); ++i) {
    const auto measured = us_by_name.find(space.names[i]);
    if (measured == us_by_name.end()) continue;
    const bool runs = measured->second > 0;
    Json configuration = Json::object();
    for (std::size_t knob = 0; knob < space.space.knobs.size(); ++knob) {
      const std::string& value =
          space.space.values[knob][static_cast<std::size_t>(space.space.points[i][knob])];
      const Json number = Json::parse(value, nullptr, /*allow_exceptions=*/false);
      configuration[space.space.knobs[knob]] = number.is_number() ? number : Json(value);
    }
    json["results"].push_back(
        {{"configuration", configuration},
         {"times", Json::object()},
         {"invalidity", runs ? "correct" : "runtime"},
         {"correctness", runs ? 1 : 0},
         {"objectives", Json::array({"time"})},
         {"measurements", Json::array({{{"name", "time"},
                                        {"value", runs ? Json(measured->second) : Json("none")},
                                        {"unit", "us"}}})}});
  }
  return json.dump() + "\n";
}

}  // namespace thresher::tune
