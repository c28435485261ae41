// SPDX-License-Identifier: Apache-2.0
// Streams and events: order on the device, and time as the device sees it.
#pragma once

#include "gpu/runtime/context.hpp"
#include "gpu/runtime/device.hpp"

namespace thresher::gpu {

class Event;

// A queue of work.
class Stream {
 public:
  // Our own. It does not wait for the default stream.
  explicit Stream(const Device& device);
  // Somebody else's, which must outlive this; null is the default stream.
  Stream(std::shared_ptr<Context> context, cuda::Stream borrowed);

  // Work queued from now on waits for what `event` stood for when it was last recorded.
  void wait(const Event& event) const;
  // Whether the driver says that it was made on another device; asked when a launch has failed.
  bool is_of_another_device() const;
  // Whether its work is being recorded for a graph.
  bool is_capturing() const;
  // Waits for everything queued so far, and throws what went wrong there.
  void synchronize() const;

  cuda::Stream handle() const { return handle_; }
  const std::shared_ptr<Context>& context() const { return context_; }

 private:
  std::shared_ptr<Context> context_;
  Owned<cuda::Stream, &Driver::cuStreamDestroy> owned_;  // nothing if borrowed
  cuda::Stream handle_ = nullptr;
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
