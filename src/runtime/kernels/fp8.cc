// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/fp8.h"

#include "core/for_isa.h"
#include "core/threads.h"

namespace octet::kernels {
namespace {

constexpr double kEncodeFp8Ns = 0.5, kDecodeFp8Ns = 0.4;

} // namespace

void encode_fp8_scalar(const EncodeFp8Args& a) {
  const FloatFormat& format = *float_format(a.type);
  for (int64_t i = 0; i < a.count; ++i)
    a.y[i] =
        static_cast<uint8_t>(encode(format, static_cast<double>(a.x[i] / a.scale), a.saturate));
}

void decode_fp8_scalar(const DecodeFp8Args& a) {
  const FloatFormat& format = *float_format(a.type);
  for (int64_t i = 0; i < a.count; ++i)
    a.y[i] = static_cast<float>(decode(format, a.x[i])) * a.scale;
}

void encode_fp8(const EncodeFp8Args& args, Isa isa, ParallelFor& parallel) {
  EncodeFp8Fn* const run =
      for_isa<encode_fp8_scalar, Isa::kAvx2, encode_fp8_avx2, Isa::kAvx512, encode_fp8_avx512>(isa);
  parallel.run(args.count, grain_for(kEncodeFp8Ns), [&](int64_t begin, int64_t end) {
    EncodeFp8Args a = args;
    a.x += begin;
    a.y += begin;
    a.count = end - begin;
    run(a);
  });
}

void decode_fp8(const DecodeFp8Args& args, Isa isa, ParallelFor& parallel) {
  DecodeFp8Fn* const run =
      for_isa<decode_fp8_scalar, Isa::kAvx2, decode_fp8_avx2, Isa::kAvx512, decode_fp8_avx512>(isa);
  parallel.run(args.count, grain_for(kDecodeFp8Ns), [&](int64_t begin, int64_t end) {
    DecodeFp8Args a = args;
    a.x += begin;
    a.y += begin;
    a.count = end - begin;
    run(a);
  });
}

} // namespace octet::kernels
