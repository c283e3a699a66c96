// SPDX-License-Identifier: Apache-2.0
#include "data/arrays.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

#include "core/format.h"
#include "core/string_util.h"
#include "data/npy.h"

namespace octet {
namespace {

constexpr int64_t kMaxArrayClasses = 1 << 20;

bool is_label_name(std::string_view name) {
  return name == "y" || name == "label" || name == "labels";
}

template <class T>
std::optional<int64_t> find_nan(std::span<const T> values) {
  const auto at = std::find_if(values.begin(), values.end(), [](T v) { return std::isnan(v); });
  return at == values.end() ? std::nullopt : std::optional<int64_t>(at - values.begin());
}

std::optional<int64_t> first_nan(const Tensor& tensor) {
  if (!is_float(tensor.type())) return std::nullopt;
  if (tensor.type() == DType::kFloat32) return find_nan(tensor.data<float>());
  const Result<std::vector<double>> values = tensor.to_doubles();
  return values.ok() ? find_nan(std::span<const double>(*values)) : std::nullopt;
}

/// One of them, or neither.
struct ArrayLabels {
  std::vector<int64_t> classes;
  Tensor numbers; ///< f32[N, ...]
};

class ArrayDataset final : public Dataset {
 public:
  ArrayDataset(std::string description, NamedTensors features, ArrayLabels labels)
      : description_(std::move(description)), tensors_(std::move(features)),
        labels_(std::move(labels.classes)), numbers_(std::move(labels.numbers)) {
    for (const auto& [name, tensor] : tensors_) {
      TypeInfo type = tensor_type(tensor.type(), tensor.shape());
      (*type.shape)[0] = Dim::symbol("N");
      features_.emplace_back(name, std::move(type));
    }
    int64_t count = 0;
    for (const int64_t label : labels_)
      count = std::max(count, label + 1);
    for (int64_t i = 0; i < count; ++i)
      classes_.push_back(std::to_string(i));
  }
  std::string description() const override { return description_; }
  int64_t size() const override { return tensors_[0].second.dim(0); }
  const std::vector<std::pair<std::string, TypeInfo>>& features() const override {
    return features_;
  }
  const std::vector<std::string>& classes() const override { return classes_; }

  Result<Batch> batch(std::span<const int64_t> indices) const override {
    for (const int64_t index : indices) {
      if (index < 0 || index >= size()) {
        return error("example {} is asked for, {} has {}; ask for 0 to {}", index, description_,
                     size(), size() - 1);
      }
    }
    Batch out;
    for (const auto& [name, tensor] : tensors_) {
      out.inputs.emplace_back(name, OCTET_TRY(gather(tensor, indices)));
      OCTET_TRY(check_numbers(name, out.inputs.back().second, indices));
    }
    if (!numbers_.empty()) {
      out.targets.emplace_back(kNumberLabels, OCTET_TRY(gather(numbers_, indices)));
      OCTET_TRY(check_numbers(kNumberLabels, out.targets.back().second, indices));
    }
    if (labels_.empty()) return out;
    out.labels = OCTET_TRY(Tensor::zeros(DType::kInt64, {static_cast<int64_t>(indices.size())}));
    const auto y = out.labels.mutable_data<int64_t>();
    for (size_t i = 0; i < indices.size(); ++i)
      y[i] = labels_[static_cast<size_t>(indices[i])];
    return out;
  }

 private:
  static Result<Tensor> gather(const Tensor& tensor, std::span<const int64_t> indices) {
    Shape shape = tensor.shape();
    if (tensor.type() == DType::kString) return gather_strings(tensor, indices);
    const size_t row = tensor.bytes().size() / static_cast<size_t>(shape[0]);
    shape[0] = static_cast<int64_t>(indices.size());
    Tensor out = OCTET_TRY(Tensor::zeros(tensor.type(), std::move(shape)));
    std::byte* to = out.mutable_bytes().data();
    for (size_t i = 0; i < indices.size() && row > 0; ++i, to += row)
      std::memcpy(to, tensor.bytes().data() + static_cast<size_t>(indices[i]) * row, row);
    return out;
  }

  static Result<Tensor> gather_strings(const Tensor& tensor, std::span<const int64_t> indices) {
    const std::vector<std::string>& all = tensor.string_values();
    Shape shape = tensor.shape();
    const auto row = static_cast<ptrdiff_t>(all.size()) / shape[0];
    shape[0] = std::ssize(indices);
    std::vector<std::string> out;
    for (const int64_t index : indices)
      out.insert(out.end(), all.begin() + index * row, all.begin() + (index + 1) * row);
    return Tensor::strings(std::move(shape), std::move(out));
  }

  /// No result computed with a nan means anything, and few operators let one be seen in it.
  Status check_numbers(const std::string& name,
                       const Tensor& rows,
                       std::span<const int64_t> indices) const {
    const std::optional<int64_t> at = first_nan(rows);
    if (!at) return ok_status();
    const int64_t row = *at / (rows.count() / rows.dim(0));
    return error("{}: array \"{}\" holds nan in example {}; leave such examples out, or give them "
                 "numbers",
                 description_, name, indices[static_cast<size_t>(row)]);
  }

  std::string description_;
  NamedTensors tensors_;
  std::vector<int64_t> labels_;
  Tensor numbers_; ///< f32[N, ...], or empty
  std::vector<std::pair<std::string, TypeInfo>> features_;
  std::vector<std::string> classes_;
};

/// The arrays of a split: `x_test` becomes `x` of the test split; a plain `x` belongs to both.
NamedTensors of_split(const NamedTensors& arrays, Split split) {
  const std::string_view mine = split == Split::kTrain ? "_train" : "_test";
  const std::string_view other = split == Split::kTrain ? "_test" : "_train";
  NamedTensors out;
  for (const auto& [name, tensor] : arrays) {
    if (name.ends_with(other)) continue;
    const size_t cut = name.ends_with(mine) ? mine.size() : 0;
    out.emplace_back(name.substr(0, name.size() - cut), tensor);
  }
  return out;
}

Result<std::vector<int64_t>> read_classes(const Tensor& tensor, const std::string& name) {
  std::vector<int64_t> labels = OCTET_TRY(tensor.to_ints());
  for (size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] < 0 || labels[i] >= kMaxArrayClasses) {
      return error("array \"{}\" has the label {} at {}; give class numbers from 0 to {}, or "
                   "floats where they are numbers to learn",
                   name, labels[i], i, kMaxArrayClasses - 1);
    }
  }
  return labels;
}

/// Integers of shape [N] or [N, 1] are classes; other shapes, floats and truth values are numbers.
Result<ArrayLabels> read_labels(const Tensor& tensor, const std::string& name) {
  ArrayLabels out;
  const bool one_each = tensor.rank() == 1 || (tensor.rank() == 2 && tensor.dim(1) == 1);
  if (is_integer(tensor.type()) && one_each) {
    out.classes = OCTET_TRY(read_classes(tensor, name));
    return out;
  }
  if (!is_integer(tensor.type()) && !is_float(tensor.type()) && tensor.type() != DType::kBool)
    return error("array \"{}\" is {} of type {}, labels are integers (classes) or floats (numbers "
                 "to learn)",
                 name, to_string(tensor.shape()), octet::name(tensor.type()));
  out.numbers = Tensor::of<float>(tensor.shape(), OCTET_TRY(tensor.to_floats()));
  return out;
}

} // namespace

Result<std::shared_ptr<const Dataset>>
make_array_dataset(const NamedTensors& all, Split split, const std::string& source) {
  NamedTensors features;
  ArrayLabels labels;
  const std::pair<std::string, Tensor>* first = nullptr;
  const NamedTensors arrays = of_split(all, split);
  for (const auto& entry : arrays) {
    const auto& [name, tensor] = entry;
    if (tensor.rank() == 0 || tensor.dim(0) == 0) {
      return error("{}: array \"{}\" has shape {}, its first axis should count the examples",
                   source, name, to_string(tensor.shape()));
    }
    if (first == nullptr) first = &entry;
    if (tensor.dim(0) != first->second.dim(0)) {
      return error("{}: array \"{}\" has {} examples, \"{}\" has {}; the first axes must "
                   "agree: where an example is all that the model takes, stack examples along one "
                   "more axis in front",
                   source, name, tensor.dim(0), first->first, first->second.dim(0));
    }
    if (is_label_name(name)) {
      labels = OCTET_TRY_WITH(read_labels(tensor, name), source);
    } else {
      features.emplace_back(name, tensor);
    }
  }
  if (features.empty()) {
    return error("{} has no array for the {} split that could be an input; name one x", source,
                 split == Split::kTrain ? "training" : "test");
  }
  std::string description = source + ", " + counted(features[0].second.dim(0), "example");
  return std::shared_ptr<const Dataset>(std::make_shared<ArrayDataset>(
      std::move(description), std::move(features), std::move(labels)));
}

Result<std::shared_ptr<const Dataset>> open_npz(const std::string& path, Split split) {
  return make_array_dataset(OCTET_TRY(read_npz(path)), split, path);
}

Result<std::shared_ptr<const Dataset>> open_npy(const std::string& list, Split split) {
  NamedTensors arrays;
  for (const std::string_view part : octet::split(list, ',')) {
    const size_t equals = part.find('=');
    const bool named = equals != std::string_view::npos;
    const std::string path(named ? part.substr(equals + 1) : part);
    if (path.empty()) return error("npy:{} names no file; write npy:x=FILE,y=FILE", list);
    std::string name(named ? part.substr(0, equals) : "x");
    arrays.emplace_back(std::move(name), OCTET_TRY(read_npy(path)));
  }
  return make_array_dataset(arrays, split, "npy:" + list);
}

} // namespace octet
