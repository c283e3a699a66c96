// SPDX-License-Identifier: Apache-2.0
// The kernels of com.microsoft that ONNX Runtime 1.31 has on the CPU. Source: the registry of the
// PyPI wheel, printed by bench/onnxruntime_operators.py.
#include "targets/onnxruntime/kernels.h"

namespace octet {

namespace {

constexpr std::string_view kMicrosoftKernels = R"(
Attention f,0,0,i,0,0,3>0,0
AttnLSTM df,0,0,0,i,0,0,0,0,0,0,0,4,0>0,0,0
BeamSearch fhi,i,1,1,1,f,5,i,7,1,1,1>1,5,5
BiasGelu f,0>0
BifurcationDetector l,0,0,0>0,0
BranchwiseRMSNorm b,bfh>0
BranchwiseRMSNorm f,bfh>0
BranchwiseRMSNorm h,bfh>0
CDist d,0>0
CDist f,0>0
CausalConvWithState f,0,0,0>0,0
ConvTransposeWithDynamicPads f,0,l,0>0
CropAndResize f,0,i,2>0
DecoderMaskedMultiHeadAttention f,0,0,i,0,0,0,3,3,3,0>0,0,0,fh
DequantizeLinear C,f,0>1
DequantizeLinear N,f,0>1
DequantizeLinear S,f,0>1
DequantizeLinear c,f,0>1
DequantizeLinear i,f,0>1
DequantizeLinear n,f,0>1
DequantizeLinear s,f,0>1
DynamicQuantizeLSTM f,Cc,1,0,i,0,0,0,0,1,0,1>0,0,0
DynamicQuantizeMatMul f,Cc,0,1,0>0
DynamicTimeWarping f>i
EmbedLayerNormalization i,0,f,2,2,2,2,0,0>2,0,2
EngramGate f,0,0,0,0,0>0,0
EngramGate h,0,0,0,0,0>0,0
ExpandDims CILScdfhilost,i>0
FastGelu f,0>0
FusedConv f,0,0,0>0
FusedGemm f,0,0>0
FusedMatMul d,0>0
FusedMatMul f,0>0
GatedAdd f,0,0>0
GatedAdd h,0,0>0
GatedRMSNorm f,0,0>0
GatedRMSNorm h,0,0>0
GatherBlockQuantized C,i,fh,0>2
GatherBlockQuantized C,l,fh,0>2
GatherBlockQuantized E,i,fh,0>2
GatherBlockQuantized E,l,fh,0>2
GatherBlockQuantized M,i,fh,0>2
GatherBlockQuantized M,l,fh,0>2
GatherBlockQuantized N,i,fh,0>2
GatherBlockQuantized N,l,fh,0>2
GatherBlockQuantized e,i,fh,0>2
GatherBlockQuantized e,l,fh,0>2
GatherBlockQuantized m,i,fh,0>2
GatherBlockQuantized m,l,fh,0>2
GatherBlockQuantized n,i,fh,0>2
GatherBlockQuantized n,l,fh,0>2
GatherBlockQuantized q,i,fh,0>2
GatherBlockQuantized q,l,fh,0>2
GatherND CILScdfhilost,il>0
Gelu f>0
GreedySearch i,0,0,f,0,0,0>0
GridSample f,0>f
GroupQueryAttention f,0,0,Ccf,3,i,5,0,0,l,0,0,f,12,0,0>0,3,3,0
GroupQueryAttention h,0,0,Cch,3,i,5,0,0,l,0,0,f,12,0,0>0,3,3,0
HyperConnectionPostMix b,0,bfh,2>0
HyperConnectionPostMix f,0,bfh,2>0
HyperConnectionPostMix h,0,bfh,2>0
HyperConnectionPreMix b,bfh>0
HyperConnectionPreMix f,bfh>0
HyperConnectionPreMix h,bfh>0
Inverse dfh>0
LinearAttention f,0,0,bfh,0,0>0,3
LinearAttentionGate f,f,1,0>0,0
LinearAttentionGate h,f,1,0>0,0
MRotaryEmbedding f,l,0,0>0
MRotaryEmbedding h,l,0,0>0
MatMulBnb4 f,C,0>0
MatMulFpQ4 f,C,l>0
MatMulInteger16 s,s>i
MatMulIntegerToFloat C,Cc,f,2,0,1,2>2
MatMulIntegerToFloat c,c,f,2,0,1,2>2
MatMulNBits f,C,0,Cf,i,0>0
MatMulNBits h,C,0,Ch,i,0>0
MaxpoolWithMask f,i>0
MoE f,0,0,0,0,0,0,0>0
MultiHeadAttention f,0,0,0,i,0,0,0,4,4>0,0,0,bfh
MurmurHash3 ILdfilt>Ii
NGramHashMapping i,0,0,0,0,0,i>0,0
NGramHashMapping l,0,0,0,0,0,i>0,0
NGramRepeatBlock l,f>1
NhwcMaxPool C>0
NhwcMaxPool c>0
Pad f,l,0>0
QAttention C,Cc,f,2,2,i,0,1,2>2,2
QEmbedLayerNormalization i,0,Cc,2,2,2,2,0,f,8,8,8,8,2,2,2,2,2>8,0
QGemm C,f,0,Cc,1,3,i,1,C>Cf
QGemm c,f,0,c,1,3,i,1,c>cf
QLinearAdd C,f,0,0,f,0,f,0>0
QLinearAdd c,f,0,0,f,0,f,0>0
QLinearAveragePool Cc,f,0,f,0>0
QLinearConcat f,Cc,Ccf+>1
QLinearConv C,f,0,Cc,f,3,f,C,i>7
QLinearConv c,f,0,c,f,3,f,c,i>7
QLinearGlobalAveragePool Cc,f,0,f,0>0
QLinearLeakyRelu C,f,0,f,0>0
QLinearLeakyRelu c,f,0,f,0>0
QLinearMul C,f,0,0,f,0,f,0>0
QLinearMul c,f,0,0,f,0,f,0>0
QLinearSigmoid C,f,0,f,0>0
QLinearSigmoid c,f,0,f,0>0
QLinearSoftmax Cc,f,0,f,0>0
QLinearWhere o,Cc,f,1,1,2,1,2,1>1
QMoE f,0,C,f,0,2,3,0,2,3,0,2,2,2,0,f,15,15,15,3,3>0
QMoE h,0,C,h,0,2,3,0,2,3,0,2,2,2,0,f,15,15,15,3,3>0
QuantizeLinear f,0,C>2
QuantizeLinear f,0,N>2
QuantizeLinear f,0,S>2
QuantizeLinear f,0,c>2
QuantizeLinear f,0,n>2
QuantizeLinear f,0,s>2
QuickGelu f>0
Range dfils,0,0>0
RotaryEmbedding f,l,0,0>0
RotaryEmbedding h,l,0,0>0
SampleOp f>0
Sampling i,0,0,f,0,0,0,0,0>0,3
ScaledSiLU b,bfh>0
ScaledSiLU f,bfh>0
ScaledSiLU h,bfh>0
SkipLayerNormalization b,0,0,0,0>0,f,6,0
SkipLayerNormalization f,0,0,0,0>0,f,6,0
SkipLayerNormalization h,0,0,0,0>0,f,6,0
SkipSimplifiedLayerNormalization b,0,0,0>0,f,5,0
SkipSimplifiedLayerNormalization f,0,0,0>0,f,5,0
SkipSimplifiedLayerNormalization h,0,0,0>0,f,5,0
SparseAttention f,0,0,0,0,i,5,5,5,0,0>0,0,0
SparseAttention h,0,0,0,0,i,5,5,5,0,0>0,0,0
SparseToDenseMatMul ?,ILdfil>1
Tokenizer t>0
TransposeMatMul f,0>0
Trilu dfl,l>0
UnfoldTensor CILSbcdfhilost>0
Unique f>0,l,l
VarlenNGramHashMapping i,0,0,i,0,0,0,i,3,3>0,0,3,0
VarlenNGramHashMapping l,0,0,i,0,0,0,i,3,3>0,0,3,0
WhisperBeamSearch fhi,i,1,1,1,f,5,i,7,1,1,1,1,1,5>1,5,5,f,5
WordConvEmbedding i,f,1,1>1
)";

} // namespace

std::string_view onnxruntime_microsoft_kernels() {
  return kMicrosoftKernels.substr(1);
}

} // namespace octet
