// SPDX-License-Identifier: Apache-2.0
// Where variants are made ready to race while others race: compilers are slower than races.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace thresher::tune {

class Workshop {
 public:
  virtual ~Workshop() = default;
  // So many in the making, or ready and not taken yet, keep it busy.
  virtual std::size_t capacity() const = 0;
  virtual void begin(const std::string& variant) = 0;
  // Those that were ready first, and no longer the workshop's. Waits until there are so many, no
  // more are in the making, or `seconds` have passed.
  virtual std::vector<std::string> take(std::size_t count, double seconds) = 0;
};

// In which everything is ready at once.
std::unique_ptr<Workshop> open_shelf(std::size_t capacity);

// make(variant) on so many threads of its own, and room for `spare` more that wait for a thread or
// for their race. What `make` throws as an Error shows again when the variant enters. Whoever
// closes it waits for what is in the making, and the rest is dropped.
std::unique_ptr<Workshop> open_workshop(int thread_count, std::size_t spare,
                                        std::function<void(const std::string& variant)> make);

}  // namespace thresher::tune
