// SPDX-License-Identifier: Apache-2.0
#include "tune/workshop.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>

#include "thresher/error.hpp"

namespace thresher::tune {
namespace {

// Longer than anybody waits; a clock cannot hold infinity.
constexpr double kSecondsMax = 1e6;

std::vector<std::string> taken_from(std::deque<std::string>& ready, std::size_t count) {
  const auto end = ready.begin() + static_cast<std::ptrdiff_t>(std::min(count, ready.size()));
  std::vector<std::string> taken(ready.begin(), end);
  ready.erase(ready.begin(), end);
  return taken;
}

class Shelf final : public Workshop {
 public:
  explicit Shelf(std::size_t capacity) : capacity_(capacity) {}
  std::size_t capacity() const override { return capacity_; }
  void begin(const std::string& variant) override { ready_.push_back(variant); }
  std::vector<std::string> take(std::size_t count, double) override {
    return taken_from(ready_, count);
  }

 private:
  const std::size_t capacity_;
  std::deque<std::string> ready_;
};

class ThreadedWorkshop final : public Workshop {
 public:
  ThreadedWorkshop(int thread_count, std::size_t spare,
                   std::function<void(const std::string&)> make)
      : make_(std::move(make)) {
    try {
      for (int i = 0; i < thread_count; ++i) threads_.emplace_back([this] { work(); });
    } catch (const std::system_error&) {
      // The others do the work.
      if (threads_.empty()) throw;
    }
    capacity_ = threads_.size() + spare;
  }
  ThreadedWorkshop(const ThreadedWorkshop&) = delete;
  ThreadedWorkshop& operator=(const ThreadedWorkshop&) = delete;
  ~ThreadedWorkshop() override {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  std::size_t capacity() const override { return capacity_; }

  void begin(const std::string& variant) override {
    {
      const std::lock_guard lock(mutex_);
      waiting_.push_back(variant);
      ++unready_count_;
    }
    changed_.notify_all();
  }

  std::vector<std::string> take(std::size_t count, double seconds) override {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::duration<double>(std::clamp(seconds, 0.0, kSecondsMax)),
                      [&] { return ready_.size() >= count || unready_count_ == 0; });
    return taken_from(ready_, count);
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [&] { return closed_ || !waiting_.empty(); });
      if (closed_) return;
      std::string variant = std::move(waiting_.front());
      waiting_.pop_front();
      lock.unlock();
      try_to_make(variant);
      lock.lock();
      ready_.push_back(std::move(variant));
      --unready_count_;
      changed_.notify_all();
    }
  }

  void try_to_make(const std::string& variant) const {
    try {
      make_(variant);
    } catch (const Error&) {
      return;
    }
  }

  const std::function<void(const std::string&)> make_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> waiting_;  // for a thread
  std::deque<std::string> ready_;
  std::size_t unready_count_ = 0;
  bool closed_ = false;
  std::size_t capacity_ = 0;
  std::vector<std::thread> threads_;
};

}  // namespace

std::unique_ptr<Workshop> open_shelf(std::size_t capacity) {
  return std::make_unique<Shelf>(capacity);
}

std::unique_ptr<Workshop> open_workshop(int thread_count, std::size_t spare,
                                        std::function<void(const std::string& variant)> make) {
  return std::make_unique<ThreadedWorkshop>(thread_count, spare, std::move(make));
}

}  // namespace thresher::tune
