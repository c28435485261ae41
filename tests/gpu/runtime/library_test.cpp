// SPDX-License-Identifier: Apache-2.0
#include "gpu/runtime/library.hpp"

#include <gtest/gtest.h>

namespace thresher::gpu {
namespace {

TEST(Library, BindsWhatIsThereAndNamesTheFirstThatIsNot) {
  Library library("libm.so.6");
  ASSERT_TRUE(library.is_open()) << library.why_not();
  double (*cosine)(double) = nullptr;
  library.required(cosine, "cos");
  EXPECT_EQ(library.missing(), "");
  EXPECT_EQ(cosine(0), 1);
  EXPECT_NE(Library::file_of(cosine, "").find("libm"), std::string::npos);

  void (*none)() = nullptr;
  EXPECT_FALSE(library.optional(none, "no_such_function"));
  EXPECT_EQ(library.missing(), "");
  library.required(none, "nor_this");
  library.required(none, "nor_that");
  EXPECT_EQ(library.missing(), "nor_this");
  EXPECT_EQ(none, nullptr);
}

TEST(Library, SaysWhyItDoesNotOpen) {
  const Library library("libnobody_has_this.so");
  EXPECT_FALSE(library.is_open());
  EXPECT_NE(library.why_not().find("libnobody_has_this.so"), std::string::npos);
}

}  // namespace
}  // namespace thresher::gpu
