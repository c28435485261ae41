// SPDX-License-Identifier: Apache-2.0
#include "measure/surroundings.hpp"

#include <gtest/gtest.h>

#include "nvfp4/error_message.hpp"

namespace thresher::measure {
namespace {

TEST(Surroundings, NamesAreReadBackAndHaveWords) {
  struct Case {
    Surroundings surroundings;
    const char* name;
    const char* words;
  };
  const Case cases[] = {{Surroundings::kForeign, "foreign", "among foreign kernels"},
                        {Surroundings::kBackToBack, "back_to_back", "back to back"},
                        {Surroundings::kAlone, "alone", "single calls"}};
  for (const Case& one : cases) {
    EXPECT_EQ(to_string(one.surroundings), one.name);
    EXPECT_EQ(surroundings_from_string(one.name), one.surroundings);
    EXPECT_EQ(words_of(one.surroundings), one.words);
  }
  EXPECT_EQ(nvfp4::error_message([] { surroundings_from_string("back to back"); }),
            "surroundings are foreign, back_to_back or alone");
}

}  // namespace
}  // namespace thresher::measure
