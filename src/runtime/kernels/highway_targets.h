// SPDX-License-Identifier: Apache-2.0
// Which Highway targets the float kernels are compiled for: AVX2 and AVX3 on x86-64. The scalar
// specification is plain C++, so the lower targets are left out; AVX3_DL is broken in Highway 1.0.3
// (google/highway#1174). Include before any Highway header.
#pragma once

#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
