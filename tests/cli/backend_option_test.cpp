// SPDX-License-Identifier: Apache-2.0
#include "cli/backend_option.hpp"

#include <gtest/gtest.h>

#include "child.hpp"
#include "nvfp4/error_message.hpp"

namespace thresher::cli {
namespace {

using nvfp4::error_message;

TEST(BackendAskedFor, IsNoneWhereNobodySays) { EXPECT_EQ(backend_asked_for("", {}), nullptr); }

TEST(BackendAskedFor, IsWhatWasNamed) {
  EXPECT_EQ(backend_asked_for("cpu", {})->name, "cpu");
  EXPECT_EQ(backend_asked_for("gpu", {})->name, "gpu");
  EXPECT_EQ(backend_asked_for("emulator", {})->name, "emulator");
}

TEST(BackendAskedFor, IsThatOfTheVariants) {
  EXPECT_EQ(backend_asked_for("", {"cpu_avx2:stages=4"})->name, "cpu");
  EXPECT_EQ(backend_asked_for("", {"gpu_sm90:tokens=64"})->name, "gpu");
  EXPECT_EQ(backend_asked_for("emulator", {"gpu_sm90"})->name, "emulator");
}

TEST(BackendAskedFor, RefusesVariantsOfAnotherBackend) {
  EXPECT_THROW(backend_asked_for("cpu", {"gpu_sm90"}), UsageError);
  EXPECT_THROW(backend_asked_for("gpu", {"cpu_avx2"}), UsageError);
  EXPECT_THROW(backend_asked_for("", {"gpu_sm90", "cpu_avx2"}), UsageError);
}

TEST(ResolveBackend, AsksForNoGpuWhereTheCpuIsMeant) {
  EXPECT_EQ(resolve_backend("cpu").name, "cpu");
}

TEST(ResolveBackend, AgreesWithTheMachine) {
  const std::string why = why_no_device(engine_options(backend_named("gpu")));
  EXPECT_EQ(resolve_backend("").name, why.empty() ? "gpu" : "cpu");
  if (why.empty()) GTEST_SKIP() << "there is a GPU here: nothing to complain of";
  EXPECT_EQ(error_message([] { resolve_backend("gpu"); }), why);
  EXPECT_EQ(error_message([] { resolve_backend("", {"gpu_sm90"}); }), why);
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
