// SPDX-License-Identifier: Apache-2.0
// Philox4x32-10, a counter-based generator: number i of a stream is a function of (seed, stream,
// i), so whatever is drawn can be resumed exactly and is the same on every machine.
// Source: Salmon et al., Parallel Random Numbers: As Easy as 1, 2, 3, SC11.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace octet {

/// What a round multiplies counters 0 and 2 by, and what is added to the key behind it.
inline constexpr int kPhiloxRounds = 10;
inline constexpr std::array<uint32_t, 2> kPhiloxFactors = {0xD2511F53, 0xCD9E8D57};
inline constexpr std::array<uint32_t, 2> kPhiloxWeyl = {0x9E3779B9, 0xBB67AE85};

/// Ten rounds of Philox4x32.
std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

/// A sequence of random numbers. Streams of one seed are independent of one another.
class Philox {
 public:
  explicit Philox(uint64_t seed, uint64_t stream = 0) : seed_(seed), stream_(stream) {}

  uint32_t next_u32();
  uint64_t next_u64();
  /// Uniform in [0, 1): 53 random bits.
  double uniform();
  double uniform(double low, double high) { return low + (high - low) * uniform(); }
  /// Uniform in [0, n), n >= 1.
  int64_t below(int64_t n);
  /// Standard normal, from one 64-bit number.
  double normal();

  /// How many 32-bit numbers were drawn; seek() continues from there.
  uint64_t position() const { return position_; }
  void seek(uint64_t position) { position_ = position; }

 private:
  uint64_t seed_;
  uint64_t stream_;
  uint64_t position_ = 0;
  uint64_t cached_block_ = ~uint64_t{0};
  std::array<uint32_t, 4> block_{};
};

/// The inverse of the normal distribution function, 0 < p < 1, from additions, products, divisions
/// and square roots alone: the same bits everywhere. Source: Wichura, Algorithm AS 241.
double normal_quantile(double p);

/// The order of examples in one pass over a data set: a function of its arguments alone.
std::vector<int64_t> permutation(int64_t n, uint64_t seed, uint64_t epoch);

} // namespace octet
