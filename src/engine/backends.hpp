// SPDX-License-Identifier: Apache-2.0
// The table of backends: the only place that knows them all.
#pragma once

#include <span>
#include <string_view>

#include "backend/backend.hpp"

namespace thresher {

std::span<const Backend* const> backends();

// By its name, as in --backend. Throws Error listing the names.
const Backend& backend_named(std::string_view name);
// Null where no backend of ours has this name.
const Backend* find_backend(std::string_view name);
// That of EngineOptions::device: "gpu:1" is the GPU's. Throws Error listing the names.
const Backend& backend_of_device(std::string_view device);
// The one that a variant's name begins like: "gpu_sm90:stages=2" is the GPU's. Throws Error if it
// begins like none.
const Backend& backend_of_variant(std::string_view variant);
// What computes where nobody says: the fastest that this machine has and that opens with these
// options, whatever device they name.
const Backend& default_backend(EngineOptions options);
// The one that every machine has.
const Backend& host_backend();

}  // namespace thresher
