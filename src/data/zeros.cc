// SPDX-License-Identifier: Apache-2.0
#include "data/zeros.h"

#include <algorithm>
#include <utility>

#include "core/format.h"
#include "core/string_util.h"

namespace octet {
namespace {

class WithZeros final : public Dataset {
 public:
  WithZeros(std::shared_ptr<const Dataset> data,
            std::vector<std::pair<std::string, TypeInfo>> zeros)
      : data_(std::move(data)), zeros_(std::move(zeros)), features_(data_->features()) {
    features_.insert(features_.end(), zeros_.begin(), zeros_.end());
  }

  std::string description() const override { return data_->description(); }
  int64_t size() const override { return data_->size(); }
  const std::vector<std::pair<std::string, TypeInfo>>& features() const override {
    return features_;
  }
  const std::vector<std::string>& classes() const override { return data_->classes(); }
  int64_t length(int64_t index) const override { return data_->length(index); }
  const ImagePreparation* images() const override { return data_->images(); }
  std::string file(int64_t index) const override { return data_->file(index); }
  int64_t position(int64_t index) const override { return data_->position(index); }
  Result<Batch> batch(std::span<const int64_t> indices) const override {
    return filled(OCTET_TRY(data_->batch(indices)), static_cast<int64_t>(indices.size()));
  }
  Result<Batch> batch_at(std::span<const int64_t> indices, int64_t epoch) const override {
    return filled(OCTET_TRY(data_->batch_at(indices, epoch)), static_cast<int64_t>(indices.size()));
  }

 private:
  Result<Batch> filled(Batch batch, int64_t examples) const {
    for (const auto& [name, type] : zeros_) {
      Shape shape;
      for (const Dim& d : *type.shape)
        shape.push_back(d.maybe_value().value_or(examples));
      batch.inputs.emplace_back(name, OCTET_TRY(Tensor::zeros(type.type, std::move(shape))));
    }
    return batch;
  }

  std::shared_ptr<const Dataset> data_;
  std::vector<std::pair<std::string, TypeInfo>> zeros_, features_;
};

} // namespace

Result<std::shared_ptr<const Dataset>> with_zeros(std::shared_ptr<const Dataset> data,
                                                  const Graph& graph,
                                                  const std::vector<std::string>& inputs) {
  if (inputs.empty()) return data;
  std::vector<std::string> names;
  for (const ValueId id : graph.inputs())
    names.push_back(graph.value(id).name);
  std::vector<std::pair<std::string, TypeInfo>> zeros;
  for (const std::string& name : inputs) {
    if (std::find(names.begin(), names.end(), name) == names.end())
      return error("zeros for \"{}\": the model has no such input{}", name,
                   suggestion(name, names));
    const auto is_it = [&](const auto& feature) { return feature.first == name; };
    if (std::any_of(data->features().begin(), data->features().end(), is_it))
      return error("zeros for \"{}\": {} has it; leave one of them out", name, data->description());
    const TypeInfo& type = graph.value(*graph.find_value(name)).type;
    if (!type.has_rank() || type.type == DType::kUndefined || type.type == DType::kString)
      return error("zeros for \"{}\" {}: its type and rank must be known, and no strings", name,
                   type.text());
    zeros.emplace_back(name, type);
  }
  return std::shared_ptr<const Dataset>(
      std::make_shared<WithZeros>(std::move(data), std::move(zeros)));
}

} // namespace octet
