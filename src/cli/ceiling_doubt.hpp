// SPDX-License-Identifier: Apache-2.0
// A time under its speed of light means that the ceilings were measured while the machine was busy
// with something else: they are measured again, and what stays impossible is not printed as if it
// were a share.
#pragma once

#include <functional>
#include <string>

#include "backend/device.hpp"
#include "thresher/problem.hpp"

namespace thresher::cli {

// `before` if `us` is a possible time for the problem under it. Otherwise the machine is asked up
// to three times more, and the ceilings with the lowest floor are returned.
backend::Ceilings believable_ceilings(backend::Ceilings before, const Problem& problem, double us,
                                      const std::function<backend::Ceilings()>& measure_again);

// "0.85"; ">1" for what cannot be.
std::string share_text(double share);

}  // namespace thresher::cli
