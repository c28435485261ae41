// SPDX-License-Identifier: Apache-2.0
// Drawing inputs. A group has one stream of random numbers, so that its inputs do not depend on the
// groups before it; a secret one, so that weights do not tell the activations drawn beside them.
// Bytes are cut from 64-bit words by shifts, the same on every machine.
#include "gemm/inputs.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "gemm/input_recipe.hpp"
#include "gemm/random.hpp"
#include "nvfp4/half.hpp"

namespace thresher {
namespace {

constexpr std::array<std::string_view, 3> kFamilies = {"exact", "natural", "full"};

constexpr std::uint8_t byte_of(std::uint64_t word, std::size_t index) {
  return static_cast<std::uint8_t>(word >> (8 * index));
}

// One random byte per code: a word makes four bytes of codes, of which a block has eight.
void draw_codes(Random& random, const ByteTable& table, std::span<std::uint8_t> codes) {
  for (std::size_t i = 0; i < codes.size(); i += 4) {
    const std::uint64_t word = random.next();
    for (std::size_t pair = 0; pair < 4; ++pair) {
      const std::uint8_t low = table[byte_of(word, 2 * pair)];
      const std::uint8_t high = table[byte_of(word, 2 * pair + 1)];
      codes[i + pair] = static_cast<std::uint8_t>(low | high << 4);
    }
  }
}

void draw_scales(Random& random, const ByteTable& table, std::span<std::uint8_t> scales) {
  for (std::size_t i = 0; i < scales.size(); i += 8) {
    const std::uint64_t word = random.next();
    const std::size_t count = std::min<std::size_t>(8, scales.size() - i);
    for (std::size_t j = 0; j < count; ++j) scales[i + j] = table[byte_of(word, j)];
  }
}

// The sum of four uniform 16-bit numbers is close to gaussian; this one has mean 0 and deviation 1.
double draw_gaussian(Random& random) {
  const std::uint64_t word = random.next();
  const std::uint64_t sum =
      (word & 0xffff) + (word >> 16 & 0xffff) + (word >> 32 & 0xffff) + (word >> 48);
  return (static_cast<double>(sum) - 2 * 65535.0) * std::sqrt(3.0) / 65536.0;
}

// Draws the operands of one group.
class GroupDraw {
 public:
  GroupDraw(const Problem& problem, const Group& group, InputFamily family, Random random)
      : problem_(problem),
        group_(group),
        family_(family),
        random_(random),
        recipe_(nvfp4_recipe(family, group.k)) {}

  GroupInputs draw() {
    GroupInputs inputs;
    const bool is_nvfp4 = problem_.activations == Activations::kNvfp4;
    if (is_nvfp4) inputs.a = draw_matrix(group_.m);
    if (!is_nvfp4) inputs.a16 = draw_a16();
    inputs.b = draw_matrix(group_.n);
    if (problem_.op == Op::kDual) inputs.b_up = draw_matrix(group_.n);

    const double a_rms = is_nvfp4 ? rms_of(recipe_) * inputs.a.global_scale : a16_rms();
    const double b_rms = rms_of(recipe_);
    inputs.alpha = draw_alpha(a_rms * b_rms * inputs.b.global_scale);
    if (problem_.op == Op::kDual) {
      inputs.alpha_up = draw_alpha(a_rms * b_rms * inputs.b_up.global_scale);
    }
    return inputs;
  }

 private:
  Nvfp4Matrix draw_matrix(std::int64_t rows) {
    const auto element_count = static_cast<std::size_t>(rows * group_.k);
    Nvfp4Matrix matrix;
    matrix.rows = rows;
    matrix.k_elements = group_.k;
    matrix.codes.resize(element_count / 2);
    matrix.scales.resize(element_count / kBlockElements);
    draw_codes(random_, recipe_.codes, matrix.codes);
    draw_scales(random_, recipe_.scales, matrix.scales);
    // Checkpoints have amax / (6 * 448): about 2^-9 for values of standard deviation 1.
    matrix.global_scale =
        draw_scale(family_ == InputFamily::kNatural ? -9 : random_.between(-2, 2));
    return matrix;
  }

  std::vector<std::uint16_t> draw_a16() {
    std::vector<std::uint16_t> values(static_cast<std::size_t>(group_.m * group_.k));
    for (std::uint16_t& value : values) {
      value = family_ == InputFamily::kFull ? draw_full_a16() : round_a16(draw_value());
    }
    return values;
  }

  double draw_value() {
    if (family_ == InputFamily::kNatural) return draw_gaussian(random_);
    const int max = exact_a16_max(group_.k);
    return random_.between(-max, max);
  }

  std::uint16_t round_a16(double value) const {
    return problem_.activations == Activations::kFp16 ? nvfp4::double_to_fp16(value)
                                                      : nvfp4::double_to_bf16(value);
  }

  // Every exponent from the subnormals' to 2^15 equally often. Larger bf16 exponents stay out:
  // their products would overflow FP32, which the bound does not forgive.
  int full_exponent_count() const {
    return problem_.activations == Activations::kFp16 ? 31 : 127 + 16;
  }

  std::uint16_t draw_full_a16() {
    const int mantissa_bits = problem_.activations == Activations::kFp16 ? 10 : 7;
    const std::uint64_t sign = random_.below(2) << 15;
    const std::uint64_t exponent = random_.below(full_exponent_count()) << mantissa_bits;
    return static_cast<std::uint16_t>(sign | exponent | random_.below(1u << mantissa_bits));
  }

  double a16_rms() const {
    if (family_ == InputFamily::kNatural) return 1;
    if (family_ == InputFamily::kFull) {
      // The mean square of a mantissa is 7/3, and lower exponents add 1/4 + 1/16 + ... to the top
      // one.
      return std::ldexp(std::sqrt(7.0 / 3 * 4 / 3 / full_exponent_count()), 15);
    }
    const double max = exact_a16_max(group_.k);
    return std::sqrt(max * (max + 1) / 3);
  }

  // 2^exponent for exact inputs, anything from there to the next power of two for the others.
  float draw_scale(int exponent) {
    const auto fraction = static_cast<double>(random_.below(1u << 23));
    const double mantissa = family_ == InputFamily::kExact ? 1 : 1 + fraction * 0x1p-23;
    return static_cast<float>(std::ldexp(mantissa, exponent));
  }

  // Makes results of about a chosen power of two: far from the limits of fp16, and for dual where
  // SiLU bends as well as where it is flat. Every other alpha is negative.
  float draw_alpha(double term_rms) {
    const double result_rms = term_rms * std::sqrt(static_cast<double>(group_.k));
    const int exponent =
        problem_.op == Op::kDual ? random_.between(-1, 4) : random_.between(-2, 10);
    const float alpha = draw_scale(exponent - std::ilogb(result_rms));
    return random_.below(2) == 0 ? alpha : -alpha;
  }

  const Problem& problem_;
  const Group& group_;
  const InputFamily family_;
  Random random_;
  const Nvfp4Recipe recipe_;
};

}  // namespace

std::string_view to_string(InputFamily family) {
  return kFamilies[static_cast<std::size_t>(family)];
}

Inputs make_inputs(const Problem& problem, InputFamily family, std::uint64_t seed) {
  check(problem);
  Inputs inputs;
  inputs.groups.reserve(problem.groups.size());
  for (std::size_t g = 0; g < problem.groups.size(); ++g) {
    inputs.groups.push_back(
        GroupDraw(problem, problem.groups[g], family, Random::secret(seed, g)).draw());
  }
  return inputs;
}

}  // namespace thresher
