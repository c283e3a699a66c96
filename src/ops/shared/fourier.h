// SPDX-License-Identifier: Apache-2.0
// The discrete Fourier transform of lines, as DFT and STFT take it. Everything is done in double:
// real data of even length as complex data of half the length; Stockham's passes of radix 4, 2, 3,
// 5 and other primes; a length with a larger prime than kLargestPrime as a convolution with a chirp
// (Bluestein 1970). The order of operations is that of fourier_passes-inl.h for everybody.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "octet/graph.h"

namespace octet {

enum class FourierKind : uint8_t {
  kForward,       ///< to complex numbers
  kInverse,       ///< to complex numbers, divided by the length
  kInverseToReal, ///< the first half of a real line's spectrum to that line, divided by the length
};

constexpr int64_t kLargestPrime = 61;

/// y[k] = sum of x[n] exp(-2 pi i k n / length). Tables hold pairs of real and imaginary part.
struct FourierPasses {
  int64_t length = 1;
  std::vector<int64_t> factors; ///< their product is the length; none where there is a chirp
  std::vector<double> roots;    ///< exp(-2 pi i t / length), t < length
  std::vector<double> chirp;    ///< exp(-pi i t^2 / length), t < length
  /// Of the convolution, a power of two.
  std::shared_ptr<const FourierPasses> convolution;
  std::vector<double>
      response; ///< spectrum of the chirp's conjugate, over the convolution's length

  /// Numbers that a transform of one line works on at a time.
  int64_t size() const { return convolution ? convolution->length : length; }
};

/// A transform that is ready to run.
struct Fourier {
  FourierKind kind = FourierKind::kForward;
  int64_t length = 1;
  bool halved = false; ///< pairs of real elements are complex ones
  FourierPasses passes;
  std::vector<double> roots; ///< of the length, where it is halved

  /// Doubles of scratch memory that one line takes.
  int64_t work() const { return 4 * passes.size() + 4; }
};

/// What is transformed, and how its lines lie in memory. Offsets and strides count elements; a
/// complex number is two elements that lie together. Line i is line i % inner of group i / inner.
struct FourierLayout {
  FourierKind kind = FourierKind::kForward;
  bool real = false; ///< numbers of x are real, and one element each
  int64_t length = 1;
  int64_t given = 0; ///< numbers of x in a line; cut or filled with zeros to the length
  int64_t count = 0; ///< numbers of y in a line, at most the length
  int64_t x_step = 1, y_step = 1;
  int64_t x_group = 0, x_line = 0, y_group = 0, y_line = 0;
  int64_t groups = 1, inner = 1;

  int64_t lines() const { return groups * inner; }
};

/// Of DFT: x and y as the operator has them, `axis` counted from the front, `length` as given or
/// that of x's axis.
FourierLayout dft_layout(
    const Node& node, const Shape& x, const Shape& y, int64_t axis, std::optional<int64_t> length);
/// DFT's axis, which was an attribute before opset 20, and is the third input since.
int64_t dft_axis(const Node& node, int64_t opset, std::optional<int64_t> input);
/// Of STFT: y is [batch, frames, frequencies, 2].
FourierLayout stft_layout(const Shape& x, const Shape& y, int64_t frame_step, int64_t length);

template <typename T>
struct FourierLines {
  FourierLayout layout;
  const T* x = nullptr;
  T* y = nullptr;
  const T* window = nullptr; ///< [layout.given], null: ones

  const T* from(int64_t line) const {
    return x + line / layout.inner * layout.x_group + line % layout.inner * layout.x_line;
  }
  T* to(int64_t line) const {
    return y + line / layout.inner * layout.y_group + line % layout.inner * layout.y_line;
  }
};

Fourier make_fourier(const FourierLayout& layout);

/// All lines, one by one: the specification of the kernel of the same name.
void transform_lines(const Fourier& fourier, const FourierLines<double>& lines);

} // namespace octet
