// SPDX-License-Identifier: Apache-2.0
#include "gpu/runtime/stream.hpp"

namespace thresher::gpu {

Stream::Stream(const Device& device) : context_(device.context()) {
  const Context& context = *context_;
  context.make_current();
  context.check(context.driver().cuStreamCreate(&handle_, cuda::kStreamNonBlocking),
                "cuStreamCreate");
  owned_ = {context_, handle_};
}

Stream::Stream(std::shared_ptr<Context> context, cuda::Stream borrowed)
    : context_(std::move(context)), handle_(borrowed) {}

void Stream::wait(const Event& event) const {
  context()->make_current();
  context()->check(context()->driver().cuStreamWaitEvent(handle(), event.handle(), 0),
                   "cuStreamWaitEvent");
}

bool Stream::is_of_another_device() const {
  const Driver& driver = context()->driver();
  if (handle() == nullptr || driver.cuStreamGetCtx == nullptr) return false;
  cuda::Context owner = nullptr;
  return driver.cuStreamGetCtx(handle(), &owner) == cuda::kSuccess && owner != context()->handle();
}

bool Stream::is_capturing() const {
  context()->make_current();
  int status = 0;
  context()->check(context()->driver().cuStreamIsCapturing(handle(), &status),
                   "cuStreamIsCapturing");
  return status != 0;
}

void Stream::synchronize() const {
  context()->make_current();
  context()->check(context()->driver().cuStreamSynchronize(handle()), "cuStreamSynchronize");
}

Event::Event(const Device& device, Use use) {
  const Context& context = *device.context();
  context.make_current();
  cuda::Event handle = nullptr;
  const unsigned flags = use == Use::kTime ? cuda::kEventDefault : cuda::kEventDisableTiming;
  context.check(context.driver().cuEventCreate(&handle, flags), "cuEventCreate");
  owned_ = {device.context(), handle};
}

void Event::record(const Stream& stream) const {
  owned_.context()->make_current();
  owned_.context()->check(owned_.driver().cuEventRecord(handle(), stream.handle()),
                          "cuEventRecord");
}

bool Event::reached() const {
  owned_.context()->make_current();
  const cuda::Result result = owned_.driver().cuEventQuery(handle());
  if (result == cuda::kNotReady) return false;
  owned_.context()->check(result, "cuEventQuery");
  return true;
}

void Event::synchronize() const {
  owned_.context()->make_current();
  owned_.context()->check(owned_.driver().cuEventSynchronize(handle()), "cuEventSynchronize");
}

double microseconds_between(const Event& start, const Event& end) {
  const Context& context = *start.owned_.context();
  context.make_current();
  float milliseconds = 0;
  const cuda::Result result =
      context.driver().cuEventElapsedTime(&milliseconds, start.handle(), end.handle());
  if (result == cuda::kInvalidHandle || result == cuda::kNotReady) {
    context.fail(result, "cuEventElapsedTime",
                 "both events must tell time, be recorded, and be reached: synchronise the later "
                 "one first");
  }
  context.check(result, "cuEventElapsedTime");
  return 1000.0 * static_cast<double>(milliseconds);
}

}  // namespace thresher::gpu
