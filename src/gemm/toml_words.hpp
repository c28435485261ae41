// SPDX-License-Identifier: Apache-2.0
// What all readers of TOML that people write have in common: its limits, and the words of a fault.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include "gemm/toml.hpp"

namespace thresher {

// toml++ 3.3 builds, searches and destroys the tables of dotted keys (a.b.c) recursively and
// without a limit. So many dots are more prose than anybody reads, and few enough for the stack.
inline constexpr std::size_t kDotCountMax = 4096;

// The text of a file, or its first `bytes_max` + 1 bytes: enough for a parser to refuse what is too
// large, and so an endless file ends. Throws Error: "cannot read <what> '<path>': <why>".
std::string read_start(const std::filesystem::path& path, std::string_view what,
                       std::size_t bytes_max);

// "a table", "an integer" ...
std::string_view describe_type(const toml::node& node);

// Text from a file as it stands in a fault: quoted, escaped, and short.
std::string quote_value(std::string_view text);

// What may be a name in ledgers and tables: 1 to 64 letters, digits, '_', '-' and '.'.
bool is_name(std::string_view text);
// What to say of a text that is none; empty if it is one.
std::string fault_of_name(std::string_view text);

}  // namespace thresher
