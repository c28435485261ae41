// SPDX-License-Identifier: Apache-2.0
// What is wrong with one extent of a group, as in "k = 40 is not a multiple of 16"; empty when
// nothing is. check(Problem) puts the problem and the group in front of it, the suite reader the
// line and the column, so that the limits stand in one place.
#pragma once

#include <cstdint>
#include <string>

namespace thresher {

std::string fault_of_m(std::int64_t m);
std::string fault_of_n(std::int64_t n);
std::string fault_of_k(std::int64_t k);
std::string fault_of_group_count(std::int64_t group_count);

}  // namespace thresher
