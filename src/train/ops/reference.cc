// SPDX-License-Identifier: Apache-2.0
// Operators that need no gradient (integer layers, indices, text, control flow, lowered forms) run
// by their reference. This is a decision for each of them, not a default: an operator that is
// missing from every file of this folder does not link.
#include "train/ops/mapping.h"

// Integer layers: they appear in graphs that are finished, not trained.
OCTET_TORCH_REFERENCE(onnx, ConvInteger)
OCTET_TORCH_REFERENCE(onnx, MatMulInteger)
OCTET_TORCH_REFERENCE(onnx, QLinearConv)
OCTET_TORCH_REFERENCE(onnx, QLinearMatMul)

// Bits, not numbers.
OCTET_TORCH_REFERENCE(onnx, BitShift)
OCTET_TORCH_REFERENCE(onnx, BitCast)

// Rare in what is trained: a gradient through them is reported as missing.
OCTET_TORCH_REFERENCE(onnx, DeformConv)
OCTET_TORCH_REFERENCE(onnx, Det)
OCTET_TORCH_REFERENCE(onnx, DFT)
OCTET_TORCH_REFERENCE(onnx, MaxUnpool)
OCTET_TORCH_REFERENCE(onnx, RoiAlign)
OCTET_TORCH_REFERENCE(onnx, STFT)
OCTET_TORCH_REFERENCE(onnx, TensorScatter)

// Drawn numbers follow from no input.
OCTET_TORCH_REFERENCE(onnx, RandomNormal)
OCTET_TORCH_REFERENCE(onnx, RandomUniform)
OCTET_TORCH_REFERENCE(onnx, RandomNormalLike)
OCTET_TORCH_REFERENCE(onnx, RandomUniformLike)
OCTET_TORCH_REFERENCE(onnx, Bernoulli)
OCTET_TORCH_REFERENCE(onnx, Multinomial)

// Results are indices, counts or codes.
OCTET_TORCH_REFERENCE(onnx, NonZero)
OCTET_TORCH_REFERENCE(onnx, Unique)
OCTET_TORCH_REFERENCE(onnx, Hardmax)
OCTET_TORCH_REFERENCE(onnx, NonMaxSuppression)

// Tables that depend on sizes alone, and text.
OCTET_TORCH_REFERENCE(onnx, HannWindow)
OCTET_TORCH_REFERENCE(onnx, HammingWindow)
OCTET_TORCH_REFERENCE(onnx, BlackmanWindow)
OCTET_TORCH_REFERENCE(onnx, MelWeightMatrix)
OCTET_TORCH_REFERENCE(onnx, StringConcat)
OCTET_TORCH_REFERENCE(onnx, StringSplit)
OCTET_TORCH_REFERENCE(onnx, StringNormalizer)
OCTET_TORCH_REFERENCE(onnx, TfIdfVectorizer)

// Steps of optimizers, which follow gradients and have none.
OCTET_TORCH_REFERENCE(training, Momentum)
OCTET_TORCH_REFERENCE(training, Adagrad)
OCTET_TORCH_REFERENCE(training, Adam)

// Finished models and what prepares features for them.
OCTET_TORCH_REFERENCE(ml, TreeEnsembleClassifier)
OCTET_TORCH_REFERENCE(ml, TreeEnsembleRegressor)
OCTET_TORCH_REFERENCE(ml, TreeEnsemble)
OCTET_TORCH_REFERENCE(ml, LinearClassifier)
OCTET_TORCH_REFERENCE(ml, LinearRegressor)
OCTET_TORCH_REFERENCE(ml, SVMClassifier)
OCTET_TORCH_REFERENCE(ml, SVMRegressor)
OCTET_TORCH_REFERENCE(ml, Scaler)
OCTET_TORCH_REFERENCE(ml, Normalizer)
OCTET_TORCH_REFERENCE(ml, Binarizer)
OCTET_TORCH_REFERENCE(ml, Imputer)
OCTET_TORCH_REFERENCE(ml, LabelEncoder)
OCTET_TORCH_REFERENCE(ml, OneHotEncoder)
OCTET_TORCH_REFERENCE(ml, ArrayFeatureExtractor)
OCTET_TORCH_REFERENCE(ml, FeatureVectorizer)

// Control flow runs its bodies with the reference.
OCTET_TORCH_REFERENCE(onnx, If)
OCTET_TORCH_REFERENCE(onnx, Loop)
OCTET_TORCH_REFERENCE(onnx, Scan)

// Fused and integer forms that ONNX Runtime's optimizer writes into finished graphs.
OCTET_TORCH_REFERENCE(ms, DequantizeLinear)
OCTET_TORCH_REFERENCE(ms, DequantizeWithOrder)
OCTET_TORCH_REFERENCE(ms, DynamicQuantizeLSTM)
OCTET_TORCH_REFERENCE(ms, DynamicQuantizeMatMul)
OCTET_TORCH_REFERENCE(ms, GroupQueryAttention)
OCTET_TORCH_REFERENCE(ms, MatMulNBits)
OCTET_TORCH_REFERENCE(ms, MatMulIntegerToFloat)
OCTET_TORCH_REFERENCE(ms, QAttention)
OCTET_TORCH_REFERENCE(ms, QGemm)
OCTET_TORCH_REFERENCE(ms, QLinearAdd)
OCTET_TORCH_REFERENCE(ms, QLinearAveragePool)
OCTET_TORCH_REFERENCE(ms, QLinearConcat)
OCTET_TORCH_REFERENCE(ms, QLinearGlobalAveragePool)
OCTET_TORCH_REFERENCE(ms, QLinearLeakyRelu)
OCTET_TORCH_REFERENCE(ms, QLinearMul)
OCTET_TORCH_REFERENCE(ms, QLinearSigmoid)
OCTET_TORCH_REFERENCE(ms, QLinearSoftmax)
OCTET_TORCH_REFERENCE(ms, QLinearWhere)
OCTET_TORCH_REFERENCE(ms, QOrderedAttention)
OCTET_TORCH_REFERENCE(ms, QOrderedGelu)
OCTET_TORCH_REFERENCE(ms, QOrderedLayerNormalization)
OCTET_TORCH_REFERENCE(ms, QOrderedMatMul)
OCTET_TORCH_REFERENCE(ms, QuantizeLinear)
OCTET_TORCH_REFERENCE(ms, QuantizeWithOrder)
