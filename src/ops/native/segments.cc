// SPDX-License-Identifier: Apache-2.0
#include "ops/native/segments.h"

#include "core/format.h"
#include "ops/shared/validate.h"

namespace octet::native {

Status check_offsets(std::span<const int64_t> offsets, int64_t rows) {
  if (offsets.empty()) return error("offsets are empty; give 0, and where each sequence ends");
  if (offsets.front() != 0)
    return error("offsets begin with {}; they begin with 0", offsets.front());
  for (size_t i = 1; i < offsets.size(); ++i)
    if (offsets[i] <= offsets[i - 1])
      return error("sequence {} begins at {} and ends at {}; a sequence has 1 row at least", i - 1,
                   offsets[i - 1], offsets[i]);
  if (offsets.back() != rows)
    return error("offsets end with {} but there are {} rows", offsets.back(), rows);
  return ok_status();
}

Status check_offsets_input(const InferContext& c, size_t i) {
  OCTET_TRY(check_input(c, i, kInt64Type));
  return check_rank(c, i, 1, 1);
}

Result<std::vector<int64_t>> read_offsets(const Tensor& offsets, int64_t rows) {
  const Tensor aligned = offsets.aligned();
  const auto values = aligned.data<int64_t>();
  OCTET_TRY(check_offsets(values, rows));
  return std::vector<int64_t>(values.begin(), values.end());
}

} // namespace octet::native
