// SPDX-License-Identifier: Apache-2.0
// The data files of the tournament that travel inside the binary; cmake/embed_files.cmake writes
// the tables.
#pragma once

namespace thresher {

struct BuiltinFile {
  const char* name;  // its stem
  const char* text;
};

extern const BuiltinFile kBuiltinConstraintFiles[];  // constraints/*.toml
extern const int kBuiltinConstraintFileCount;

extern const BuiltinFile kBuiltinSeasonFiles[];  // seasons/*.toml
extern const int kBuiltinSeasonFileCount;

}  // namespace thresher
