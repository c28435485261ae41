// SPDX-License-Identifier: Apache-2.0
// --backend: what a command computes on. Without it, a GPU where there is a usable one, and the CPU
// otherwise.
#pragma once

#include <string>
#include <vector>

#include "cli/command.hpp"
#include "engine/backends.hpp"

namespace thresher::cli {

// `word` stays empty when nobody says. `words` are the backends that the command can use.
Option backend_option(std::string& word, const std::vector<std::string>& words = {"cpu", "gpu"});

// The backend that was named, else the one that the named variants belong to; null where nobody
// says. Throws UsageError where a variant belongs to another backend.
const Backend* backend_asked_for(const std::string& word, const std::vector<std::string>& variants);

// That one, or what this machine has. Throws Error saying what this machine lacks for it.
const Backend& resolve_backend(const std::string& word,
                               const std::vector<std::string>& variants = {});

// --device: which of a backend's devices, as in "gpu:1" or "emulator:sm80". `word` stays empty when
// nobody says.
Option device_option(std::string& word);

// How every command opens a device: compiled kernels are kept in the user's cache, and NVRTC is
// also looked for in the Python environment that is active and in the one that ./run makes.
EngineOptions engine_options(const Backend& backend);
// The same of no device in particular.
EngineOptions engine_options();
// The same of the device that --device names. Throws Error where there is no such device.
EngineOptions engine_options(const Backend& backend, const std::string& device);

}  // namespace thresher::cli
