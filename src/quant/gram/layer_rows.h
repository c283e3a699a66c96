// SPDX-License-Identifier: Apache-2.0
// What a product multiplies with the weights of one output: a row of its input for each element of
// an output channel. Of a Conv, what its window sees (im2col), for each group.
#pragma once

#include <algorithm>
#include <optional>
#include <span>

#include "ops/shared/window.h"

#include "octet/graph.h"

namespace octet {

class LayerRows {
 public:
  /// For Conv, Gemm and MatMul whose input 1 is a constant with a dimension for each channel.
  /// Errors: another node, a transposed input, more spatial axes than three.
  static Result<LayerRows> of(const Graph& graph, const Node& product);

  int64_t groups() const { return groups_; }
  /// Numbers in a row of one group: the weights of an output channel in their order.
  int64_t columns() const { return columns_; }
  bool is_convolution() const { return window_.has_value(); }

  /// Of a Conv at most so many places of an example are rows, evenly spaced.
  static constexpr int64_t kMostPlaces = 256;

  /// The rows of batches of one shape. The LayerRows must outlive it.
  class Batch {
   public:
    /// The first dimension; the number of elements of each.
    int64_t examples() const { return examples_; }
    int64_t example_size() const { return size_; }

    /// visit(place) for each row of the example that has this number in the data, which shifts the
    /// places of a Conv that count.
    template <class Visit>
    void each(int64_t number, const Visit& visit) const {
      for (int64_t i = number % step_; i < places_; i += step_)
        visit(i);
    }
    /// The first element of a matrix's row in its example.
    int64_t first_element(int64_t place) const {
      return rows_.window_ ? 0 : place * rows_.columns_;
    }
    /// Writes the row of a group at a place of the example.
    void
    write(std::span<const float> example, int64_t place, int64_t group, std::span<float> row) const;

   private:
    friend class LayerRows;
    explicit Batch(const LayerRows& rows) : rows_(rows) {}

    const LayerRows& rows_;
    Window3 geometry_;
    int64_t examples_ = 1, size_ = 0, places_ = 0, step_ = 1;
  };
  /// An error where a batch of that shape cannot be the product's input.
  Result<Batch> batch(std::span<const int64_t> shape) const;

 private:
  int64_t groups_ = 1, columns_ = 1;
  int64_t channels_ = 1; ///< of a group, of a Conv
  std::optional<WindowAttrs> window_;
};

} // namespace octet
