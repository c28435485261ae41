// SPDX-License-Identifier: Apache-2.0
// The suite files that travel inside the binary; cmake/embed_files.cmake writes the
// table.
#pragma once

namespace thresher {

struct BuiltinSuite {
  const char* name;
  const char* toml;
};

extern const BuiltinSuite kBuiltinSuites[];
extern const int kBuiltinSuiteCount;

}  // namespace thresher
