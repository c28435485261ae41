// SPDX-License-Identifier: Apache-2.0
// fmt's own code, compiled here once. Debian has it as headers and as a shared library only; the
// library would have to be installed wherever our binary goes, and with FMT_HEADER_ONLY every file
// that formats a string compiles all of it: twice the time of the whole build.
// Weak, so that a program that brings its own fmt of the same version still links.
#define FMT_API __attribute__((weak))
#include <fmt/format-inl.h>

FMT_BEGIN_NAMESPACE
namespace detail {

// What <fmt/format.h> promises that somebody has instantiated.
template FMT_API auto dragonbox::to_decimal(float) noexcept -> dragonbox::decimal_fp<float>;
template FMT_API auto dragonbox::to_decimal(double) noexcept -> dragonbox::decimal_fp<double>;
template FMT_API auto thousands_sep_impl(locale_ref) -> thousands_sep_result<char>;
template FMT_API auto decimal_point_impl(locale_ref) -> char;
template FMT_API void buffer<char>::append(const char*, const char*);
template FMT_API locale_ref::locale_ref(const std::locale&);
template FMT_API auto locale_ref::get<std::locale>() const -> std::locale;

}  // namespace detail
FMT_END_NAMESPACE
