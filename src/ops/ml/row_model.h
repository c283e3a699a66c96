// SPDX-License-Identifier: Apache-2.0
// Classifiers and regressors of ai.onnx.ml as their attributes hold them, read once: each row of
// features has its scores and its class, whatever the other rows.
#pragma once

#include <cstring>
#include <functional>
#include <optional>
#include <span>

#include "ops/ml/scores.h"

namespace octet::ml {

/// An element of a row that holds T, wherever it lies.
template <class T>
T element(const std::byte* data, size_t i) {
  T out;
  std::memcpy(&out, data + i * sizeof(T), sizeof(T));
  return out;
}

/// A row of features where it lies: i32, i64, f16, f32 or f64.
class RowView {
 public:
  RowView(const std::byte* data, DType type, size_t size) : data_(data), type_(type), size_(size) {}
  size_t size() const { return size_; }
  DType type() const { return type_; }
  const std::byte* data() const { return data_; }
  double operator[](size_t i) const;

 private:
  const std::byte* data_;
  DType type_;
  size_t size_;
};

/// What the leaves of trees say of a target.
struct Score {
  double value = 0;
  bool given = false; ///< a leaf voted
};

struct RowModel {
  std::optional<Labels> labels; ///< of output 0, whose scores are output 1; none: of a regressor
  size_t width = 0;             ///< scores of a row
  size_t votes = 0;             ///< that trees add up for them
  size_t columns = 0;           ///< a row has so many features, or more
  double ns = 0;                ///< about, for a row
  /// Fills in the scores and returns the number of the class; `votes` is memory. Of a regressor 0.
  std::function<size_t(const RowView&, std::span<double> scores, std::span<Score> votes)> row;

  /// Memory that a row needs, aligned to 8.
  size_t bytes() const { return width * sizeof(double) + votes * sizeof(Score); }
  struct Scored {
    std::span<const double> scores;
    size_t top = 0;
  };
  /// In `memory`, which holds bytes(). For several rows at once, with memory of their own.
  Scored score(const RowView& x, std::byte* memory) const;
};

/// Of TreeEnsembleClassifier, TreeEnsembleRegressor, TreeEnsemble, LinearClassifier,
/// LinearRegressor, SVMClassifier and SVMRegressor. Errors: attributes that do not fit, another
/// operator.
Result<RowModel> row_model(const Node& node);
/// row . weights[k] + intercepts[k], with weights [scores, features] and intercepts for each score
/// or none.
void linear_scores(const RowView& row,
                   std::span<const float> weights,
                   std::span<const float> intercepts,
                   std::span<double> scores);
/// Rows of `columns` features are what the model reads.
Status check_columns(const RowModel& model, int64_t columns);

/// The eval of these operators.
Result<std::vector<Tensor>> run_rows(InferFn* infer, const EvalContext& ctx);

// Those of row_model(), each in its operator's file.
namespace op_LinearClassifier {
Result<RowModel> model(const Node& node);
}
namespace op_LinearRegressor {
Result<RowModel> model(const Node& node);
}
namespace op_SVMClassifier {
Result<RowModel> model(const Node& node);
}
namespace op_SVMRegressor {
Result<RowModel> model(const Node& node);
}
namespace op_TreeEnsemble {
Result<RowModel> model(const Node& node);
}
namespace op_TreeEnsembleClassifier {
Result<RowModel> model(const Node& node);
}
namespace op_TreeEnsembleRegressor {
Result<RowModel> model(const Node& node);
}

} // namespace octet::ml
