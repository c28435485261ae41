// SPDX-License-Identifier: Apache-2.0
// Every type names its fields once, in walk(). The Writer and the Reader both take that walk.
//
// Heats were called rounds when the first ledgers were written, and keep that name here: "rounds",
// "round_count", "more_rounds_needed". Other keys would make those ledgers unreadable, and their
// entries cannot be rewritten, because each carries a hash of the one before.
#include "referee/statistics/json.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <string>
#include <type_traits>

#include "thresher/error.hpp"

namespace thresher {
namespace {

using Json = nlohmann::json;

// The Writer walks over constants.
template <typename Type, typename Wanted>
concept Is = std::is_same_v<std::remove_const_t<Type>, Wanted>;

void walk(auto& visit, Is<Block> auto& block) {
  visit("problem_index", block.problem_index);
  visit("first_arm_a", block.first_arm_a);
  visit("a_ns", block.a_ns);
  visit("b_ns", block.b_ns);
  visit.unless_default("disturbed", block.disturbed);
}

void walk(auto& visit, Is<HeatSamples> auto& heat) {
  visit("match", heat.match);
  visit("same", heat.same);
  visit("slowed", heat.slowed);
}

void walk(auto& visit, Is<CallTiming> auto& timing) {
  visit("calls", timing.calls);
  visit("cold", timing.cold);
}

void walk(auto& visit, Is<MatchSamples> auto& samples) {
  visit("problems", samples.problems);
  visit("slowed_truth", samples.slowed_truth);
  visit("rounds", samples.heats);
  visit.unless_default("same_plan", samples.same_plan);
  visit.unless_default("timing", samples.timing);
}

void walk(auto& visit, Is<DealTerms> auto& terms) {
  visit("speedup_min", terms.speedup_min);
  visit("regression_max", terms.regression_max);
  visit("spread_max", terms.spread_max);
  visit.unless_default("tail_max", terms.tail_max);
  visit("confidence", terms.confidence);
}

void walk(auto& visit, Is<Estimate> auto& estimate) {
  visit("value", estimate.value);
  visit("low", estimate.low);
  visit("high", estimate.high);
}

void walk(auto& visit, Is<ProblemEstimate> auto& estimate) {
  visit("problem", estimate.problem);
  visit("speedup", estimate.speedup);
  visit("lower_bound", estimate.lower_bound);
  visit("champion_us", estimate.champion_us);
  visit("challenger_us", estimate.challenger_us);
  visit("champion_spread", estimate.champion_spread);
  visit("challenger_spread", estimate.challenger_spread);
}

void walk(auto& visit, Is<Controls> auto& controls) {
  visit("same", controls.same);
  visit("slowed", controls.slowed);
  visit("slowed_truth", controls.slowed_truth);
  visit("ok", controls.ok);
  visit("why_not", controls.why_not);
}

void walk(auto& visit, Is<MatchEstimate> auto& estimate) {
  visit("speedup", estimate.speedup);
  visit("lower_bound", estimate.lower_bound);
  visit("problems", estimate.problems);
  visit("controls", estimate.controls);
  visit("round_count", estimate.heat_count);
  visit("minimum_detectable_effect", estimate.minimum_detectable_effect);
  visit("more_rounds_needed", estimate.more_heats_needed);
  visit.unless_default("blocks", estimate.block_count);
  visit.unless_default("blocks_left_out", estimate.left_out_count);
}

void walk(auto& visit, Is<Verdict> auto& verdict) {
  visit("kind", verdict.kind);
  visit("check", verdict.check);
  visit("reason", verdict.reason);
  visit("estimate", verdict.estimate);
  visit.unless_default("timing", verdict.timing);
  visit("missing_protections", verdict.missing_protections);
}

class Writer {
 public:
  template <typename Value>
  void operator()(const char* name, const Value& value) {
    object_[name] = json_of(value);
  }

  // What ledgers did not have from the beginning, and most entries do not need.
  template <typename Value>
  void unless_default(const char* name, const Value& value) {
    if (value != Value{}) object_[name] = json_of(value);
  }

  template <typename Owner>
  static Json json_of(const Owner& owner) {
    Writer writer;
    walk(writer, owner);
    return std::move(writer.object_);
  }

 private:
  static Json json_of(bool value) { return value; }
  static Json json_of(int value) { return value; }
  static Json json_of(const std::string& text) { return text; }
  static Json json_of(VerdictKind kind) { return to_string(kind); }
  static Json json_of(measure::Surroundings calls) { return measure::to_string(calls); }
  static Json json_of(const double (&pair)[2]) {
    return Json::array({json_of(pair[0]), json_of(pair[1])});
  }

  static Json json_of(double value) {
    if (std::isfinite(value)) return value;
    if (std::isnan(value)) return "nan";
    return value > 0 ? "inf" : "-inf";
  }

  template <typename Item>
  static Json json_of(const std::vector<Item>& items) {
    Json list = Json::array();
    for (const Item& item : items) list.push_back(json_of(item));
    return list;
  }

  template <typename Value>
  static Json json_of(const std::optional<Value>& value) {
    return value ? json_of(*value) : Json();
  }

  Json object_ = Json::object();
};

// A value and the way to it, so that a complaint can name the field.
class Reader {
 public:
  Reader(const Json& value, std::string path) : value_(value), path_(std::move(path)) {}

  template <typename Value>
  void operator()(const char* name, Value& out) const {
    field(name).read(out);
  }

  template <typename Value>
  void unless_default(const char* name, Value& out) const {
    out = Value{};
    if (value_.is_object() && value_.contains(name)) field(name).read(out);
  }

  template <typename Owner>
  void read(Owner& out) const {
    walk(*this, out);
  }

  void read(MatchSamples& out) const {
    walk(*this, out);
    for (std::size_t i = 0; i < out.heats.size(); ++i) {
      const Reader heat = field("rounds").item(i);
      heat.field("match").check_problems(out.heats[i].match, out.problems.size());
      heat.field("same").check_problems(out.heats[i].same, out.problems.size());
      heat.field("slowed").check_problems(out.heats[i].slowed, out.problems.size());
    }
  }

 private:
  Reader field(const char* name) const {
    if (!value_.is_object()) refuse("an object");
    const auto found = value_.find(name);
    if (found == value_.end()) throw Error(fmt::format("{}.{}: missing", path_, name));
    return {*found, fmt::format("{}.{}", path_, name)};
  }

  Reader item(std::size_t index) const {
    return {value_[index], fmt::format("{}[{}]", path_, index)};
  }

  [[noreturn]] void refuse(const std::string& expected) const {
    // The beginning of what is there helps; all of it may be megabytes.
    const std::string found = value_.is_structured()
                                  ? value_.type_name()
                                  : value_.dump(-1, ' ', true, Json::error_handler_t::replace);
    throw Error(fmt::format("{}: expected {}, found {}", path_, expected, found.substr(0, 40)));
  }

  void read(bool& out) const {
    if (!value_.is_boolean()) refuse("true or false");
    out = value_.get<bool>();
  }

  void read(int& out) const {
    if (!value_.is_number_integer()) refuse("an integer");
    const auto wide = value_.get<double>();  // get<int> alone would wrap around
    if (wide < std::numeric_limits<int>::min() || wide > std::numeric_limits<int>::max()) {
      refuse("an integer of 32 bits");
    }
    out = value_.get<int>();
  }

  void read(double& out) const {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    if (value_.is_number()) {
      out = value_.get<double>();
    } else if (value_ == "inf") {
      out = kInfinity;
    } else if (value_ == "-inf") {
      out = -kInfinity;
    } else if (value_ == "nan") {
      out = std::numeric_limits<double>::quiet_NaN();
    } else {
      refuse("a number");
    }
  }

  void read(double (&out)[2]) const {
    if (!value_.is_array() || value_.size() != 2) refuse("two numbers");
    item(0).read(out[0]);
    item(1).read(out[1]);
  }

  void read(std::string& out) const {
    if (!value_.is_string()) refuse("text");
    out = value_.get<std::string>();
  }

  void read(VerdictKind& out) const { read_word(verdict_kind_from_string, out); }
  void read(measure::Surroundings& out) const { read_word(measure::surroundings_from_string, out); }

  template <typename Enum>
  void read_word(Enum (*from_string)(std::string_view), Enum& out) const {
    std::string word;
    read(word);
    try {
      out = from_string(word);
    } catch (const Error& error) {
      throw Error(fmt::format("{}: {}", path_, error.what()));
    }
  }

  template <typename Item>
  void read(std::vector<Item>& out) const {
    if (!value_.is_array()) refuse("a list");
    out.assign(value_.size(), Item{});
    for (std::size_t i = 0; i < out.size(); ++i) item(i).read(out[i]);
  }

  template <typename Value>
  void read(std::optional<Value>& out) const {
    out.reset();
    if (!value_.is_null()) read(out.emplace());
  }

  // Whoever uses the samples takes problem_index as an index.
  void check_problems(const std::vector<Block>& blocks, std::size_t problem_count) const {
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      const int index = blocks[i].problem_index;
      if (index >= 0 && static_cast<std::size_t>(index) < problem_count) continue;
      item(i)
          .field("problem_index")
          .refuse(fmt::format("the index of one of {} problems", problem_count));
    }
  }

  const Json& value_;
  const std::string path_;
};

}  // namespace

void to_json(Json& json, const MatchSamples& samples) { json = Writer::json_of(samples); }
void to_json(Json& json, const DealTerms& terms) { json = Writer::json_of(terms); }
void to_json(Json& json, const Estimate& estimate) { json = Writer::json_of(estimate); }
void to_json(Json& json, const ProblemEstimate& estimate) { json = Writer::json_of(estimate); }
void to_json(Json& json, const Controls& controls) { json = Writer::json_of(controls); }
void to_json(Json& json, const MatchEstimate& estimate) { json = Writer::json_of(estimate); }
void to_json(Json& json, const Verdict& verdict) { json = Writer::json_of(verdict); }

void from_json(const Json& json, MatchSamples& out) { Reader(json, "samples").read(out); }
void from_json(const Json& json, DealTerms& out) { Reader(json, "terms").read(out); }
void from_json(const Json& json, Estimate& out) { Reader(json, "estimate").read(out); }
void from_json(const Json& json, ProblemEstimate& out) { Reader(json, "estimate").read(out); }
void from_json(const Json& json, Controls& out) { Reader(json, "controls").read(out); }
void from_json(const Json& json, MatchEstimate& out) { Reader(json, "estimate").read(out); }
void from_json(const Json& json, Verdict& out) { Reader(json, "verdict").read(out); }

}  // namespace thresher
