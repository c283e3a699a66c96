// SPDX-License-Identifier: Apache-2.0
// The types and attributes of the operators of ai.onnx, operator sets 7 to 26, in the format of
// schema_types.h. Source: ONNX's operator schemas, printed by bench/onnxruntime_operators.py.
#include "ops/schema_types.h"

namespace octet {

namespace {

constexpr std::string_view kSchemas = R"(
Abs 6:CILScdfhils>0:;13:CILSbcdfhils>0
Acos 7:dfh>0:;22:bdfh>0
Acosh 9:dfh>0:;22:bdfh>0
Add 7:ILdfhil,0>0:;13:ILbdfhil,0>0;14:CILSbcdfhils,0>0
AffineGrid 20:bdfh,l>0:align_corners
And 7:o,o>o:
ArgMax 1:CILScdfhils>l:axis keepdims;11:=;12:=:axis keepdims select_last_index;13:CILSbcdfhils>l
ArgMin 1:CILScdfhils>l:axis keepdims;11:=;12:=:axis keepdims select_last_index;13:CILSbcdfhils>l
Asin 7:dfh>0:;22:bdfh>0
Asinh 9:dfh>0:;22:bdfh>0
Atan 7:dfh>0:;22:bdfh>0
Atanh 9:dfh>0:;22:bdfh>0
Attention 23:bdfh,0,0,CILSbcdfhilos,0,0>0,0,0,0:is_causal kv_num_heads q_num_heads qk_matmul_output_mode scale softcap softmax_precision;24:bdfh,0,0,CILSbcdfhilos,0,0,l>0,0,0,0;25:=:is_causal kv_num_heads left_window_size q_num_heads qk_matmul_output_mode right_window_size scale softcap softmax_precision
AveragePool 7:dfh>0:auto_pad count_include_pad kernel_shape pads strides;10:=:auto_pad ceil_mode count_include_pad kernel_shape pads strides;11:=;19:=:auto_pad ceil_mode count_include_pad dilations kernel_shape pads strides;22:bdfh>0
BatchNormalization 7:dfh,0,0,0,0>0,0,0,0,0:epsilon momentum spatial;9:=:epsilon momentum;14:bdfh,0,0,0,0>0,0,0:epsilon momentum training_mode;15:=
Bernoulli 15:dfh>CILSbcdfhilos:dtype seed;22:bdfh>CILSbcdfhilos
BitCast 26:CEILMNSWZbcdefhilmnoqswxz>0:to
BitShift 11:CILS,0>0:direction
BitwiseAnd 18:CILScils,0>0:
BitwiseNot 18:CILScils>0:
BitwiseOr 18:CILScils,0>0:
BitwiseXor 18:CILScils,0>0:
BlackmanWindow 17:il>CILSbcdfhils:output_datatype periodic
Cast 6:CILScdfhilos>0:to;9:CILScdfhilost>0;13:CILSbcdfhilost>0;19:CEILMSbcdefhilmost>0:saturate to;21:CEILMNSbcdefhilmnost>0;23:CEILMNSbcdefhilmnoqst>0;24:CEILMNSbcdefhilmnoqstx>0:round_mode saturate to;25:CEILMNSWbcdefhilmnoqstwx>0
CastLike 15:CILSbcdfhilost,0>0:;19:CEILMSbcdefhilmost,0>0:saturate;21:CEILMNSbcdefhilmnost,0>0;23:CEILMNSbcdefhilmnoqst,0>0;24:CEILMNSbcdefhilmnoqstx,0>0:round_mode saturate;25:CEILMNSWbcdefhilmnoqstwx,0>0
Ceil 6:dfh>0:;13:bdfh>0
Celu 12:f>f:alpha
CenterCropPad 18:CILSZbcdfhilostz,il>0:axes
Clip 6:dfh>0:max min;11:dfh,0,0>0:;12:CILScdfhils,0,0>0;13:CILSbcdfhils,0,0>0
Col2Im 18:CILSZbcdfhilostz,l,l>0:dilations pads strides
Compress 9:CILSZcdfhilostz,o>0:axis;11:=
Concat 4:CILSZcdfhilostz+>0:axis;11:=;13:CILSZbcdfhilostz+>0
ConcatFromSequence 11:?>CILSZcdfhilostz:axis new_axis
Constant 1:>dfh:value;9:>CILSZcdfhilostz;11:=:sparse_value value;12:=:sparse_value value value_float value_floats value_int value_ints value_string value_strings;13:>CILSZbcdfhilostz;19:>CEILMSZbcdefhilmostz;21:>CEILMNSZbcdefhilmnostz;23:>CEILMNSZbcdefhilmnoqstz;24:>CEILMNSZbcdefhilmnoqstxz;25:>CEILMNSWZbcdefhilmnoqstwxz
ConstantOfShape 9:l>CILScdfhilos:value;20:l>CEILMSbcdefhilmos;21:l>CEILMNSbcdefhilmnos;23:l>CEILMNSbcdefhilmnoqs;24:l>CEILMNSbcdefhilmnoqsx;25:l>CEILMNSWbcdefhilmnoqswx
Conv 1:dfh,0,0>0:auto_pad dilations group kernel_shape pads strides;11:=;22:bdfh,0,0>0
ConvInteger 10:Cc,0,0,0>i:auto_pad dilations group kernel_shape pads strides
ConvTranspose 1:dfh,0,0>0:auto_pad dilations group kernel_shape output_padding output_shape pads strides;11:=;22:bdfh,0,0>0
Cos 7:dfh>0:;22:bdfh>0
Cosh 9:dfh>0:;22:bdfh>0
CumProd 26:ILbdfhil,il>0:exclusive reverse
CumSum 11:ILdfil,il>0:exclusive reverse;14:ILbdfhil,il>0
DFT 17:bdfh,il>0:axis inverse onesided;20:bdfh,il,l>0:inverse onesided
DeformConv 19:dfh,0,0,0,0>0:dilations group kernel_shape offset_group pads strides;22:bdfh,0,0,0,0>0
DepthToSpace 1:CILSZcdfhilostz>0:blocksize;11:=:blocksize mode;13:CILSZbcdfhilostz>0
DequantizeLinear 10:Cci,f,0>f:;13:=:axis;19:CEMceim,bfh,0>1;21:CEMNSceimns,bfh,0>1:axis block_size;23:CEMNSceimnqs,bfh,0>1:axis block_size output_dtype;24:CEMNSceimnqs,bfhx,0>bfh;25:CEMNSWceimnqsw,bfhx,0>bfh
Det 11:dfh>0:;22:bdfh>0
Div 7:ILdfhil,0>0:;13:ILbdfhil,0>0;14:CILSbcdfhils,0>0
Dropout 7:dfh>0,0:ratio;10:dfh>0,o;12:dfh,0,o>0,o:seed;13:bdfh,dfh,o>0,o;22:EMbdefhm,0,o>0,o
DynamicQuantizeLinear 11:f>C,f,C:
Einsum 12:CILScdfhils+>0:equation
Elu 6:dfh>0:alpha;22:bdfh>0
Equal 7:ilo,0>o:;11:CILScdfhilos,0>o;13:CILSbcdfhilos,0>o;19:CILSbcdfhilost,0>o
Erf 9:CILScdfhils>0:;13:bdfh>0
Exp 6:dfh>0:;13:bdfh>0
Expand 8:CILSZcdfhilostz,l>0:;13:CILSZbcdfhilostz,l>0
EyeLike 9:CILScdfhilos>0:dtype k;22:CILSbcdfhilos>0
Flatten 1:dfh>0:axis;9:CILSZcdfhilostz>0;11:=;13:CILSZbcdfhilostz>0;21:CEILMNSZbcdefhilmnostz>0;23:CEILMNSZbcdefhilmnoqstz>0;24:CEILMNSZbcdefhilmnoqstxz>0;25:CEILMNSWZbcdefhilmnoqstwxz>0
Floor 6:dfh>0:;13:bdfh>0
GRU 7:dfh,0,0,0,i,0>0,0:activation_alpha activation_beta activations clip direction hidden_size linear_before_reset;14:=:activation_alpha activation_beta activations clip direction hidden_size layout linear_before_reset;22:bdfh,0,0,0,i,0>0,0
Gather 1:CILSZcdfhilostz,il>0:axis;11:=;13:CILSZbcdfhilostz,il>0
GatherElements 11:CILSZcdfhilostz,il>0:axis;13:CILSZbcdfhilostz,il>0
GatherND 11:CILSZcdfhilostz,l>0:;12:=:batch_dims;13:CILSZbcdfhilostz,l>0
Gelu 20:bdfh>0:approximate
Gemm 7:dfh,0,0>0:alpha beta transA transB;9:ILdfhil,0,0>0;11:=;13:ILbdfhil,0,0>0
GlobalAveragePool 1:dfh>0:;22:bdfh>0
GlobalLpPool 2:dfh>0:p;22:bdfh>0
GlobalMaxPool 1:dfh>0:;22:bdfh>0
Greater 7:dfh,0>o:;9:CILScdfhils,0>o;13:CILSbcdfhils,0>o
GreaterOrEqual 12:CILScdfhils,0>o:;16:CILSbcdfhils,0>o
GridSample 16:CILSZcdfhilostz,dfh>0:align_corners mode padding_mode;20:=;22:CILSZbcdfhilostz,bdfh>0
GroupNormalization 18:-;21:=:epsilon num_groups stash_type
HammingWindow 17:il>CILSbcdfhils:output_datatype periodic
HannWindow 17:il>CILSbcdfhils:output_datatype periodic
HardSigmoid 6:dfh>0:alpha beta;22:bdfh>0
HardSwish 14:dfh>0:;22:bdfh>0
Hardmax 1:dfh>0:axis;11:=;13:bdfh>0
Identity 1:CILSZcdfhilostz>0:;13:CILSZbcdfhilostz>0;14:?>?;16:=;19:=;21:=;23:=;24:=;25:=
If 1:o>CILSZcdfhilostz+:else_branch then_branch;11:=;13:o>?+;16:=;19:=;21:=;23:=;24:=;25:=
ImageDecoder 20:C>C:pixel_format
InstanceNormalization 6:dfh,0,0>0:epsilon;22:bdfh,0,0>0
IsInf 10:df>o:detect_negative detect_positive;20:EMbdefhm>o
IsNaN 9:dfh>o:;13:bdfh>o;20:EMbdefhm>o
LRN 1:dfh>0:alpha beta bias size;13:bdfh>0
LSTM 7:dfh,0,0,0,i,0,0,0>0,0,0:activation_alpha activation_beta activations clip direction hidden_size input_forget;14:=:activation_alpha activation_beta activations clip direction hidden_size input_forget layout;22:bdfh,0,0,0,i,0,0,0>0,0,0
LayerNormalization 17:bdfh,0,0>0,bf,4:axis epsilon stash_type
LeakyRelu 6:dfh>0:alpha;16:bdfh>0
Less 7:dfh,0>o:;9:CILScdfhils,0>o;13:CILSbcdfhils,0>o
LessOrEqual 12:CILScdfhils,0>o:;16:CILSbcdfhils,0>o
Log 6:dfh>0:;13:bdfh>0
LogSoftmax 1:dfh>0:axis;11:=;13:bdfh>0
Loop 1:l,o,CILSZcdfhilostz+>2+:body;11:=;13:l,o,?+>?+;16:=;19:=;21:=;23:=;24:=;25:=
LpNormalization 1:dfh>0:axis p;22:bdfh>0
LpPool 2:dfh>0:auto_pad kernel_shape p pads strides;11:=;18:=:auto_pad ceil_mode dilations kernel_shape p pads strides;22:bdfh>0
MatMul 1:dfh,0>0:;9:ILdfhil,0>0;13:ILbdfhil,0>0
MatMulInteger 10:Cc,0,0,0>i:
Max 6:dfh+>0:;8:=;12:CILScdfhils+>0;13:CILSbcdfhils+>0
MaxPool 1:dfh>0:auto_pad kernel_shape pads strides;8:dfh>0,l:auto_pad kernel_shape pads storage_order strides;10:=:auto_pad ceil_mode dilations kernel_shape pads storage_order strides;11:=;12:Ccdfh>0,l;22:Cbcdfh>0,l
MaxRoiPool 1:dfh,0>0:pooled_shape spatial_scale;22:bdfh,0>0
MaxUnpool 9:dfh,l,l>0:kernel_shape pads strides;11:=;22:bdfh,l,l>0
Mean 6:dfh+>0:;8:=;13:bdfh+>0
MeanVarianceNormalization 9:dfh>0:axes;13:bdfh>0
MelWeightMatrix 17:il,0,0,bdfh,3>CILSbcdfhils:output_datatype
Min 6:dfh+>0:;8:=;12:CILScdfhils+>0;13:CILSbcdfhils+>0
Mish 18:dfh>0:;22:bdfh>0
Mod 10:CILScdfhils,0>0:fmod;13:CILSbcdfhils,0>0
Mul 7:ILdfhil,0>0:;13:ILbdfhil,0>0;14:CILSbcdfhils,0>0
Multinomial 7:dfh>il:dtype sample_size seed;22:bdfh>il
Neg 6:cdfhils>0:;13:bcdfhils>0
NegativeLogLikelihoodLoss 12:dfh,il,0>0:ignore_index reduction;13:=;22:bdfh,il,0>0
NonMaxSuppression 10:f,f,l,f,f>l:center_point_box;11:=
NonZero 9:CILSZcdfhilostz>l:;13:CILSZbcdfhilostz>l
Not 1:o>o:
OneHot 9:CILScdfhils,0,CILSZcdfhilostz>2:axis;11:=
Optional 15:?>?:type
OptionalGetElement 15:?>?:;18:=
OptionalHasElement 15:?>o:;18:=
Or 7:o,o>o:
PRelu 7:dfh,0>0:;9:ILdfhil,0>0;16:ILbdfhil,0>0
Pad 2:dfh>0:mode pads value;11:CILScdfhils,l,0>0:mode;13:CILSZbcdfhilostz,l,0>0;18:CILSZbcdfhilostz,l,0,il>0;19:=;21:CEILMNSZbcdefhilmnostz,l,0,il>0;23:CEILMNSZbcdefhilmnoqstz,l,0,il>0;24:CEILMNSZbcdefhilmnoqstxz,l,0,il>0;25:CEILMNSWZbcdefhilmnoqstwxz,l,0,il>0
Pow 7:dfh,0>0:;12:dfhil,CILScdfhils>0;13:bdfhil,CILScdfhils>0;15:bdfhil,CILSbcdfhils>0
QLinearConv 10:Cc,f,0,0,f,0,f,0,i>0:auto_pad dilations group kernel_shape pads strides
QLinearMatMul 10:Cc,f,0,0,f,0,f,0>0:;21:CEMcem,bfh,0,0,1,0,1,0>0
QuantizeLinear 10:fi,f,Cc>2:;13:=:axis;19:bfhi,0,CEMcem>2:axis saturate;21:bfhi,0,CEMNScemns>2:axis block_size output_dtype saturate;23:bfhi,0,CEMNScemnqs>2:axis block_size output_dtype precision saturate;24:bfhi,bfhix,CEMNScemnqs>2;25:bfhi,bfhix,CEMNSWcemnqsw>2
RMSNormalization 23:bdfh,0>0:axis epsilon stash_type
RNN 7:dfh,0,0,0,i,0>0,0:activation_alpha activation_beta activations clip direction hidden_size;14:=:activation_alpha activation_beta activations clip direction hidden_size layout;22:bdfh,0,0,0,i,0>0,0
RandomNormal 1:>dfh:dtype mean scale seed shape;22:>bdfh
RandomNormalLike 1:CILSZcdfhilostz>dfh:dtype mean scale seed;22:CILSZbcdfhilostz>bdfh
RandomUniform 1:>dfh:dtype high low seed shape;22:>bdfh
RandomUniformLike 1:CILSZcdfhilostz>dfh:dtype high low seed;22:CILSZbcdfhilostz>bdfh
Range 11:dfils,0,0>0:
Reciprocal 6:dfh>0:;13:bdfh>0
ReduceL1 1:ILdfhil>0:axes keepdims;11:=;13:ILbdfhil>0;18:ILbdfhil,l>0:keepdims noop_with_empty_axes
ReduceL2 1:ILdfhil>0:axes keepdims;11:=;13:ILbdfhil>0;18:ILbdfhil,l>0:keepdims noop_with_empty_axes
ReduceLogSum 1:ILdfhil>0:axes keepdims;11:=;13:ILbdfhil>0;18:ILbdfhil,l>0:keepdims noop_with_empty_axes
ReduceLogSumExp 1:ILdfhil>0:axes keepdims;11:=;13:ILbdfhil>0;18:ILbdfhil,l>0:keepdims noop_with_empty_axes
ReduceMax 1:ILdfhil>0:axes keepdims;11:=;12:CILcdfhil>0;13:CILbcdfhil>0;18:CILbcdfhil,l>0:keepdims noop_with_empty_axes;20:CILbcdfhilo,l>0
ReduceMean 1:ILdfhil>0:axes keepdims;11:=;13:ILbdfhil>0;18:ILbdfhil,l>0:keepdims noop_with_empty_axes
ReduceMin 1:ILdfhil>0:axes keepdims;11:=;12:CILcdfhil>0;13:CILbcdfhil>0;18:CILbcdfhil,l>0:keepdims noop_with_empty_axes;20:CILbcdfhilo,l>0
ReduceProd 1:ILdfhil>0:axes keepdims;11:=;13:ILbdfhil>0;18:ILbdfhil,l>0:keepdims noop_with_empty_axes
ReduceSum 1:ILdfhil>0:axes keepdims;11:=;13:ILbdfhil,l>0:keepdims noop_with_empty_axes
ReduceSumSquare 1:ILdfhil>0:axes keepdims;11:=;13:ILbdfhil>0;18:ILbdfhil,l>0:keepdims noop_with_empty_axes
RegexFullMatch 20:t>o:pattern
Relu 6:dfh>0:;13:bdfh>0;14:bcdfhils>0
Reshape 5:CILSZcdfhilostz,l>0:;13:CILSZbcdfhilostz,l>0;14:=:allowzero;19:CEILMSZbcdefhilmostz,l>0;21:CEILMNSZbcdefhilmnostz,l>0;23:CEILMNSZbcdefhilmnoqstz,l>0;24:CEILMNSZbcdefhilmnoqstxz,l>0;25:CEILMNSWZbcdefhilmnoqstwxz,l>0
Resize 10:CILSZcdfhilostz,f>0:mode;11:CILSZcdfhilostz,dfh,f,l>0:coordinate_transformation_mode cubic_coeff_a exclude_outside extrapolation_value mode nearest_mode;13:CILSZbcdfhilostz,dfh,f,l>0;18:=:antialias axes coordinate_transformation_mode cubic_coeff_a exclude_outside extrapolation_value keep_aspect_ratio_policy mode nearest_mode;19:=
ReverseSequence 10:CILSZcdfhilostz,l>0:batch_axis time_axis
RoiAlign 10:dfh,0,l>0:mode output_height output_width sampling_ratio spatial_scale;16:=:coordinate_transformation_mode mode output_height output_width sampling_ratio spatial_scale;22:bdfh,0,l>0
RotaryEmbedding 23:bfh,0,0,l>0:interleaved num_heads rotary_embedding_dim
Round 11:dfh>0:;22:bdfh>0
STFT 17:bdfh,il,0,1>0:onesided
Scan 8:l,CILSZcdfhilostz+>1+:body directions num_scan_inputs;9:CILSZcdfhilostz+>0+:body num_scan_inputs scan_input_axes scan_input_directions scan_output_axes scan_output_directions;11:=;16:CILSZbcdfhilostz+>0+;19:CEILMSZbcdefhilmostz+>0+;21:CEILMNSZbcdefhilmnostz+>0+;23:CEILMNSZbcdefhilmnoqstz+>0+;24:CEILMNSZbcdefhilmnoqstxz+>0+;25:CEILMNSWZbcdefhilmnoqstwxz+>0+
Scatter 9:CILSZcdfhilostz,il,0>0:axis;11:-
ScatterElements 11:CILSZcdfhilostz,il,0>0:axis;13:CILSZbcdfhilostz,il,0>0;16:=:axis reduction;18:=
ScatterND 11:CILSZcdfhilostz,l,0>0:;13:CILSZbcdfhilostz,l,0>0;16:=:reduction;18:=
Selu 6:dfh>0:alpha gamma;22:bdfh>0
SequenceAt 11:?,il>CILSZcdfhilostz:
SequenceConstruct 11:CILSZcdfhilostz+>?:
SequenceEmpty 11:>?:dtype
SequenceErase 11:?,il>?:
SequenceInsert 11:?,CILSZcdfhilostz,il>?:
SequenceLength 11:?>l:
SequenceMap 17:?,?+>?+:body
Shape 1:CILSZcdfhilostz>l:;13:CILSZbcdfhilostz>l;15:=:end start;19:CEILMSZbcdefhilmostz>l;21:CEILMNSZbcdefhilmnostz>l;23:CEILMNSZbcdefhilmnoqstz>l;24:CEILMNSZbcdefhilmnoqstxz>l;25:CEILMNSWZbcdefhilmnoqstwxz>l
Shrink 9:CILScdfhils>0:bias lambd
Sigmoid 6:dfh>0:;13:bdfh>0
Sign 9:CILScdfhils>0:;13:CILSbcdfhils>0
Sin 7:dfh>0:;22:bdfh>0
Sinh 9:dfh>0:;22:bdfh>0
Size 1:CILSZcdfhilostz>l:;13:CILSZbcdfhilostz>l;19:CEILMSZbcdefhilmostz>l;21:CEILMNSZbcdefhilmnostz>l;23:CEILMNSZbcdefhilmnoqstz>l;24:CEILMNSZbcdefhilmnoqstxz>l;25:CEILMNSWZbcdefhilmnoqstwxz>l
Slice 1:CILSZcdfhilostz>0:axes ends starts;10:CILSZcdfhilostz,il,1,1,1>0:;11:=;13:CILSZbcdfhilostz,il,1,1,1>0
Softmax 1:dfh>0:axis;11:=;13:bdfh>0
SoftmaxCrossEntropyLoss 12:dfh,il,0>0,0:ignore_index reduction;13:bdfh,il,0>0,0
Softplus 1:dfh>0:;22:bdfh>0
Softsign 1:dfh>0:;22:bdfh>0
SpaceToDepth 1:CILSZcdfhilostz>0:blocksize;13:CILSZbcdfhilostz>0
Split 2:CILSZcdfhilostz>0+:axis split;11:=;13:CILSZbcdfhilostz,l>0+:axis;18:=:axis num_outputs
SplitToSequence 11:CILSZcdfhilostz,il>?:axis keepdims;24:CILSZbcdfhilostz,il>?
Sqrt 6:dfh>0:;13:bdfh>0
Squeeze 1:CILSZcdfhilostz>0:axes;11:=;13:CILSZbcdfhilostz,l>0:;21:CEILMNSZbcdefhilmnostz,l>0;23:CEILMNSZbcdefhilmnoqstz,l>0;24:CEILMNSZbcdefhilmnoqstxz,l>0;25:CEILMNSWZbcdefhilmnoqstwxz,l>0
StringConcat 20:t,t>t:
StringNormalizer 10:t>t:case_change_action is_case_sensitive locale stopwords
StringSplit 20:t>t,l:delimiter maxsplit
Sub 7:ILdfhil,0>0:;13:ILbdfhil,0>0;14:CILSbcdfhils,0>0
Sum 6:dfh+>0:;8:=;13:bdfh+>0
Swish 24:bdfh>0:alpha
Tan 7:dfh>0:;22:bdfh>0
Tanh 6:dfh>0:;13:bdfh>0
TensorScatter 24:CEILMNSZbcdefhilmnoqstxz,0,l>0:axis mode
TfIdfVectorizer 9:ilt>f:max_gram_length max_skip_count min_gram_length mode ngram_counts ngram_indexes pool_int64s pool_strings weights
ThresholdedRelu 10:dfh>0:alpha;22:bdfh>0
Tile 6:CILSZcdfhilostz,l>0:;13:CILSZbcdfhilostz,l>0
TopK 1:dfh>0,l:axis k;10:dfh,l>0,l:axis;11:CILScdfhils,l>0,l:axis largest sorted;24:CILSbcdfhils,l>0,l
Transpose 1:CILSZcdfhilostz>0:perm;13:CILSZbcdfhilostz>0;21:CEILMNSZbcdefhilmnostz>0;23:CEILMNSZbcdefhilmnoqstz>0;24:CEILMNSZbcdefhilmnoqstxz>0;25:CEILMNSWZbcdefhilmnoqstwxz>0
Trilu 14:CILSZbcdfhilostz,l>0:upper
Unique 11:CILSZcdfhilostz>0,l,l,l:axis sorted
Unsqueeze 1:CILSZcdfhilostz>0:axes;11:=;13:CILSZbcdfhilostz,l>0:;21:CEILMNSZbcdefhilmnostz,l>0;23:CEILMNSZbcdefhilmnoqstz,l>0;24:CEILMNSZbcdefhilmnoqstxz,l>0;25:CEILMNSWZbcdefhilmnoqstwxz,l>0
Upsample 7:CILSZcdfhilostz>0:mode scales;9:CILSZcdfhilostz,f>0:mode;10:-
Where 9:o,CILSZcdfhilostz,1>1:;16:o,CILSZbcdfhilostz,1>1
Xor 7:o,o>o:
)";

} // namespace

const OperatorTypes& onnx_schemas() {
  static const OperatorTypes table(kSchemas);
  return table;
}

} // namespace octet
