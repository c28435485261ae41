// SPDX-License-Identifier: Apache-2.0
// docs/tuning.md: an engine with a plan of another machine, which it leaves unused and says so.
#include <cstdio>
#include <fstream>
#include <thresher/thresher.hpp>

using namespace thresher;
// head

int main() {
  std::ofstream("plan.json")
      << R"({"thresher_plan": 2, "machines": [{"machine": {"backend": "cpu", "device": "none",
    "threads": 3, "version": "0"}, "entries": []}]})";
  // body
  return engine.plan_note().find("plan.json is not used") == 0 ? 0 : 1;
}
