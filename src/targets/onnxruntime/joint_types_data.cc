// SPDX-License-Identifier: Apache-2.0
// The kernels that ONNX Runtime 1.31 has on the CPU for those operators of ai.onnx whose types
// depend on each other. Source: the registry of the PyPI wheel, printed by
// bench/onnxruntime_operators.py.
#include "targets/onnxruntime/kernels.h"

namespace octet {

namespace {

constexpr std::string_view kJointKernels = R"(
BatchNormalization 14 f,0,0,f,3>0,3,3
BatchNormalization 14 d,0,0,d,3>0,3,3
BatchNormalization 15 f,f,1,f,3>0,3,3
BatchNormalization 15 d,d,1,d,3>0,3,3
GridSample 20 f,f>0
GridSample 20 d,d>0
GridSample 22 f,f>0
GridSample 22 d,d>0
OneHot 9 l,l,l>2
OneHot 9 f,l,l>2
OneHot 9 l,l,t>2
OneHot 9 f,l,t>2
OneHot 9 f,f,f>2
OneHot 9 l,f,i>2
OneHot 9 l,l,f>2
OneHot 9 i,i,f>2
OneHot 9 i,f,f>2
OneHot 9 l,f,f>2
OneHot 9 l,i,f>2
OneHot 11 l,l,l>2
OneHot 11 f,l,l>2
OneHot 11 l,l,t>2
OneHot 11 f,l,t>2
OneHot 11 f,f,f>2
OneHot 11 l,f,i>2
OneHot 11 l,l,f>2
OneHot 11 i,i,f>2
OneHot 11 i,f,f>2
OneHot 11 l,f,f>2
OneHot 11 l,i,f>2
QLinearConv 10 C,f,0,Cc,1,3,1,C,i>7
QLinearConv 10 c,f,0,c,1,3,1,c,i>7
QLinearMatMul 10 C,f,0,Cc,1,3,1,C>7
QLinearMatMul 10 c,f,0,c,1,3,1,c>7
QLinearMatMul 21 C,f,0,Cc,1,3,1,C>7
QLinearMatMul 21 c,f,0,c,1,3,1,c>7
)";

} // namespace

std::string_view onnxruntime_joint_kernels() {
  return kJointKernels.substr(1);
}

} // namespace octet
