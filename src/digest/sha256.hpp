// SPDX-License-Identifier: Apache-2.0
// SHA-256 (FIPS 180-4) of a whole message, as 64 lower-case hex digits: what chains the ledger's
// entries and tells contestants apart. A page of our own instead of one more library to link.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace thresher {

std::string sha256_hex(std::span<const std::byte> message);
std::string sha256_hex(std::string_view message);

}  // namespace thresher
