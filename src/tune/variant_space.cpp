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

// What the engine itself chooses from, knob by knob.
std::vector<KnobValues> chosen_knobs(const Backend& backend) {
  std::vector<KnobValues> all;
  for (const std::string& choice : backend.choices()) all.push_back(backend.knobs_of(choice));
  return all;
}

// A knob that says nothing about such a problem would only double the space. One that no search
// turns has a say all the same where choices differ in it.
bool has_a_say(const KnobText& knob, const Problem& problem,
               const std::vector<KnobValues>& chosen) {
  if (knob.name == "dual" && problem.op != Op::kDual) return false;
  return !knob.tried.empty() ||
         std::any_of(chosen.begin(), chosen.end(), [&](const KnobValues& knobs) {
           const auto found = knobs.find(knob.name);
           return found != knobs.end() && found->second != knob.default_value;
         });
}

int index_of(std::vector<std::string>& values, const std::string& value) {
  const auto found = std::find(values.begin(), values.end(), value);
  const auto index = static_cast<int>(found - values.begin());
  if (found == values.end()) values.push_back(value);
  return index;
}

// The engine's own choice has to be a point.
std::vector<std::string> with_default(const KnobText& knob) {
  std::vector<std::string> values = knob.tried;
  index_of(values, std::string(knob.default_value));
  return values;
}

// The next combination, counting like an odometer; false after the last.
bool advance(Point& point, const std::vector<int>& counts) {
  for (std::size_t i = point.size(); i-- > 0;) {
    if (++point[i] < counts[i]) return true;
    point[i] = 0;
  }
  return false;
}

class SpaceMaker {
 public:
  SpaceMaker(const Backend& backend, const Problem& problem, const Machine& machine)
      : backend_(backend), problem_(problem), machine_(machine), chosen_(chosen_knobs(backend)) {
    space().knobs.emplace_back("head");
    space().values.push_back(heads_of(backend));
    for (const KnobText& knob : backend.knobs()) {
      if (!has_a_say(knob, problem, chosen_)) continue;
      space().knobs.emplace_back(knob.name);
      space().values.push_back(with_default(knob));
      defaults_.emplace_back(knob.default_value);
    }
  }

  VariantSpace made() {
    add_grid();
    add_choices();
    return std::move(result_);
  }

 private:
  Space& space() { return result_.space; }

  // All combinations of what a search tries.
  void add_grid() {
    std::vector<int> counts;
    for (const auto& values : space().values) counts.push_back(static_cast<int>(values.size()));
    Point point(counts.size(), 0);
    do add(point);
    while (advance(point, counts));
  }

  // The engine's choices, and what differs from one of them in one knob: a grid is coarser than
  // what somebody has found out by hand.
  void add_choices() {
    std::vector<Point> centres;
    for (std::size_t i = 0; i < chosen_.size(); ++i) centres.push_back(point_of(i));
    for (const Point& centre : centres) {
      add(centre);
      for (std::size_t knob = 0; knob < centre.size(); ++knob) {
        for (std::size_t value = 0; value < space().values[knob].size(); ++value) {
          Point near = centre;
          near[knob] = static_cast<int>(value);
          add(near);
        }
      }
    }
  }

  Point point_of(std::size_t choice) {
    const std::string name = backend_.choices()[choice];
    Point point{index_of(space().values[0], head_of(name))};
    for (std::size_t i = 1; i < space().knobs.size(); ++i) {
      const auto turned = chosen_[choice].find(space().knobs[i]);
      point.push_back(index_of(
          space().values[i], turned == chosen_[choice].end() ? defaults_[i - 1] : turned->second));
    }
    return point;
  }

  // What runs, once.
  void add(const Point& point) {
    const auto value = [&](std::size_t knob) {
      return space().values[knob][static_cast<std::size_t>(point[knob])];
    };
    KnobValues knobs;
    for (std::size_t i = 1; i < point.size(); ++i) knobs.emplace(space().knobs[i], value(i));
    std::string name = backend_.turned(value(0), knobs);
    if (!backend_.supports(problem_, name, machine_).ok || !seen_.insert(name).second) return;
    space().points.push_back(point);
    space().guesses.push_back(backend_.model(problem_, name, machine_).us);
    result_.names.push_back(std::move(name));
  }

  const Backend& backend_;
  const Problem& problem_;
  const Machine& machine_;
  const std::vector<KnobValues> chosen_;
  std::vector<std::string> defaults_;  // of all knobs but the head
  std::set<std::string> seen_;
  VariantSpace result_;
};

}  // namespace

std::optional<std::size_t> VariantSpace::find(const std::string& variant) const {
  const auto found = std::find(names.begin(), names.end(), variant);
  if (found == names.end()) return std::nullopt;
  return static_cast<std::size_t>(found - names.begin());
}

VariantSpace variant_space(const Backend& backend, const Problem& problem, const Machine& machine) {
  return SpaceMaker(backend, problem, machine).made();
}

}  // namespace thresher::tune
