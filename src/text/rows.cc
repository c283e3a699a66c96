// SPDX-License-Identifier: Apache-2.0
#include "text/rows.h"

#include <algorithm>

#include "core/format.h"

namespace octet {
namespace {

constexpr int64_t kLongest = int64_t{1} << 20;

TypeInfo ids_type() {
  TypeInfo type;
  type.type = DType::kInt64;
  type.shape = {Dim::symbol("N"), Dim::symbol("S")};
  return type;
}

} // namespace

Row make_row(const SpecialTokens& special, const std::vector<int32_t>& first) {
  Row row;
  row.ids.reserve(first.size() + 3);
  row.ids.push_back(special.cls);
  row.ids.insert(row.ids.end(), first.begin(), first.end());
  row.ids.push_back(special.sep);
  row.second_begin = static_cast<int64_t>(row.ids.size());
  return row;
}

Row make_row(const SpecialTokens& special,
             const std::vector<int32_t>& first,
             const std::vector<int32_t>& second) {
  Row row = make_row(special, first);
  row.ids.insert(row.ids.end(), second.begin(), second.end());
  row.ids.push_back(special.sep);
  return row;
}

std::pair<int64_t, int64_t> longest_first(int64_t first, int64_t second, int64_t room) {
  room = std::max<int64_t>(room, 0);
  if (first + second <= room) return {first, second};
  int64_t shorter = std::min(first, second);
  int64_t longer = shorter > room ? shorter : std::max(shorter, room - shorter);
  if (shorter + longer > room) {
    shorter = room / 2;
    longer = shorter + room % 2;
  }
  return first > second ? std::pair(longer, shorter) : std::pair(shorter, longer);
}

int64_t padded_length(const std::vector<Row>& rows, const TextDatasetOptions& options) {
  if (options.pad_to_max) return options.max_length;
  int64_t longest = 1;
  for (const Row& row : rows)
    longest = std::max(longest, static_cast<int64_t>(row.ids.size()));
  const int64_t multiple = options.pad_multiple;
  return std::min((longest + multiple - 1) / multiple * multiple, options.max_length);
}

Status add_row_features(const std::vector<Row>& rows,
                        int64_t length,
                        const SpecialTokens& special,
                        const TextDatasetOptions& options,
                        Batch& out) {
  const Shape shape = {static_cast<int64_t>(rows.size()), length};
  Tensor ids = OCTET_TRY(Tensor::zeros(DType::kInt64, shape));
  Tensor mask = OCTET_TRY(Tensor::zeros(DType::kInt64, shape));
  Tensor types = OCTET_TRY(Tensor::zeros(DType::kInt64, shape));
  const auto id_out = ids.mutable_data<int64_t>();
  const auto mask_out = mask.mutable_data<int64_t>();
  const auto type_out = types.mutable_data<int64_t>();
  std::fill(id_out.begin(), id_out.end(), special.pad);
  for (size_t r = 0; r < rows.size(); ++r) {
    const size_t begin = r * static_cast<size_t>(length);
    for (size_t i = 0; i < rows[r].ids.size(); ++i) {
      id_out[begin + i] = rows[r].ids[i];
      mask_out[begin + i] = 1;
      type_out[begin + i] = static_cast<int64_t>(i) >= rows[r].second_begin ? 1 : 0;
    }
  }
  out.inputs.emplace_back("input_ids", std::move(ids));
  out.inputs.emplace_back("attention_mask", std::move(mask));
  if (options.token_type_ids) out.inputs.emplace_back("token_type_ids", std::move(types));
  return ok_status();
}

std::vector<std::pair<std::string, TypeInfo>> row_features(const TextDatasetOptions& options) {
  std::vector<std::pair<std::string, TypeInfo>> out = {{"input_ids", ids_type()},
                                                       {"attention_mask", ids_type()}};
  if (options.token_type_ids) out.emplace_back("token_type_ids", ids_type());
  return out;
}

Status check_options(const TextDatasetOptions& options, int64_t least) {
  if (options.max_length < least || options.max_length > kLongest) {
    return error("a sequence length of {} is not possible here; choose {} to {}",
                 options.max_length, least, kLongest);
  }
  if (options.pad_multiple < 1 || options.pad_multiple > kLongest)
    return error("rows cannot be padded to a multiple of {}; choose 1 to {}", options.pad_multiple,
                 kLongest);
  if (options.limit < 0)
    return error("a limit of {} examples is not possible; 0 means all", options.limit);
  return ok_status();
}

Status check_index(int64_t index, int64_t size, const std::string& description) {
  if (index >= 0 && index < size) return ok_status();
  return error("example {} is asked for, {} has {}; ask for 0 to {}", index, description, size,
               size - 1);
}

} // namespace octet
