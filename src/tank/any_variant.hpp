// SPDX-License-Identifier: Apache-2.0
// Variants by their names, whichever backend they belong to: all that the tank asks of one.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "gemm/backend.hpp"
#include "tank/machine.hpp"
#include "thresher/engine.hpp"

namespace thresher {

// The backend that a pitch or a season names. Nothing if no engine of ours runs it: Blackwell's
// constraints are known, its kernels are not written.
std::optional<Backend> engine_of(std::string_view backend_word);

// Why the backend has no such knob or value; empty if it has.
std::string fault_of_knob(Backend backend, std::string_view knob, std::string_view value);

// The functions below throw Error where `variant` names none.

// Equal variants have equal names, whatever order their knobs were written in.
std::string normal_name(std::string_view variant);

// Every knob with its value, and `isa`: what the variant's instructions are written for.
std::map<std::string, std::string> variant_knobs(std::string_view variant);

// Throws Error naming the knob, its value and what is allowed.
std::string turn_knobs(std::string_view variant, const std::map<std::string, std::string>& knobs);

Support variant_supports(std::string_view variant, const Problem& problem, const Machine& machine);

// Scratch memory of a call; 0 where the variant cannot run the problem.
std::size_t variant_workspace_bytes(std::string_view variant, const Problem& problem,
                                    const Machine& machine);

}  // namespace thresher
