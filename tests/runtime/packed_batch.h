// SPDX-License-Identifier: Apache-2.0
// Random sequences as a model takes them: padded, with a mask, and packed.
#pragma once

#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "core/philox.h"

#include "octet/graph.h"

namespace octet::test {

class PackedBatch {
 public:
  /// Inputs whose name holds "mask" are masks, all others tokens below `vocabulary`, or 0 and 1
  /// where their name holds "type".
  PackedBatch(const Graph& model, std::vector<int64_t> lengths, int64_t vocabulary, uint64_t seed)
      : lengths_(std::move(lengths)) {
    Philox random(seed);
    offsets_.push_back(0);
    for (const int64_t length : lengths_)
      offsets_.push_back(offsets_.back() + length);
    const auto batch = static_cast<int64_t>(lengths_.size());
    length_ = lengths_.empty() ? 1 : *std::max_element(lengths_.begin(), lengths_.end());
    for (const ValueId id : model.inputs()) {
      const Value& v = model.value(id);
      const bool mask = v.name.find("mask") != std::string::npos;
      const int64_t below = v.name.find("type") != std::string::npos ? 2 : vocabulary;
      std::vector<double> padded, packed;
      for (const int64_t length : lengths_)
        for (int64_t i = 0; i < length_; ++i) {
          // What stands in the padding must not matter.
          const auto token = static_cast<double>(random.below(below));
          padded.push_back(mask ? (i < length ? 1 : 0) : token);
          if (i < length) packed.push_back(token);
        }
      padded_.push_back(Tensor::from_doubles(v.type.type, {batch, length_}, padded).value());
      if (!mask) packed_.push_back(Tensor::from_doubles(v.type.type, {tokens()}, packed).value());
    }
  }

  int64_t tokens() const { return offsets_.back(); }
  const std::vector<int64_t>& offsets() const { return offsets_; }
  Tensor offsets_tensor() const {
    return Tensor::of<int64_t>({static_cast<int64_t>(offsets_.size())},
                               std::span<const int64_t>(offsets_));
  }
  const std::vector<Tensor>& padded_inputs() const { return padded_; }
  const std::vector<Tensor>& packed_inputs() const { return packed_; }

  /// [batch, length, ..] without padding: [tokens, ..].
  Tensor packed(const Tensor& x) const {
    Shape shape(x.shape().begin() + 1, x.shape().end());
    shape[0] = tokens();
    Tensor out = Tensor::zeros(x.type(), shape).value();
    const size_t row = tokens() == 0 ? 0 : out.bytes().size() / static_cast<size_t>(tokens());
    for (size_t i = 0; i < lengths_.size(); ++i)
      std::memcpy(out.mutable_bytes().data() + static_cast<size_t>(offsets_[i]) * row,
                  x.bytes().data() + i * static_cast<size_t>(length_) * row,
                  static_cast<size_t>(lengths_[i]) * row);
    return out;
  }

 private:
  std::vector<int64_t> lengths_, offsets_;
  int64_t length_ = 0;
  std::vector<Tensor> padded_, packed_;
};

} // namespace octet::test
