// SPDX-License-Identifier: Apache-2.0
// What the C twins of several folders share: handles that they pass to each other, and how an
// exception becomes a status.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <new>
#include <string>
#include <vector>

#include "thresher/engine.hpp"
#include "thresher/thresher.h"

// NOLINTBEGIN(readability-identifier-naming): C's names for C's handles.
struct thresher_engine {
  thresher::Engine engine;
  std::string description;
  std::vector<std::string> variants;
};

struct thresher_weights {
  thresher::Weights weights;
};
// NOLINTEND(readability-identifier-naming)

namespace thresher::c_twin {

// Keeps the message for thresher_last_error().
thresher_status fail(thresher_status status, const char* message) noexcept;

// Keeps the text for a caller without a handle that could; until this thread brings the next one.
const char* kept(std::string text);

template <class Call>
thresher_status guarded(const Call& call) noexcept {
  try {
    call();
    return THRESHER_OK;
  } catch (const NoMemory& error) {
    return fail(THRESHER_OUT_OF_MEMORY, error.what());
  } catch (const Error& error) {
    return fail(THRESHER_INVALID, error.what());
  } catch (const std::bad_alloc&) {
    return fail(THRESHER_OUT_OF_MEMORY, "out of memory");
  } catch (const std::exception& error) {
    return fail(THRESHER_INTERNAL, error.what());
  } catch (...) {
    return fail(THRESHER_INTERNAL, "an exception of unknown type");
  }
}

// What `call` returns, or a value-initialised one when it fails.
template <class Call>
auto value_or_zero(const Call& call) noexcept {
  decltype(call()) value{};
  guarded([&] { value = call(); });
  return value;
}

template <class Type>
Type& need(Type* pointer, const char* name) {
  if (pointer == nullptr) throw Error(fmt::format("{} is null", name));
  return *pointer;
}

// `make` returns the handle by value; `name` is what the caller calls `out`.
template <class Handle, class Make>
thresher_status create(Handle** out, const char* name, const Make& make) {
  return guarded([&] {
    need(out, name) = nullptr;
    *out = new Handle(make());
  });
}

template <class Value>
const Value& at(const std::vector<Value>& values, std::int64_t index) {
  const auto count = static_cast<std::int64_t>(values.size());
  if (index >= 0 && index < count) return values[static_cast<std::size_t>(index)];
  throw Error(fmt::format("index = {} is not in 0..{}", index, count - 1));
}

template <class Enum>
Enum enum_of(std::int32_t value, Enum last, const char* name) {
  if (value < 0 || value > static_cast<std::int32_t>(last)) {
    throw Error(fmt::format("{} = {} is not in 0..{}", name, value, static_cast<int>(last)));
  }
  return static_cast<Enum>(value);
}

inline Nvfp4View view_of(const thresher_nvfp4_view& view) {
  return {view.codes, view.scales, view.rows, view.k_elements, view.global_scale};
}

}  // namespace thresher::c_twin
