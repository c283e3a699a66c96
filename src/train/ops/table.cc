// SPDX-License-Identifier: Apache-2.0
// The table of mappings, made from ops.def: an operator without a mapping does not link. The domain
// octet.native as a whole has none: lowered graphs are finished, they run by their reference.
#include "train/ops/table.h"

#include <map>

#include "train/ops/mapping.h"

// NOLINTBEGIN(readability-identifier-naming): these end in the words that ops.def has for domains
#define OCTET_DECLARE_onnx(Name) extern const ::octet::train::TorchOp torch_onnx_##Name;
#define OCTET_DECLARE_ms(Name) extern const ::octet::train::TorchOp torch_ms_##Name;
#define OCTET_DECLARE_training(Name) extern const ::octet::train::TorchOp torch_training_##Name;
#define OCTET_DECLARE_ml(Name) extern const ::octet::train::TorchOp torch_ml_##Name;
#define OCTET_DECLARE_native(Name)
// NOLINTEND(readability-identifier-naming)
#define OP(domain, Name, file) OCTET_DECLARE_##domain(Name)
#include "ops/ops.def"
#undef OP

namespace octet::train {
namespace {

using Key = std::pair<std::string_view, std::string_view>;

constexpr TorchOp kLowered{nullptr};

} // namespace

// NOLINTBEGIN(readability-identifier-naming)
#define OCTET_ENTRY_onnx(Name) {Key("", #Name), &torch_onnx_##Name},
#define OCTET_ENTRY_ms(Name) {Key("com.microsoft", #Name), &torch_ms_##Name},
#define OCTET_ENTRY_training(Name) {Key("ai.onnx.preview.training", #Name), &torch_training_##Name},
#define OCTET_ENTRY_ml(Name) {Key("ai.onnx.ml", #Name), &torch_ml_##Name},
#define OCTET_ENTRY_native(Name) {Key("octet.native", #Name), &kLowered},
// NOLINTEND(readability-identifier-naming)

const TorchOp* find_mapping(std::string_view domain, std::string_view op_type) {
  static const std::map<Key, const TorchOp*> kTable = {
#define OP(domain, Name, file) OCTET_ENTRY_##domain(Name)
#include "ops/ops.def"
#undef OP
  };
  const auto found = kTable.find(Key(domain == "ai.onnx" ? "" : domain, op_type));
  return found == kTable.end() ? nullptr : found->second;
}

} // namespace octet::train
