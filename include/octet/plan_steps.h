// SPDX-License-Identifier: Apache-2.0
// What a quantization plan does to a network beside storing it in fewer bits. A step is a decision
// with its numbers: it can be printed, saved, left out and applied again without data.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "octet/tensor.h"

namespace octet {

/// An input of a node, by the names of the prepared graph.
struct InputOf {
  std::string node;
  int64_t input = 0;
  bool operator==(const InputOf&) const = default;
};

/// Two products with nothing between but what a factor above 0 passes (Relu, pools, Reshape): the
/// weights and the bias of the first are divided by s, the weights of the second multiplied with
/// it, channel by channel. What the float network computes stays, up to rounding. Then what a
/// channel never comes below goes from the first's bias through the Relu into the second's, which
/// keeps what the network computes as long as that is true.
/// Source: Nagel et al. 2019 (Data-Free Quantization), sections 4.1.2 and 4.1.3.
struct Equalize {
  std::string first, second; ///< nodes: Conv, Gemm or MatMul
  Tensor s;                  ///< f32 [output channels of the first], each above 0
  Tensor absorbed; ///< f32, likewise, 0 or more: taken from the bias b / s, in the unit of x / s
};

/// x becomes x / s and the weights W that it is multiplied with become s W, channel by channel:
/// what the float network computes stays, up to rounding, and outliers of x move into W, which has
/// a scale for each output channel. Source: Xiao et al. 2023 (SmoothQuant), equation 4.
struct Smooth {
  std::string value;              ///< x: its channels are axis 1 before Conv, else the last axis
  std::vector<InputOf> consumers; ///< the weights
  /// The node whose constants take 1 / s: a LayerNormalization, or a product with at most a Relu
  /// behind it; nothing but the consumers reads x then. Empty: a Mul is put before the consumers.
  std::string into;
  Tensor s;         ///< f32 [channels of x], each above 0
  double alpha = 0; ///< s = max|x|^alpha / max|W|^(1 - alpha); for people, s says all
};

/// A few channels of x that are much larger than the others go through products of their own, so
/// that each part has a range that fits it: op(x, W) becomes op(x with 0 there, W) +
/// op(x[channels] / s, s W[channels]). What the float network computes stays, up to rounding.
/// Source: Dettmers et al. 2022 (LLM.int8()), section 3.2, with channels that are chosen once.
struct Outliers {
  std::string value;              ///< x, whose channels are the last axis
  std::vector<InputOf> consumers; ///< the weights
  std::vector<int64_t> channels;  ///< ascending, fewer than all
  Tensor s;                       ///< f32 [as many as channels], each above 0
};

/// The scales of a weight, chosen so that its layer's output moves least given what the layers before
/// it make of calibration data once they are quantized. The plan's ranges of that weight are taken in
/// proportion, so that their larger sides end at `largest`; its codes stay the nearest. Source: AIMET
/// (Qualcomm), sequential MSE.
struct SequentialMse {
  InputOf weight;
  Tensor largest; ///< f32 [ranges of the plan], 0 or more
};

/// The codes of a weight, chosen so that its layer's output moves least on calibration data: the
/// weight becomes codes times scales, which the plan's range gives back as the same codes.
struct RoundedWeight {
  InputOf weight;   ///< f32, read by that node alone
  std::string type; ///< of the codes where they are floating-point numbers: "f8e4m3fn", "f4e2m1"
  /// Numbers along the summed axis that share a scale; 0: those of an output channel or the tensor.
  int64_t block = 0;
  Tensor codes; ///< i8 [elements of the weight]: whole numbers, zero point 0, or bits of `type`
  /// f32 [output channels] or [1], or one for each block in the order of a plan's ranges; each above 0.
  Tensor scales;
};
/// Each code lies beside the weight; which side is learned. Source: Nagel et al. 2020 (AdaRound).
struct AdaRound : RoundedWeight {};
/// Codes are taken column by column, and each makes up for those before it. Source: Frantar et al.
/// 2023 (GPTQ).
struct Gptq : RoundedWeight {};

/// Codes lie beside the weights; which side is learned for all weights of a block at once, for the
/// block's outputs. Source: Li et al. 2021 (BRECQ).
struct Reconstruct : RoundedWeight {};

/// b becomes b + delta: what rounding moves the mean of a layer's output by is taken back.
/// Source: Nagel et al. 2019 (Data-Free Quantization), section 4.2, with measured means.
struct CorrectBias {
  InputOf bias; ///< f32 vector; an omitted one of Conv or Gemm is made
  Tensor delta; ///< f32 [output channels], in the unit of the output
};

/// W becomes factor W and b becomes factor b + delta by output channel, in a product into which a
/// BatchNormalization was folded: mean and variance of its output are again those of the float network.
/// The plan's ranges of W take the factors too, so that codes stay. Source: Sun et al. 2019 (Hybrid
/// 8-bit Floating Point) and Shen et al. 2023 (arXiv:2309.14592).
struct ReestimateBatchNorm {
  std::string node; ///< Conv or Gemm
  Tensor factor;    ///< f32 [output channels], each above 0; other than 1 where the weight's scales
                    ///< are those of output channels or blocks
  Tensor delta;     ///< f32 [output channels], in the unit of the output
};

/// The kinds of steps; octet::name(kind) is what plans and options call them.
using StepKind = std::variant<Equalize,
                              Smooth,
                              Outliers,
                              SequentialMse,
                              Reconstruct,
                              AdaRound,
                              Gptq,
                              ReestimateBatchNorm,
                              CorrectBias>;

/// When a step is taken. A plan's steps are in this order.
enum class StepStage : uint8_t {
  kFloat,   ///< `float`: changes the float network before placement and ranges
  kWeights, ///< `weights`: fitted behind ranges, changes weights within the ranges that they have
  kBias,    ///< `bias`: fitted on the quantized network, changes biases and factors of outputs
};

struct PlanStep {
  std::string id; ///< "smooth/norm1": unique in a plan; what patterns exclude
  StepKind kind;
  std::string why;                ///< for people
  std::vector<std::string> needs; ///< ids of earlier steps that its numbers were fitted behind
  /// The error that it was chosen by, before it and with it, in the unit of the output; 0 and 0:
  /// not known. Equalize, Smooth: predicted rounding error of the consumers' outputs, root mean
  /// square. SequentialMse, AdaRound, Gptq: the same of the layer's output, measured on examples that the codes
  /// were not fitted to; Reconstruct: of its block's outputs, alike. Outliers: measured error of the consumers' outputs, root mean square, on rows of the
  /// data. CorrectBias: measured error of the output's mean, root mean square over channels;
  /// ReestimateBatchNorm: of its mean and its standard deviation together.
  double before = 0, after = 0;
};

std::string_view name(const StepKind& kind);
StepStage stage(const StepKind& kind);
std::string_view name(StepStage stage);
/// What `--steps` takes, in the order in which they are taken.
std::vector<std::string> step_names();

} // namespace octet
