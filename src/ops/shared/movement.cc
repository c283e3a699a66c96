// SPDX-License-Identifier: Apache-2.0
// Index lists over any element type; see movement.h.
#include "ops/shared/movement.h"

#include <algorithm>
#include <cstring>

#include "core/check.h"
#include "core/convert.h"
#include "core/format.h"

namespace octet {

Shape strides_of(std::span<const int64_t> shape) {
  Shape strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;)
    strides[i - 1] = strides[i] * shape[i];
  return strides;
}

std::vector<int64_t>
strided_index(std::span<const int64_t> shape, std::span<const int64_t> strides, int64_t offset) {
  int64_t count = 1;
  for (int64_t d : shape)
    count *= d;
  std::vector<int64_t> out(static_cast<size_t>(count));
  Shape at(shape.size(), 0);
  int64_t source = offset;
  for (int64_t& index : out) {
    index = source;
    for (size_t axis = shape.size(); axis-- > 0;) {
      source += strides[axis];
      if (++at[axis] < shape[axis]) break;
      source -= strides[axis] * shape[axis];
      at[axis] = 0;
    }
  }
  return out;
}

std::vector<int64_t> broadcast_index(std::span<const int64_t> from, std::span<const int64_t> to) {
  Shape strides(to.size(), 0);
  const Shape own = strides_of(from);
  const size_t lead = to.size() - from.size();
  for (size_t i = 0; i < from.size(); ++i)
    if (from[i] != 1) strides[lead + i] = own[i];
  return strided_index(to, strides);
}

namespace {

/// Finds the tensor and place of an element of the concatenated sources; remembers the last tensor,
/// since neighbours mostly lie in one.
class Sources {
 public:
  explicit Sources(std::span<const Tensor> tensors) : tensors_(tensors) {
    int64_t end = 0;
    for (const Tensor& t : tensors)
      ends_.push_back(end += t.count());
  }
  std::pair<const Tensor*, int64_t> find(int64_t index) {
    if (index < begin_ || index >= end_) {
      OCTET_CHECK(index >= 0 && !ends_.empty() && index < ends_.back());
      const auto it = std::upper_bound(ends_.begin(), ends_.end(), index);
      const auto which = static_cast<size_t>(it - ends_.begin());
      begin_ = which == 0 ? 0 : ends_[which - 1];
      end_ = ends_[which];
      tensor_ = &tensors_[which];
    }
    return {tensor_, index - begin_};
  }

 private:
  std::span<const Tensor> tensors_;
  std::vector<int64_t> ends_;
  const Tensor* tensor_ = nullptr;
  int64_t begin_ = 0, end_ = 0;
};

template <size_t kSize>
void copy_elements(Sources& from, std::span<const int64_t> index, std::byte* to) {
  for (size_t i = 0; i < index.size(); ++i) {
    const auto [t, at] = from.find(index[i]);
    std::memcpy(to + i * kSize, t->bytes().data() + static_cast<size_t>(at) * kSize, kSize);
  }
}

void copy_codes(Sources& from, std::span<const int64_t> index, DType type, std::byte* to) {
  for (size_t i = 0; i < index.size(); ++i) {
    const auto [t, at] = from.find(index[i]);
    put_code(type, to, static_cast<int64_t>(i), get_code(type, t->bytes().data(), at));
  }
}

} // namespace

Result<Tensor> take(std::span<const Tensor> sources, Shape shape, std::span<const int64_t> index) {
  const int64_t count = OCTET_TRY(element_count(shape));
  OCTET_CHECK_EQ(count, static_cast<int64_t>(index.size()));
  OCTET_CHECK(!sources.empty());
  const DType type = sources[0].type();
  for (const Tensor& t : sources)
    if (t.type() != type)
      return error("cannot mix elements of {} and {}; insert a Cast", name(type), name(t.type()));
  Sources all(sources);
  if (type == DType::kString) {
    std::vector<std::string> values;
    values.reserve(index.size());
    for (int64_t i : index) {
      const auto [t, at] = all.find(i);
      values.push_back(t->string_values()[static_cast<size_t>(at)]);
    }
    return Tensor::strings(std::move(shape), std::move(values));
  }
  Tensor out = OCTET_TRY(Tensor::zeros(type, std::move(shape)));
  std::byte* to = out.mutable_bytes().data();
  switch (bits(type)) {
  case 8:
    copy_elements<1>(all, index, to);
    break;
  case 16:
    copy_elements<2>(all, index, to);
    break;
  case 32:
    copy_elements<4>(all, index, to);
    break;
  case 64:
    copy_elements<8>(all, index, to);
    break;
  case 128:
    copy_elements<16>(all, index, to);
    break;
  default:
    copy_codes(all, index, type, to);
    break;
  }
  return out;
}

Result<Tensor> take(const Tensor& source, Shape shape, std::span<const int64_t> index) {
  return take(std::span(&source, 1), std::move(shape), index);
}

Result<Shape> broadcast_shapes(std::span<const Shape> shapes) {
  std::vector<std::vector<Dim>> dims;
  for (const Shape& s : shapes)
    dims.emplace_back(s.begin(), s.end());
  Shape out;
  for (const Dim& d : OCTET_TRY(broadcast_dims(dims)))
    out.push_back(d.value());
  return out;
}

Result<std::vector<Dim>> broadcast_dims(std::span<const std::vector<Dim>> shapes) {
  size_t rank = 0;
  for (const auto& s : shapes)
    rank = std::max(rank, s.size());
  std::vector<Dim> out(rank, Dim(1));
  const auto text = [&](const std::vector<Dim>& s) {
    std::string t = "[";
    for (size_t i = 0; i < s.size(); ++i)
      t += (i > 0 ? ", " : "") + s[i].text();
    return t + "]";
  };
  for (const auto& s : shapes)
    for (size_t i = 0; i < s.size(); ++i) {
      Dim& have = out[rank - s.size() + i];
      const Dim& more = s[i];
      if (have == more || more == Dim(1)) continue;
      if (have == Dim(1)) {
        have = more;
      } else if (have.is_constant() && more.is_constant()) {
        std::string all;
        for (const auto& each : shapes)
          all += (all.empty() ? "" : " and ") + text(each);
        return error("shapes {} do not broadcast: {} against {} in dimension {} from the end; "
                     "make them equal, or one of them 1",
                     all, have.value(), more.value(), s.size() - i);
      } else if (!have.is_constant()) {
        have = more.is_constant() ? more : Dim::unknown();
      }
    }
  return out;
}

} // namespace octet
