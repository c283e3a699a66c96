// SPDX-License-Identifier: Apache-2.0
// The discrete Fourier transform of one line, as DFT and STFT take it: the plain sum, in double.
#pragma once

#include <complex>
#include <cstdint>
#include <span>
#include <vector>

namespace octet {

enum class Direction { kForward, kInverse };

/// y[k] = sum of x[n] exp(-+2 pi i k n / length) for k < count, over n < min(x.size(), length);
/// kInverse divides by length.
std::vector<std::complex<double>> fourier(std::span<const std::complex<double>> x,
                                          int64_t length,
                                          int64_t count,
                                          Direction direction);

} // namespace octet
