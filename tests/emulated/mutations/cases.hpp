// SPDX-License-Identifier: Apache-2.0
// Runs that say, all together, every word by which kernels order something.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace thresher::emulated::testing {

struct Case {
  std::string name;
  // Results, the same for every seed. Throws Error where the emulator finds fault.
  std::function<std::vector<std::uint8_t>(std::uint64_t seed)> run;
};

// All variants, or one for every place at which a word is said.
std::vector<Case> every_case();
std::vector<Case> few_cases();

}  // namespace thresher::emulated::testing
