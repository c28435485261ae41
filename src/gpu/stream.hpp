// SPDX-License-Identifier: Apache-2.0
// Streams and events: order on the device, and time as the device sees it.
#pragma once

#include "gpu/context.hpp"
#include "gpu/device.hpp"

namespace thresher::gpu {

class Event;

// A queue of work. It does not wait for the default stream, which nothing here uses.
class Stream {
 public:
  explicit Stream(const Device& device);

  // Work queued from now on waits for what `event` stood for when it was last recorded.
  void wait(const Event& event) const;
  // Waits for everything queued so far, and throws what went wrong there.
  void synchronize() const;

  cuda::Stream handle() const { return owned_.handle(); }
  const std::shared_ptr<Context>& context() const { return owned_.context(); }

 private:
  Owned<cuda::Stream, &Driver::cuStreamDestroy> owned_;
};

// A point in a stream. Events that only order streams are cheaper than events that also tell time.
class Event {
 public:
  enum class Use { kTime, kOrder };
  explicit Event(const Device& device, Use use = Use::kTime);

  void record(const Stream& stream) const;
  // Whether the device has come this far; throws what went wrong before it.
  bool reached() const;
  void synchronize() const;

  cuda::Event handle() const { return owned_.handle(); }

 private:
  friend double microseconds_between(const Event& start, const Event& end);
  Owned<cuda::Event, &Driver::cuEventDestroy> owned_;
};

// Both recorded and reached. The device's clock ticks about every half microsecond.
double microseconds_between(const Event& start, const Event& end);

}  // namespace thresher::gpu
