// SPDX-License-Identifier: Apache-2.0
// What a node takes an order to mean; orders that are carried out are seen on a cluster.
#include "cli/cluster_task.hpp"

#include <gtest/gtest.h>

#include "engine/backends.hpp"

namespace thresher::cli {
namespace {

// A processor, and a machine's GPU, in name.
Backend row_of(std::string (*machine_class)()) {
  Backend row = host_backend();
  row.machine_class = machine_class;
  return row;
}

std::string refusal_of(const std::vector<std::string>& classes,
                       const std::vector<const Backend*>& usable) {
  try {
    backend_of_class(classes, usable);
  } catch (const OtherClass& error) {
    return error.what();
  }
  return "none";
}

// One command tunes on nodes of both kinds: each task names a class, and a node with GPUs has two.
TEST(BackendOfClass, IsTheOneThatWasAskedFor) {
  const Backend gpu = row_of([] { return std::string("NVIDIA H200, 132 SMs, up to 1.98 GHz"); });
  const Backend cpu = row_of([] { return std::string("AMD EPYC 9654, 96 cores"); });
  EXPECT_EQ(&backend_of_class({"h200"}, {&gpu, &cpu}), &gpu);
  EXPECT_EQ(&backend_of_class({"epyc"}, {&gpu, &cpu}), &cpu);
  EXPECT_EQ(&backend_of_class({"xeon", "EPYC"}, {&cpu}), &cpu);
  EXPECT_EQ(&backend_of_class({}, {&gpu, &cpu}), &gpu) << "the default one";
  EXPECT_EQ(refusal_of({"h200"}, {&cpu}),
            "it is of other classes (AMD EPYC 9654, 96 cores) than h200");
  EXPECT_EQ(refusal_of({"a100", "b200"}, {&gpu, &cpu}),
            "it is of other classes (NVIDIA H200, 132 SMs, up to 1.98 GHz; AMD EPYC 9654, 96 "
            "cores) than a100 or b200");
  EXPECT_THROW(check_class({"h200"}, "AMD EPYC 9654"), OtherClass);
  EXPECT_NO_THROW(check_class({}, "AMD EPYC 9654"));
}

}  // namespace
}  // namespace thresher::cli
