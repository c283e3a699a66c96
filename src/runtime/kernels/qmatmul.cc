// SPDX-License-Identifier: Apache-2.0
// Items of a batch are chunks of a loop. Panels of b are packed and multiplied a few at a time, so
// that they stay in the first-level cache.
#include "runtime/kernels/qmatmul.h"

#include <algorithm>
#include <cmath>

#include "core/threads.h"
#include "runtime/kernels/code_product.h"

namespace octet::kernels {
namespace {

constexpr double kQmatmulProductsPerNs = 40.0;
constexpr double kPackNs = 0.3;

void run_item(const QmatmulArgs& args, const CodeProduct& product, int64_t item) {
  LeftRows rows{static_cast<const uint8_t*>(args.a) + args.a_offsets[item], args.k, args.m,
                nullptr};
  if (!product.rows_in_place()) {
    auto* packed = reinterpret_cast<uint8_t*>(
        chunk_scratch(Scratch::kRows, static_cast<size_t>(args.m * product.row_bytes())));
    product.pack_rows(rows.first, args.k, args.m, packed);
    rows.first = packed;
    rows.stride = product.row_bytes();
  }
  const int64_t together = product.panels_together();
  const int64_t terms = product.terms_bytes(args.m);
  std::byte* data =
      chunk_scratch(Scratch::kTile, static_cast<size_t>(together * product.panel_bytes() + terms));
  if (terms > 0) {
    auto* to = reinterpret_cast<int32_t*>(data + together * product.panel_bytes());
    product.fill_terms(rows, to);
    rows.terms = to;
  }
  const RightCodes b{static_cast<const uint8_t*>(args.b) + args.b_offsets[item], args.n, 1};
  const bool bytes = args.epilogue.type == YType::kInt8 || args.epilogue.type == YType::kUint8;
  CodeProductOut out{&args.epilogue, nullptr, args.n};
  alignas(64) int32_t init[kPanelsTogether * kColumnsPerPanel];
  for (int64_t p = 0; p < product.panels(); p += together) {
    const Range some{p, std::min(p + together, product.panels())};
    product.pack_panels(b, some, args.shared, data, init);
    out.y = static_cast<std::byte*>(args.y) +
            (item * args.m * args.n + p * kColumnsPerPanel) * (bytes ? 1 : 4);
    product.run(rows, some, args.shared, data, init, out);
  }
}

} // namespace

size_t shared_bytes(const QmatmulArgs& args) {
  return CodeProduct::shared_bytes(args.k);
}

void qmatmul(const QmatmulArgs& args, ParallelFor& parallel) {
  if (args.batch <= 0 || args.m <= 0 || args.n <= 0) return;
  const CodeProduct product(
      {args.a_signed, args.a_zero_point, args.b_signed, args.b_zero_point, args.multiplier}, args.n,
      args.k, args.isa);
  CodeProduct::fill_shared(args.k, args.shared);
  const double ns = static_cast<double>(args.m * args.n * args.k) / kQmatmulProductsPerNs +
                    kPackNs * static_cast<double>(args.n * args.k);
  parallel.run(args.batch, grain_for(ns), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      run_item(args, product, i);
    }
  });
}

} // namespace octet::kernels
