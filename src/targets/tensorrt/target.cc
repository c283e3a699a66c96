// SPDX-License-Identifier: Apache-2.0
// TensorRT: symmetric int8, Q/DQ on the inputs of products only, everything else left to its own
// fusions. Source: docs/targets.md sections 1, 2, 4 of NvInfer.h's rules, and 7 (measured).
#include <string>
#include <vector>

#include "core/format.h"
#include "targets/tables.h"

namespace octet {

namespace {

constexpr std::string_view kMoves = "TensorRT moves Q and DQ through it by itself";
constexpr std::string_view kFuses = "TensorRT fuses it into the product before it";

constexpr PlacementRule kTensorRtRules[] = {
    {"Conv", Treatment::kProduct, OutputCodes::kNever, "2.1 rules 1, 2",
     "all inputs of a weighted operator are quantized, its output is left to the reader's Q"},
    {"ConvTranspose", Treatment::kProduct, OutputCodes::kNever, "2.1 rules 1, 2",
     "all inputs of a weighted operator are quantized, its output is left to the reader's Q"},
    {"Gemm", Treatment::kProduct, OutputCodes::kNever, "2.1 rules 1, 2",
     "all inputs of a weighted operator are quantized, its output is left to the reader's Q"},
    {"MatMul", Treatment::kProduct, OutputCodes::kNever, "2.1 rules 1, 2",
     "all inputs of a weighted operator are quantized, its output is left to the reader's Q"},
    {"Add", Treatment::kResidual, OutputCodes::kNever, "2.1 rule 4",
     "the shortcut of a residual sum is quantized, the other side is the product's own output"},
    {"AveragePool", Treatment::kAround, OutputCodes::kNever, "2.1 rule 5",
     "quantized on both sides: its input here, its output by the reader's Q, which moves back"},
    {"GlobalAveragePool", Treatment::kAround, OutputCodes::kNever, "2.1 rule 5",
     "quantized on both sides: its input here, its output by the reader's Q, which moves back"},
    {"Softmax", Treatment::kAround, OutputCodes::kNever, "2.4",
     "quantized with the fixed scale 1/127", true},
    {"Relu", Treatment::kCommutes, OutputCodes::kNever, "2.1 rule 3", kFuses},
    {"Clip", Treatment::kCommutes, OutputCodes::kNever, "2.1 rule 3", kFuses},
    {"BatchNormalization", Treatment::kCommutes, OutputCodes::kNever, "2.1 rule 3", kFuses},
    {"MaxPool", Treatment::kCommutes, OutputCodes::kNever, "2.1 rule 8", kMoves},
    {"Transpose", Treatment::kCommutes, OutputCodes::kNever, "2.1 rule 8", kMoves},
    {"Reshape", Treatment::kCommutes, OutputCodes::kNever, "2.1 rule 8", kMoves},
    {"Flatten", Treatment::kCommutes, OutputCodes::kNever, "2.1 rule 8", kMoves},
    {"Squeeze", Treatment::kCommutes, OutputCodes::kNever, "2.1 rule 8", kMoves},
    {"Unsqueeze", Treatment::kCommutes, OutputCodes::kNever, "2.1 rule 8", kMoves},
    {"Slice", Treatment::kCommutes, OutputCodes::kNever, "2.1 rule 8", kMoves},
    {"Gather", Treatment::kCommutes, OutputCodes::kNever, "2.1 rule 8", kMoves},
    {"Concat", Treatment::kFloat, OutputCodes::kNever, "2.1 rule 9",
     "one Q behind it serves all its inputs; TensorRT moves it back where scales agree"},
    {"LayerNormalization", Treatment::kFloat, OutputCodes::kNever, "2.3",
     "NVIDIA's quantizer leaves it in float: Q/DQ there breaks its fusion"},
    {"Gelu", Treatment::kFloat, OutputCodes::kNever, "2.1 rule 2",
     "stays in float between a product and the next Q"},
};

/// The newest operator set that is known to parse: documented in the parser's branches to 10.1,
/// tried with 10.10 (sections 1.2 and 7).
constexpr int64_t max_opset(int version) {
  if (version < 900) return 17;
  if (version < 1000) return 19;
  return version < 1010 ? 20 : 23;
}

/// E4M3FN alone from 9 on, int4 weights from 10 on (sections 1.2, 1.4 and 7).
constexpr StoredFormat kTensorRtFormats[] = {
    {{DType::kFloat8E4M3FN}, true, true},
    {{DType::kInt4}, true, false},
};
std::span<const StoredFormat> stored_formats(int version) {
  const size_t count = version < 900 ? 0 : version < 1000 ? 1 : 2;
  return std::span(kTensorRtFormats).first(count);
}

Placement placement(std::string_view name, int version) {
  return {.target = name,
          .activation = {DType::kInt8, true, false},
          .symmetric_only = true,
          .weight = {DType::kInt8, true, true},
          .stored_weights = version >= 1000,
          .int32_gemm_bias = false,
          .asymmetric_after_clamp = false,
          .gathers_codes = false,
          .dynamic = DynamicForm::kNone,
          .min_opset = 13,
          .max_opset = max_opset(version),
          .rules = kTensorRtRules,
          .formats = stored_formats(version),
          .whole_blocks = true,
          .even_int4 = true,
          .otherwise_clause = "2.1",
          .otherwise = "TensorRT's guide names no int8 form for it"};
}

struct Series {
  int major, first, last; ///< minor versions
};
// Released versions (NvInfer.h and the parser's change log; section 0).
constexpr Series kSeries[] = {{8, 5, 6}, {9, 0, 3}, {10, 0, 16}, {11, 0, 1}};

/// "tensorrt-10" has the rules of the newest 10.
struct Releases {
  std::vector<std::string> names;
  std::vector<Placement> placements;
  std::vector<TargetDef> targets;

  Releases() {
    for (const Series& s : kSeries)
      count_ += static_cast<size_t>(s.last - s.first + 2);
    names.reserve(count_);
    placements.reserve(count_);
    for (const Series& s : kSeries) {
      add(fmt::format("tensorrt-{}", s.major), s.major * 100 + s.last);
      for (int minor = s.first; minor <= s.last; ++minor)
        add(fmt::format("tensorrt-{}.{}", s.major, minor), s.major * 100 + minor);
    }
  }

 private:
  void add(std::string name, int version) {
    names.push_back(std::move(name));
    placements.push_back(placement(names.back(), version));
    targets.push_back({names.back(), TargetFamily::kTensorRt, version, &placements.back()});
  }
  size_t count_ = 0; ///< names and placements are pointed to: they must not move
};

} // namespace

std::span<const TargetDef> tensorrt_targets() {
  static const Releases table;
  return table.targets;
}

} // namespace octet
