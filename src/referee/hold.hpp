// SPDX-License-Identifier: Apache-2.0
// The referee's own hold of what a match is played on, for the length of it. Each venue has its
// own; whoever judges asks it, and never which device it is.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "referee/contestant/build.hpp"
#include "referee/timing/contestant_process.hpp"
#include "thresher/engine.hpp"

namespace thresher::referee {

class Hold {
 public:
  virtual ~Hold() = default;
  // What knows what is right.
  virtual const Engine& engine() const = 0;
  // What arms and builds need of it.
  virtual void equip(ArmOptions& arm) const { arm.engine = &engine(); }
  virtual void equip(BuildOptions&) const {}

  // For the log of a match; empty where there is nothing to say.
  virtual std::string description() const { return {}; }
  virtual std::string clocks() const { return {}; }
};

}  // namespace thresher::referee
