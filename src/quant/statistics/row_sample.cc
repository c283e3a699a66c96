// SPDX-License-Identifier: Apache-2.0
#include "quant/statistics/row_sample.h"

#include "quant/channels.h"

namespace octet {

Status RowSample::observe(const Tensor& values, const Tensor* mask) {
  OCTET_TRY(seen_.observe(values, mask));
  const Floats floats = OCTET_TRY(Floats::of(values));
  const std::span<const float> x = floats.get();
  const Mask keep(values, mask);
  const auto size = static_cast<size_t>(columns_);
  for (size_t at = 0; at + size <= x.size(); at += size) {
    if (!keep(static_cast<int64_t>(at))) continue;
    if (count_++ % stride_ != 0) continue;
    if (rows_.size() == static_cast<size_t>(kMostRows) * size) {
      // Every other one stays.
      for (size_t r = 0; 2 * r < static_cast<size_t>(kMostRows); ++r)
        std::copy_n(rows_.begin() + static_cast<std::ptrdiff_t>(2 * r * size), columns_,
                    rows_.begin() + static_cast<std::ptrdiff_t>(r * size));
      rows_.resize(rows_.size() / 2);
      stride_ *= 2;
    }
    rows_.insert(rows_.end(), x.begin() + static_cast<std::ptrdiff_t>(at),
                 x.begin() + static_cast<std::ptrdiff_t>(at + size));
  }
  return ok_status();
}

Status RowSample::merge(const Statistic& /*other*/) {
  return error("which rows are taken depends on those before: they cannot be merged, one has to "
               "see all of the data");
}

std::vector<std::pair<std::string, Tensor>> RowSample::state() const {
  auto out = seen_.state();
  const Shape shape = {static_cast<int64_t>(rows_.size()) / columns_, columns_};
  out.emplace_back("rows", Tensor::of<float>(shape, std::span<const float>(rows_)));
  return out;
}

} // namespace octet
