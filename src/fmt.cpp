// SPDX-License-Identifier: Apache-2.0
// fmt's own code, compiled here once. Debian has it as headers and as a shared library only; the
// library would have to be installed wherever our binary goes, and with FMT_HEADER_ONLY every file
// that formats a string compiles all of it, which adds half to the time of the whole build.
#include <fmt/format.h>

// Weak, so that a program that brings its own fmt of the same version still links.
#undef FMT_FUNC
#define FMT_FUNC __attribute__((weak))
#include <fmt/format-inl.h>

FMT_BEGIN_NAMESPACE

// What <fmt/format.h> leaves to somebody else to instantiate.
#if FMT_VERSION < 120000
namespace detail {
#endif
template locale_ref::locale_ref(const std::locale&);
template auto locale_ref::get<std::locale>() const -> std::locale;
#if FMT_VERSION >= 120000
namespace detail {
#endif
template auto dragonbox::to_decimal(float) noexcept -> dragonbox::decimal_fp<float>;
template auto dragonbox::to_decimal(double) noexcept -> dragonbox::decimal_fp<double>;
template auto thousands_sep_impl(locale_ref) -> thousands_sep_result<char>;
template auto decimal_point_impl(locale_ref) -> char;
template void buffer<char>::append(const char*, const char*);
#if FMT_VERSION >= 100000 && FMT_VERSION < 120000
template void vformat_to(buffer<char>&, string_view, vformat_args<>::type, locale_ref);
#endif
}  // namespace detail

FMT_END_NAMESPACE
