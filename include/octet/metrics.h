// SPDX-License-Identifier: Apache-2.0
// Numbers that reports state: accuracy with its interval, quantiles of times.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "octet/tensor.h"

namespace octet {

/// 95 % Wilson score interval of a share of `hits` in `n` (Wilson 1927); [0, 1] when n is 0.
std::pair<double, double> wilson_interval(int64_t hits, int64_t n);

/// The q-quantile (0 .. 1) of the values, between neighbours in proportion; 0 when there are none.
double quantile(std::vector<double> values, double q);

/// Index of the largest of each row of scores [n, classes]; the first one on a tie.
Result<std::vector<int64_t>> top1(const Tensor& scores);

} // namespace octet
