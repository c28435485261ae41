// SPDX-License-Identifier: Apache-2.0
// Every type that owns something on the device is move-only and gives it back exactly once,
// whatever is moved where.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <optional>
#include <random>

#include "gpu/runtime/fake_driver.hpp"
#include "gpu/runtime/graph.hpp"
#include "gpu/runtime/memory.hpp"
#include "gpu/runtime/module.hpp"

namespace thresher::gpu {
namespace {

using testing::FakeDriver;

template <typename T>
constexpr bool kMoveOnly =
    std::is_nothrow_move_constructible_v<T>&& std::is_nothrow_move_assignable_v<T> &&
    !std::is_copy_constructible_v<T> && !std::is_copy_assignable_v<T>;

static_assert(kMoveOnly<Device>);
static_assert(kMoveOnly<Stream>);
static_assert(kMoveOnly<Event>);
static_assert(kMoveOnly<DeviceBuffer>);
static_assert(kMoveOnly<MappedBuffer>);
static_assert(kMoveOnly<Graph>);
static_assert(kMoveOnly<Module>);
static_assert(kMoveOnly<Kernel>);

// Random moves, assignments, self-assignments and deaths among a handful of objects, then all die.
template <typename T, typename Make>
void shuffle(const FakeDriver& fake, const Make& make, unsigned seed) {
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  const std::size_t handles_before = fake.handles_out();
  {
    std::mt19937 random(seed);
    std::vector<std::optional<T>> slots(5);
    for (int step = 0; step < 200; ++step) {
      std::optional<T>& to = slots[random() % slots.size()];
      std::optional<T>& from = slots[random() % slots.size()];
      switch (random() % 4) {
        case 0:
          to.emplace(make());
          break;
        case 1:
          if (from.has_value()) to = std::move(*from);  // both exist, or `to` is made by moving
          break;
        case 2:
          if (from.has_value()) to.emplace(T(std::move(*from)));
          break;
        default:
          to.reset();
      }
    }
  }
  EXPECT_EQ(fake.handles_out(), handles_before);
  EXPECT_EQ(fake.bad_returns, 0);
}

TEST(Ownership, EverythingIsGivenBackOnce) {
  FakeDriver fake;
  {
    const Device device(fake.driver);
    const Stream stream(device);
    const DeviceBuffer buffer(device, 32);
    const std::vector<std::byte> cubin(8);
    for (unsigned seed = 1; seed <= 5; ++seed) {
      shuffle<Device>(
          fake, [&] { return Device(fake.driver); }, seed);
      shuffle<Stream>(
          fake, [&] { return Stream(device); }, seed);
      shuffle<Event>(
          fake, [&] { return Event(device); }, seed);
      shuffle<DeviceBuffer>(
          fake, [&] { return DeviceBuffer(device, 24); }, seed);
      shuffle<MappedBuffer>(
          fake, [&] { return MappedBuffer(device, buffer.share()); }, seed);
      shuffle<Graph>(
          fake, [&] { return Graph::capture(stream, [] {}); }, seed);
      shuffle<Module>(
          fake, [&] { return Module(device, cubin, "m"); }, seed);
      shuffle<Kernel>(
          fake, [&] { return Module(device, cubin, "m").kernel("entry"); }, seed);
    }
  }
  EXPECT_EQ(fake.handles_out(), 0U);
}

TEST(Ownership, AChildOfForkGivesNothingBack) {
  FakeDriver fake;
  std::optional<Device> device(fake.driver);
  std::optional<DeviceBuffer> buffer(std::in_place, *device, 32);
  std::optional<Stream> stream(*device);
  const std::size_t handles_before = fake.handles_out();
  const pid_t child = fork();
  if (child == 0) {
    stream.reset();
    buffer.reset();
    device.reset();
    _exit(fake.handles_out() == handles_before ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(Ownership, AMovedFromBufferIsEmpty) {
  FakeDriver fake;
  const Device device(fake.driver);
  DeviceBuffer buffer(device, 32);
  const DeviceBuffer taken = std::move(buffer);
  EXPECT_EQ(taken.bytes(), 32U);
  EXPECT_EQ(buffer.bytes(), 0U);    // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(buffer.address(), 0U);  // NOLINT(bugprone-use-after-move)
}

TEST(Ownership, NothingStaysBehindWhenMakingFails) {
  FakeDriver fake;
  const Device device(fake.driver);
  const std::size_t handles_before = fake.handles_out();
  fake.failures = {{"cuStreamCreate", cuda::kUnknown},
                   {"cuEventCreate", cuda::kUnknown},
                   {"cuMemAlloc", cuda::kUnknown},
                   {"cuModuleGetFunction", cuda::kUnknown}};
  EXPECT_THROW(Stream{device}, DriverError);
  EXPECT_THROW(Event{device}, DriverError);
  EXPECT_THROW(DeviceBuffer(device, 8), DriverError);
  const std::vector<std::byte> cubin(8);
  EXPECT_THROW(Module(device, cubin, "m").kernel("entry"), DriverError);
  EXPECT_EQ(fake.handles_out(), handles_before);
}

}  // namespace
}  // namespace thresher::gpu
