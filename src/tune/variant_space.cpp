// SPDX-License-Identifier: Apache-2.0
#include "tune/variant_space.hpp"

#include <algorithm>
#include <set>

namespace thresher::tune {
namespace {

// "cpu_avx512vnni:stages=8" begins with it.
std::string head_of(const std::string& variant) { return variant.substr(0, variant.find(':')); }

std::vector<std::string> heads_of(const Backend& backend) {
  std::vector<std::string> heads;
  for (const std::string& choice : backend.choices()) {
    const std::string head = head_of(choice);
    if (std::find(heads.begin(), heads.end(), head) == heads.end()) heads.push_back(head);
  }
  return heads;
}

// A knob that says nothing about such a problem would only double the space.
bool has_a_say(const KnobText& knob, const Problem& problem) {
  return !knob.tried.empty() && (knob.name != "dual" || problem.op == Op::kDual);
}

// The engine's own choice has to be a point.
std::vector<std::string> with_default(const KnobText& knob) {
  std::vector<std::string> values = knob.tried;
  if (std::find(values.begin(), values.end(), knob.default_value) == values.end()) {
    values.push_back(knob.default_value);
  }
  return values;
}

// The next combination, counting like an odometer; false after the last.
bool advance(Point& point, const std::vector<std::vector<std::string>>& values) {
  for (std::size_t i = point.size(); i-- > 0;) {
    if (++point[i] < static_cast<int>(values[i].size())) return true;
    point[i] = 0;
  }
  return false;
}

}  // namespace

std::optional<std::size_t> VariantSpace::find(const std::string& variant) const {
  const auto found = std::find(names.begin(), names.end(), variant);
  if (found == names.end()) return std::nullopt;
  return static_cast<std::size_t>(found - names.begin());
}

VariantSpace variant_space(const Backend& backend, const Problem& problem, const Machine& machine) {
  VariantSpace result;
  Space& space = result.space;
  space.knobs.emplace_back("head");
  space.values.push_back(heads_of(backend));
  for (const KnobText& knob : backend.knobs()) {
    if (!has_a_say(knob, problem)) continue;
    space.knobs.push_back(knob.name);
    space.values.push_back(with_default(knob));
  }
  std::set<std::string> seen;
  Point point(space.knobs.size(), 0);
  do {
    KnobValues knobs;
    for (std::size_t i = 1; i < point.size(); ++i) {
      knobs.emplace(space.knobs[i], space.values[i][static_cast<std::size_t>(point[i])]);
    }
    std::string name = backend.turned(space.values[0][static_cast<std::size_t>(point[0])], knobs);
    if (!backend.supports(problem, name, machine).ok || !seen.insert(name).second) continue;
    space.points.push_back(point);
    space.guesses.push_back(backend.model(problem, name, machine).us);
    result.names.push_back(std::move(name));
  } while (advance(point, space.values));
  return result;
}

}  // namespace thresher::tune
