// SPDX-License-Identifier: Apache-2.0
// ONNX Runtime on x64: uint8 activations (int8 ones become integer only in part), a quantized
// output after every Conv, clamps done by Q. Source: docs/targets.md sections 4.2 and 8 (measured).
#include <string>
#include <vector>

#include "core/format.h"
#include "targets/onnxruntime/load.h"
#include "targets/onnxruntime/ordered.h"
#include "targets/onnxruntime/ordered_place.h"
#include "targets/onnxruntime/releases.h"

namespace octet {

namespace {

constexpr std::string_view kCudaName = "onnxruntime-cuda";
bool has_dense_windows(const Graph& /*graph*/, const Node& pool) {
  return !onnxruntime_dilates(pool);
}

constexpr std::string_view kDropped = "Q and DQ around it are dropped: it moves codes";

constexpr PlacementRule kOnnxRuntimeRules[] = {
    {"Conv", Treatment::kProduct, OutputCodes::kAlways, "8",
     "becomes QLinearConv, which needs a Q after it"},
    {"Gemm", Treatment::kProduct, OutputCodes::kWhenRead, "8",
     "becomes QGemm; without a Q after it only with an int32 bias or none"},
    {"MatMul", Treatment::kProduct, OutputCodes::kWhenRead, "8",
     "becomes QLinearMatMul with a Q after it, else MatMulIntegerToFloat"},
    {"AveragePool", Treatment::kAround, OutputCodes::kAlways, "8",
     "becomes QLinearAveragePool, which needs a Q after it", false, has_dense_windows,
     "it has dilations, which QLinearAveragePool does not know"},
    {"GlobalAveragePool", Treatment::kAround, OutputCodes::kAlways, "4.2",
     "becomes QLinearGlobalAveragePool, which needs a Q after it"},
    {"Add", Treatment::kAround, OutputCodes::kAlways, "4.2", "becomes QLinearAdd"},
    {"Mul", Treatment::kAround, OutputCodes::kAlways, "4.2", "becomes QLinearMul"},
    {"Concat", Treatment::kAround, OutputCodes::kAlways, "4.2", "becomes QLinearConcat"},
    {"LeakyRelu", Treatment::kAround, OutputCodes::kAlways, "4.2", "becomes QLinearLeakyRelu"},
    {"Sigmoid", Treatment::kAround, OutputCodes::kAlways, "4.2", "becomes QLinearSigmoid"},
    {"Softmax", Treatment::kAround, OutputCodes::kAlways, "4.2",
     "becomes QLinearSoftmax, with the fixed scale 1/255", true},
    {"Relu", Treatment::kAbsorbed, OutputCodes::kAlways, "8",
     "the Q after it has its lowest code at 0 and clamps by itself"},
    {"Clip", Treatment::kAbsorbed, OutputCodes::kAlways, "8",
     "the Q after it has its range and clamps by itself"},
    {"MaxPool", Treatment::kMoves, OutputCodes::kAlways, "4.2", kDropped},
    {"Reshape", Treatment::kMoves, OutputCodes::kAlways, "4.2", kDropped},
    {"Flatten", Treatment::kMoves, OutputCodes::kAlways, "4.2", kDropped},
    {"Transpose", Treatment::kMoves, OutputCodes::kAlways, "4.2", kDropped},
    {"Squeeze", Treatment::kMoves, OutputCodes::kAlways, "4.2", kDropped},
    {"Unsqueeze", Treatment::kMoves, OutputCodes::kAlways, "4.2", kDropped},
    {"Gelu", Treatment::kFloat, OutputCodes::kNever, "8", "has no integer form there"},
    {"LayerNormalization", Treatment::kFloat, OutputCodes::kNever, "8",
     "has no integer form there"},
    {"ConvTranspose", Treatment::kFloat, OutputCodes::kNever, "4.2", "has no integer form there"},
};

constexpr std::string_view kNoFusion =
    "the CUDA provider has no QOrdered operator for it: it runs in float";

/// What is placed by patterns has one range that is the same for all data.
constexpr PlacementRule kCudaRules[] = {
    {"Softmax", Treatment::kAround, OutputCodes::kAlways, "4.4",
     "becomes part of QOrderedAttention, with the fixed scale 1/127", true},
};

/// It runs Q and DQ of such codes as they are, and what is between them in float; measured with 1.31
/// (section 8).
constexpr StoredFormat kOnnxRuntimeFormats[] = {
    {{DType::kFloat8E4M3FN}, true, true}, {{DType::kFloat8E4M3FNUZ}, true, true},
    {{DType::kFloat8E5M2}, true, true},   {{DType::kFloat8E5M2FNUZ}, true, true},
    {{DType::kInt16}, false, true},       {{DType::kUint16}, false, true},
    {{DType::kInt8}, true, false},        {{DType::kUint8}, true, false},
    {{DType::kInt4}, true, true},         {{DType::kUint4}, true, true},
    {{DType::kInt2}, true, true},         {{DType::kUint2}, true, true},
};

constexpr Placement kOnnxRuntimePlacement = {
    .target = "onnxruntime",
    .activation = {DType::kUint8, false, false},
    .symmetric_only = false,
    .weight = {DType::kInt8, true, true},
    .stored_weights = true,
    .int32_gemm_bias = true,
    .asymmetric_after_clamp = true,
    .gathers_codes = true,
    .dynamic = DynamicForm::kOnnx,
    .min_opset = 13,
    .max_opset = 23,
    .rounds_biases = true,
    .rules = kOnnxRuntimeRules,
    .formats = kOnnxRuntimeFormats,
    .otherwise_clause = "4.2",
    .otherwise = "ONNX Runtime's Q/DQ fusion has no integer form for it",
};

/// "onnxruntime" has the rules of the newest release.
struct OnnxRuntimeTable {
  std::vector<std::string> names;
  std::vector<Placement> placements;
  std::vector<TargetDef> targets;

  OnnxRuntimeTable() {
    const auto releases = onnxruntime_releases();
    names.reserve(releases.size() + 2); // names and placements are pointed to: they must not move
    placements.reserve(releases.size() + 2);
    add("onnxruntime", releases.back(), kOnnxRuntimePlacement);
    for (const OnnxRuntimeRelease& release : releases)
      add(fmt::format("onnxruntime-{}.{}", release.version / 100, release.version % 100), release,
          kOnnxRuntimePlacement);
    Placement cuda = kOnnxRuntimePlacement;
    cuda.activation = {DType::kInt8, true, false};
    cuda.symmetric_only = true;
    cuda.int32_gemm_bias = false;
    cuda.asymmetric_after_clamp = false;
    cuda.rules = kCudaRules;
    cuda.place = place_ordered;
    cuda.arrange = arrange_for_ordered;
    cuda.one_dequantize = true;
    cuda.otherwise_clause = "4.4";
    cuda.otherwise = kNoFusion;
    add(std::string(kCudaName), releases.back(), cuda);
    targets.back().cuda = true;
  }

 private:
  void add(std::string name, const OnnxRuntimeRelease& release, Placement placement) {
    names.push_back(std::move(name));
    placement.target = names.back();
    placement.max_opset = release.opset;
    placement.max_ir_version = release.ir_version;
    placement.float_bias = release.version >= kFloatBiasSince;
    placements.push_back(placement);
    targets.push_back(
        {names.back(), TargetFamily::kOnnxRuntime, release.version, &placements.back()});
  }
};

} // namespace

std::span<const TargetDef> onnxruntime_targets() {
  static const OnnxRuntimeTable table;
  return table.targets;
}

bool is_cuda(const TargetDef& target) {
  return target.cuda;
}

} // namespace octet
