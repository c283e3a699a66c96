// SPDX-License-Identifier: Apache-2.0
#include "cli/watched_data.h"

#include <algorithm>
#include <cmath>

#include "core/format.h"

namespace octet::cli {

Result<Batch> WatchedData::batch(std::span<const int64_t> indices) const {
  Batch out = OCTET_TRY(data_->batch(indices));
  const std::lock_guard lock(mutex_);
  for (const auto& input : out.inputs) {
    const std::string& name = input.first;
    const Tensor& tensor = input.second;
    if (!is_float(tensor.type()) || tensor.rank() == 0 || tensor.count() == 0) continue;
    const int64_t each = tensor.count() / tensor.dim(0);
    Seen& seen = seen_[name];
    if (seen.examples == 0) seen.value = tensor.at(0);
    const auto look = [&](const auto& at) {
      for (int64_t i = 0; i < tensor.count() && !(seen.differs && !infinity_.empty()); ++i) {
        const double value = at(i);
        if (value != seen.value) seen.differs = true;
        if (std::isinf(value) && infinity_.empty())
          infinity_ = fmt::format("{}: \"{}\" is infinite in example {}", data_->description(),
                                  name, indices[static_cast<size_t>(i / each)]);
      }
    };
    if (tensor.type() == DType::kFloat32)
      look([x = tensor.data<float>()](int64_t i) {
        return static_cast<double>(x[static_cast<size_t>(i)]);
      });
    else
      look([&](int64_t i) { return tensor.at(i); });
    // A number for each example may well be a setting.
    if (each == 1) seen.differs = true;
    seen.examples += tensor.dim(0);
  }
  return out;
}

void WatchedData::tell_constant(std::span<const std::string> zeros) const {
  const std::lock_guard lock(mutex_);
  for (const auto& [name, seen] : seen_)
    if (!seen.differs && std::find(zeros.begin(), zeros.end(), name) == zeros.end())
      fmt::print(
          stderr,
          "{}: warning: \"{}\" is {} everywhere in what was read; ranges of such data fit no "
          "other, calibrate with examples as the model will see them\n",
          data_->description(), name, seen.value);
}

} // namespace octet::cli
