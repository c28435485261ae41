// SPDX-License-Identifier: Apache-2.0
#include "cli/backend_option.hpp"

#include <gtest/gtest.h>

#include "child.hpp"
#include "nvfp4/error_message.hpp"

namespace thresher::cli {
namespace {

using nvfp4::error_message;

constexpr const char* kNoGpu = "there is no GPU";
constexpr const char* kHasGpu = "";

TEST(ChooseBackend, TakesTheGpuWhereThereIsOne) {
  EXPECT_EQ(choose_backend("", {}, kHasGpu).name, "gpu");
  EXPECT_EQ(choose_backend("", {}, kNoGpu).name, "cpu");
}

TEST(ChooseBackend, TakesWhatWasNamed) {
  EXPECT_EQ(choose_backend("cpu", {}, kHasGpu).name, "cpu");
  EXPECT_EQ(choose_backend("gpu", {}, kHasGpu).name, "gpu");
  EXPECT_EQ(choose_backend("emulator", {}, kNoGpu).name, "emulator");
}

TEST(ChooseBackend, SaysWhyThereIsNoGpu) {
  EXPECT_EQ(error_message([] { choose_backend("gpu", {}, kNoGpu); }), kNoGpu);
  EXPECT_EQ(error_message([] { choose_backend("", {"gpu_sm90"}, kNoGpu); }), kNoGpu);
}

TEST(ChooseBackend, VariantsSayWhatTheyNeed) {
  EXPECT_EQ(choose_backend("", {"cpu_avx2:stages=4"}, kHasGpu).name, "cpu");
  EXPECT_EQ(choose_backend("", {"gpu_sm90:tokens=64"}, kHasGpu).name, "gpu");
  EXPECT_EQ(choose_backend("emulator", {"gpu_sm90"}, kNoGpu).name, "emulator");
}

TEST(ChooseBackend, RefusesVariantsOfAnotherBackend) {
  EXPECT_THROW(choose_backend("cpu", {"gpu_sm90"}, kHasGpu), UsageError);
  EXPECT_THROW(choose_backend("gpu", {"cpu_avx2"}, kHasGpu), UsageError);
  EXPECT_THROW(choose_backend("", {"gpu_sm90", "cpu_avx2"}, kHasGpu), UsageError);
}

TEST(ResolveBackend, AsksForNoGpuWhereTheCpuIsMeant) {
  EXPECT_EQ(resolve_backend("cpu").name, "cpu");
}

TEST(ResolveBackend, AgreesWithTheMachine) {
  const std::string why = why_no_device(gpu_engine_options());
  EXPECT_EQ(resolve_backend("").name, why.empty() ? "gpu" : "cpu");
  if (why.empty()) GTEST_SKIP() << "there is a GPU here: nothing to complain of";
  EXPECT_EQ(error_message([] { resolve_backend("gpu"); }), why);
}

TEST(BackendOption, TakesItsWordsOnly) {
  std::string word;
  const Command command{
      .name = "say", .what = "", .options = {backend_option(word)}, .run = [] { return kExitOk; }};
  EXPECT_EQ(run_here({"say", "--backend", "tpu"}, {command}).exit_code, kExitUsage);
  EXPECT_EQ(run_here({"say", "--backend", "gpu"}, {command}).exit_code, kExitOk);
  EXPECT_EQ(word, "gpu");
}

}  // namespace
}  // namespace thresher::cli
