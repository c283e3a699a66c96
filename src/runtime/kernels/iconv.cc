// SPDX-License-Identifier: Apache-2.0
// Packing and driver of the int8 convolution.
#include "runtime/kernels/iconv.h"

#include <algorithm>

#include "core/threads.h"
#include "runtime/kernels/depthwise.h"
#include "runtime/kernels/igemm_tile.h"
#include "runtime/kernels/row_block.h"
#include "runtime/kernels/winograd.h"

namespace octet::kernels {
namespace {

constexpr double kScalarProductsPerNs = 0.3;
// Fewer panels than this would make gathering patches noticeable.
constexpr int64_t kMinConvPanels = 32;

/// Whether windows are the pixels of x, one after another: their channels are rows of a product.
bool windows_are_pixels(const ConvShape& s) {
  return s.kernel_h * s.kernel_w * s.stride_h * s.stride_w == 1 && s.pad_top == 0 &&
         s.pad_left == 0 && s.out_h == s.in_h && s.out_w == s.in_w;
}

void gather_rows(
    const IconvArgs& args, const PackedWeights& w, Range pixels, int64_t group, uint8_t* rows) {
  const auto pad = static_cast<uint8_t>(args.x_zero_point);
  gather_patches(args.shape, static_cast<const uint8_t*>(args.x), pixels.begin, pixels.count(),
                 group, pad, rows, w.k_padded);
  finish_rows(w, rows, pixels.count());
}

/// Products of pixels whose channels are read where they lie. Behind those of the last pixels there
/// may be nothing that could be read up to a multiple of 4.
void run_in_place(const IconvArgs& args, Range pixels, int64_t group, BlockArgs& block) {
  const ConvShape& s = args.shape;
  const PackedWeights& w = *block.w;
  const int64_t at = group * s.group_in();
  const int64_t beyond = std::max<int64_t>(at + w.k_padded - s.in_c, 0);
  const int64_t end =
      std::clamp(s.pixels() - Blocks(beyond, s.in_c).count, pixels.begin, pixels.end);
  run_rows(block, static_cast<const uint8_t*>(args.x) + pixels.begin * s.in_c + at, s.in_c,
           end - pixels.begin);
  const Range rest{end, pixels.end};
  if (rest.count() == 0) return;
  auto* rows = reinterpret_cast<uint8_t*>(
      chunk_scratch(Scratch::kRows, static_cast<size_t>(rest.count() * w.k_padded + kGatherSlack)));
  gather_rows(args, w, rest, group, rows);
  run_rows(block, rows, w.k_padded, rest.count());
}

void run_chunk(const IconvArgs& args, const Cut& cut, int64_t chunk) {
  const ConvShape& s = args.shape;
  const int64_t group = chunk / cut.chunks();
  const Range pixels = cut.rows_of(chunk % cut.chunks());
  const PackedWeights& w = args.w->groups[static_cast<size_t>(group)];
  BlockArgs block;
  block.w = &w;
  block.columns = &args.columns[group];
  block.row = pixels.begin;
  block.panels = cut.panels_of(chunk % cut.chunks());
  block.y_stride = s.out_c;
  const int64_t first = group * s.group_out();
  const int64_t width =
      args.epilogue.type == YType::kInt8 || args.epilogue.type == YType::kUint8 ? 1 : 4;
  block.y = static_cast<uint8_t*>(args.y) + first * width;
  Epilogue epilogue = args.epilogue;
  if (epilogue.residual != nullptr) {
    epilogue.residual = static_cast<const uint8_t*>(epilogue.residual) + first;
  }
  block.epilogue = &epilogue;

  if (windows_are_pixels(s) && !rows_are_shifted(w))
    return run_in_place(args, pixels, group, block);
  auto* rows = reinterpret_cast<uint8_t*>(chunk_scratch(
      Scratch::kRows, static_cast<size_t>(pixels.count() * w.k_padded + kGatherSlack)));
  if (windows_are_pixels(s)) {
    pack_rows(w, static_cast<const uint8_t*>(args.x) + pixels.begin * s.in_c + group * s.group_in(),
              s.in_c, pixels.count(), rows);
  } else {
    gather_rows(args, w, pixels, group, rows);
  }
  run_rows(block, rows, w.k_padded, pixels.count());
}

} // namespace

PackedConv pack_conv(const int8_t* w, const ConvShape& shape, XRange x, Isa isa) {
  PackedConv packed;
  packed.isa = isa;
  packed.shape = shape;
  packed.x = x;
  packed.is_depthwise = shape.depthwise();
  if (packed.is_depthwise) {
    pack_depthwise(w, packed);
    // The sums of taps serve the zero point.
    XRange unshifted = x;
    unshifted.lo = 0;
    packed.groups.push_back(
        pack_weights(w, shape.k(), shape.out_c, shape.k(), unshifted, Isa::kScalar));
    return packed;
  }
  if (pack_direct(w, packed)) {
    pack_winograd(w, packed);
    return packed;
  }
  for (int64_t g = 0; g < shape.groups; ++g) {
    const int8_t* first = w + g * shape.group_out() * shape.k();
    packed.groups.push_back(pack_weights(first, shape.k(), shape.group_out(), shape.k(), x, isa));
  }
  return packed;
}

std::vector<IgemmColumns> make_conv_columns(const PackedConv& conv, const ColumnArgs& args) {
  std::vector<IgemmColumns> columns;
  ColumnArgs group = args;
  for (const PackedWeights& w : conv.groups) {
    columns.push_back(make_columns(w, group));
    if (group.bias_i32 != nullptr) group.bias_i32 += w.n;
    if (group.multiplier != nullptr && group.multiplier_count != 1) group.multiplier += w.n;
    if (group.bias != nullptr) group.bias += w.n;
  }
  return columns;
}

size_t shared_bytes(const IconvArgs& args) {
  return args.w->window.size() * sizeof(int32_t); // offsets of the groups from a window's start
}

void iconv(const IconvArgs& args, ParallelFor& parallel) {
  const int64_t pixels = args.shape.pixels();
  if (pixels <= 0 || args.shape.out_c <= 0) return;
  if (args.w->is_depthwise) {
    if (args.w->isa.has(Isa::kAvx2)) return depthwise_lines(args, parallel);
    const auto products = static_cast<double>(args.w->depthwise.taps * args.shape.out_c);
    return parallel.run(pixels, grain_for(products / kScalarProductsPerNs),
                        [&](int64_t begin, int64_t end) { depthwise_scalar(args, begin, end); });
  }
  if (args.w->winograd.bytes() > 0) return iconv_winograd(args, parallel);
  if (!args.w->window.empty()) return iconv_direct(args, parallel);
  const Cut cut = cut_by_shape(pixels, args.w->groups.front(), kMinConvPanels);
  parallel.run(args.shape.groups * cut.chunks(), cut.grain, [&](int64_t begin, int64_t end) {
    for (int64_t chunk = begin; chunk < end; ++chunk) {
      run_chunk(args, cut, chunk);
    }
  });
}

} // namespace octet::kernels
