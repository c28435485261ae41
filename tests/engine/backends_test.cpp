// SPDX-License-Identifier: Apache-2.0
// The table of backends: every row is whole, and its functions agree with each other.
#include "engine/backends.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "nvfp4/error_message.hpp"
#include "support/scene.hpp"

namespace thresher {
namespace {

using nvfp4::error_message;
using testing::make_problem;

// A machine on which every backend has a model.
Machine machine() {
  return {.rates = {.read_gb_per_s = 1000,
                    .nvfp4_gop_per_s = 1000,
                    .fp16_gop_per_s = 1000,
                    .bf16_gop_per_s = 1000},
          .thread_count = 2};
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

TEST(Backends, AreFoundByTheirNames) {
  for (const char* name : {"cpu", "gpu", "emulator"}) EXPECT_EQ(backend_named(name).name, name);
  EXPECT_EQ(find_backend("tpu"), nullptr);
  EXPECT_EQ(error_message([] { backend_named("tpu"); }),
            "unknown backend 'tpu'; there are cpu, gpu and emulator");
}

TEST(Backends, AreFoundByTheirDevices) {
  EXPECT_EQ(backend_of_device("cpu").name, "cpu");
  EXPECT_EQ(backend_of_device("gpu").name, "gpu");
  EXPECT_EQ(backend_of_device("gpu:1").name, "gpu");
  EXPECT_EQ(backend_of_device("emulator").name, "emulator");
  EXPECT_EQ(error_message([] { backend_of_device("cpu:1"); }),
            "unknown device 'cpu:1'; there are cpu, gpu and emulator");
}

TEST(Backends, AreFoundByTheirVariants) {
  EXPECT_EQ(backend_of_variant("cpu_avx2:stages=4").name, "cpu");
  EXPECT_EQ(backend_of_variant("gpu_sm90").name, "gpu");  // the emulator has the same ones
  EXPECT_EQ(error_message([] { backend_of_variant("avx2"); }),
            "unknown variant 'avx2'; variants begin with cpu_ and gpu_");
}

class BackendTest : public ::testing::TestWithParam<const Backend*> {
 protected:
  const Backend& row() const { return *GetParam(); }
};
INSTANTIATE_TEST_SUITE_P(Rows, BackendTest, ::testing::ValuesIn(backends()),
                         [](const auto& row) { return std::string(row.param->name); });

// One n and k for all variants.
const Problem kProblem =
    make_problem({30, 0, 7}, 64, 128, Op::kGemm, Activations::kNvfp4, Output::kFp16);

TEST_P(BackendTest, NamesVariantsOfItsOwnInOneWay) {
  const std::vector<std::string> names = row().named_variants();
  ASSERT_FALSE(names.empty());
  for (const std::string& name : names) {
    EXPECT_EQ(backend_of_variant(name).variant_prefix, row().variant_prefix);
    EXPECT_EQ(row().turned(name, {}), name);
  }
  EXPECT_THROW(row().turned("tpu_v5", {}), Error);
}

TEST_P(BackendTest, TurnsKnobs) {
  const std::string first = row().named_variants().front();
  const KnobValues values = row().knobs_of(first);
  EXPECT_TRUE(values.contains("isa"));
  for (const KnobText& knob : row().knobs()) {
    ASSERT_TRUE(values.contains(knob.name)) << knob.name;
    EXPECT_EQ(row().turned(first, {{knob.name, values.at(knob.name)}}), first) << knob.name;
    EXPECT_THROW(row().turned(first, {{knob.name, "no such value"}}), Error) << knob.name;
  }
  const std::string turned = row().turned(first, {{"stages", "7"}});
  EXPECT_EQ(row().knobs_of(turned).at("stages"), "7");
  EXPECT_NE(turned, first);
}

TEST_P(BackendTest, ChoosesFromItsChoices) {
  const std::string chosen = row().choose(kProblem, token_count(kProblem), machine());
  EXPECT_TRUE(row().supports(kProblem, chosen, machine()).ok) << chosen;
  if (row().name == "emulator") return;  // it has kernels of fewer
  EXPECT_TRUE(contains(row().choices(), chosen)) << chosen;
}

TEST_P(BackendTest, StartsSeasonsWithWhatItCanRun) {
  EXPECT_TRUE(row().supports(kProblem, row().baseline(), machine()).ok) << row().baseline();
  EXPECT_NE(row().title, "");
  EXPECT_NE(row().season_suite, "");
  EXPECT_NE(row().pitch_folder, "");
  EXPECT_GT(row().pilot_seconds, 0);
}

TEST_P(BackendTest, ModelsWhatItSupports) {
  for (const std::string& name : row().named_variants()) {
    if (!row().supports(kProblem, name, machine()).ok) continue;
    const ModelledRun run = row().model(kProblem, name, machine());
    EXPECT_GT(run.us, 0) << name;
    EXPECT_GE(run.work, 1) << name;
    EXPECT_GT(run.balance, 0) << name;
    EXPECT_LE(run.balance, 1 + 1e-9) << name;
    EXPECT_GT(run.bytes, run.store_bytes) << name;
    // The kernels for warps read activations as they are, and most need none.
    if (name.starts_with("gpu_sm80")) continue;
    EXPECT_GT(row().workspace_bytes(kProblem, name, machine()), 0u) << name;
  }
}

TEST_P(BackendTest, KnowsWhichVariantsGiveTheSameBits) {
  const std::string first = row().named_variants().front();
  const bool on_cpu = row().name == "cpu";
  EXPECT_EQ(row().twin_set(kProblem, first, true, false), on_cpu ? "integer" : "exact");
  EXPECT_EQ(row().twin_set(kProblem, first, false, true), on_cpu ? "integer" : first);
  const Problem halves = make_problem({3}, 64, 128, Op::kGemm, Activations::kFp16);
  EXPECT_EQ(row().twin_set(halves, first, false, false), first);
}

// What `verify` and the instrument leave to the row.
TEST_P(BackendTest, SaysHowItIsChecked) {
  EXPECT_GE(row().checks.calls, 1);
  EXPECT_GE(row().checks.orders, 1);
  const std::string_view witness = row().checks.witness;
  EXPECT_TRUE(witness.empty() || find_backend(witness) != nullptr) << witness;
  const std::vector<int> agreeing = row().agreeing_threads({});
  EXPECT_EQ(agreeing.empty(), row().threads(3) == 0);
  EXPECT_TRUE(agreeing.empty() || agreeing.size() >= 2) << "one has nobody to disagree with";
}

// Host memory serves both, so nothing is copied; a GPU's device is tested on a fake driver.
TEST(HostDevices, PlaceWhatTheHostHasWhereItIs) {
  for (const char* name : {"cpu", "emulator"}) {
    const Engine engine({.device = name, .thread_count = 1});
    const backend::Device& device = engine.state();
    std::vector<std::byte> host(100, std::byte{7});
    EXPECT_EQ(device.mirror(host.size()), nullptr);
    const std::unique_ptr<backend::Buffer> placed = device.place(host);
    EXPECT_EQ(placed->data(), host.data());
    placed->copy_in(host, 0);
    placed->copy_out(host, 0);
    EXPECT_EQ(host, std::vector<std::byte>(100, std::byte{7}));
    EXPECT_EQ(device.cold_copies(1e9, 5), 5u);
    EXPECT_EQ(device.packs_at_a_time(), 1u);
    std::mutex mutex;
    EXPECT_TRUE(device.turn(mutex).owns_lock());
  }
  EXPECT_FALSE(Engine().state().limits());
  EXPECT_EQ(Engine({.device = "emulator:sm80"}).state().limits()->compute_capability, 80);
}

TEST(CpuBackend, TakesTheThreadsThatItIsAskedFor) {
  const Backend& cpu = backend_named("cpu");
  EXPECT_EQ(cpu.threads(3), 3);
  EXPECT_GT(cpu.threads(0), 0);
  EXPECT_EQ(cpu.agreeing_threads({4, 2}), (std::vector<int>{4, 2}));
}

TEST(CpuBackend, AmxAddsInAnotherOrder) {
  EXPECT_EQ(backend_named("cpu").twin_set(kProblem, "cpu_amx", true, false), "cpu_amx");
}

TEST(CpuBackend, NamesThePreferredInstructionsFirst) {
  const Backend& cpu = backend_named("cpu");
  EXPECT_TRUE(contains(cpu.choices(), cpu.named_variants().front()));
  EXPECT_EQ(cpu.knobs_of(cpu.baseline()).at("isa"),
            cpu.knobs_of(cpu.named_variants().front()).at("isa"));
}

}  // namespace
}  // namespace thresher
