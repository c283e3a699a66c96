// SPDX-License-Identifier: Apache-2.0
// A chunk is some rows of one item: it packs k and v of the item into its scratch, then takes its
// rows block by block. Items are cut only where there are few of them, since each part packs anew.
#include "runtime/kernels/attention.h"

#include <algorithm>
#include <array>

#include "core/for_isa.h"
#include "core/threads.h"
#include "runtime/kernels/codes.h"
#include "runtime/kernels/map.h"
#include "runtime/kernels/row_block.h"
#include "runtime/kernels/rows.h"
#include "runtime/kernels/sgemm_tile.h"

namespace octet::kernels {
namespace {

using numerics::MapInstruction;
using numerics::MapOperand;

constexpr double kProductsPerNs = 40.0;
constexpr double kScoreNs = 1.5; // program, softmax and quantization of one score
// Whole tiles of both products, f32 and codes.
constexpr int64_t kRowBlocks[] = {48, 24, 12};
constexpr int64_t kScoresBytes = 32768; // of a block, in the first-level cache
constexpr int64_t kPartsWanted = 8;
constexpr int64_t kMapTile = 512;

int64_t block_rows(int64_t keys) {
  for (const int64_t rows : kRowBlocks) {
    if (rows * keys * int64_t{sizeof(float)} <= kScoresBytes) return rows;
  }
  return kRowBlocks[std::size(kRowBlocks) - 1];
}

/// Areas of one piece of scratch memory, each aligned to 64 bytes.
class Areas {
 public:
  /// Bytes before the area; to be called for all of them before memory is there.
  int64_t add(int64_t bytes) {
    const int64_t at = total_;
    total_ += round_up(bytes, 64);
    return at;
  }
  int64_t total() const { return total_; }

 private:
  int64_t total_ = 0;
};

template <class T>
const T* place(const AttentionOperand& x, int64_t item, int64_t row) {
  return static_cast<const T*>(x.data) + x.offsets[item] + row * x.row_stride;
}

/// A product of floats whose right operand is packed, or read where it lies by few rows.
class FloatPart {
 public:
  FloatPart(int64_t n, int64_t k, int64_t rows, bool across, Isa isa)
      : n_(n), k_(k), kernels_(float_tile_kernels(isa, n)),
        in_place_(across && rows <= kernels_.rows && n % kernels_.width == 0 && k > 0) {}

  int64_t bytes() const {
    return in_place_ ? 0 : round_up(n_, kernels_.width) * k_ * int64_t{sizeof(float)};
  }
  /// Element (k, n) of the right operand is at w[k * k_stride + n * n_stride].
  void pack(const float* w, int64_t k_stride, int64_t n_stride, float* to) {
    if (in_place_) {
      w_ = w;
      pitch_ = k_stride;
      return;
    }
    const FloatWeights weights{w, k_stride, n_stride, n_, k_};
    for (int64_t c = 0; c < n_; c += kernels_.width) {
      pack_float_panel(weights, c, kernels_.width, to + c * k_);
    }
    w_ = to;
  }
  void run(const float* x, int64_t x_stride, int64_t rows, float* y, int64_t y_stride) const {
    FloatBlock block;
    block.run = k_;
    block.w = w_;
    block.w_pitch = pitch_;
    block.n = n_;
    block.kernels = kernels_;
    block.y = y;
    block.y_stride = y_stride;
    block.panels = {0, (n_ + kernels_.width - 1) / kernels_.width};
    run_rows(block, x, x_stride, rows);
  }

 private:
  int64_t n_;
  int64_t k_;
  FloatTileKernels kernels_;
  bool in_place_;
  const float* w_ = nullptr;
  int64_t pitch_ = 0;
};

/// The same of codes. Its areas: packed panels, their `init`, rows, and terms of rows.
class CodePart {
 public:
  CodePart(const CodeProductForm& form, int64_t n, int64_t k, int64_t rows, Isa isa)
      : product_(form, n, k, isa), rows_(rows) {}

  void add_areas(Areas& areas) {
    panels_at_ = areas.add(product_.panels() * product_.panel_bytes());
    init_at_ = areas.add(product_.panels() * kColumnsPerPanel * int64_t{sizeof(int32_t)});
    rows_at_ = areas.add(rows_ * product_.row_bytes());
    terms_at_ = areas.add(product_.terms_bytes(rows_));
  }
  void pack(const RightCodes& b, const std::byte* shared, std::byte* scratch) {
    scratch_ = scratch;
    shared_ = shared;
    product_.pack_panels(b, {0, product_.panels()}, shared, scratch + panels_at_, init());
  }
  int64_t row_bytes() const { return product_.row_bytes(); }
  /// Where rows as unsigned bytes are made for run_packed().
  uint8_t* rows() const { return reinterpret_cast<uint8_t*>(scratch_ + rows_at_); }

  void run(const uint8_t* a, int64_t stride, int64_t count, const CodeProductOut& out) const {
    if (product_.rows_in_place()) return run_rows_of({a, stride, count, nullptr}, out);
    product_.pack_rows(a, stride, count, rows());
    run_packed(count, out);
  }
  void run_packed(int64_t count, const CodeProductOut& out) const {
    run_rows_of({rows(), row_bytes(), count, nullptr}, out);
  }

 private:
  int32_t* init() const { return reinterpret_cast<int32_t*>(scratch_ + init_at_); }
  void run_rows_of(LeftRows rows, const CodeProductOut& out) const {
    if (product_.terms_bytes(rows.count) > 0) {
      auto* terms = reinterpret_cast<int32_t*>(scratch_ + terms_at_);
      product_.fill_terms(rows, terms);
      rows.terms = terms;
    }
    product_.run(rows, {0, product_.panels()}, shared_, scratch_ + panels_at_, init(), out);
  }

  CodeProduct product_;
  int64_t rows_;
  int64_t panels_at_ = 0;
  int64_t init_at_ = 0;
  int64_t rows_at_ = 0;
  int64_t terms_at_ = 0;
  std::byte* scratch_ = nullptr;
  const std::byte* shared_ = nullptr;
};

/// The program over rows of scores, in place, a piece of a row at a time.
class ScoresProgram {
 public:
  explicit ScoresProgram(const AttentionArgs& args)
      : args_(args),
        run_(for_isa<map_scalar, Isa::kAvx2, map_avx2, Isa::kAvx512, map_avx512>(args.isa)) {}

  /// Of results between instructions.
  int64_t bytes() const {
    if (args_.program == nullptr) return 0;
    const auto between = static_cast<int64_t>(args_.program->code.size()) - 1;
    return between * std::min(kMapTile, round_up(args_.keys, 16)) * int64_t{sizeof(float)};
  }
  void run(int64_t item, Range rows, float* scores, float* buffers) const {
    if (args_.program == nullptr) return;
    for (int64_t row = rows.begin; row < rows.end; ++row, scores += args_.keys) {
      for (int64_t at = 0; at < args_.keys; at += kMapTile) {
        run_piece(item, row, {at, std::min(at + kMapTile, args_.keys)}, scores + at, buffers);
      }
    }
  }

 private:
  void run_piece(int64_t item, int64_t row, Range keys, float* scores, float* buffers) const {
    const numerics::Program& program = *args_.program;
    std::array<MapCall::From, numerics::kMaxMapInputs> inputs{};
    inputs[0] = {scores, false};
    for (size_t i = 1; i < program.inputs; ++i) {
      const AttentionOperand& x = args_.inputs[i - 1];
      inputs[i] = {static_cast<const float*>(x.data) + x.offsets[item] + row * x.row_stride +
                       keys.begin * x.inner_stride,
                   x.inner_stride == 0};
    }
    const int64_t pitch = std::min(kMapTile, round_up(args_.keys, 16));
    const auto from = [&](const MapInstruction& each, size_t k) -> MapCall::From {
      if (k >= each.used().size()) return {};
      const MapOperand& operand = each.operands[k];
      if (operand.kind == MapOperand::Kind::kInput) return inputs[operand.index];
      if (operand.kind == MapOperand::Kind::kConstant)
        return {&program.constants[operand.index], true};
      return {buffers + operand.index * pitch, false};
    };
    for (size_t i = 0; i < program.code.size(); ++i) {
      const MapInstruction& each = program.code[i];
      float* to = i + 1 == program.code.size() ? scores : buffers + static_cast<int64_t>(i) * pitch;
      run_({each.op, from(each, 0), from(each, 1), from(each, 2), keys.count(), to});
    }
  }

  const AttentionArgs& args_;
  void (*run_)(const MapCall&);
};

CodeKernels code_kernels(Isa isa) {
  return for_isa<code_kernels_scalar, Isa::kAvx2, code_kernels_avx2, Isa::kAvx512,
                 code_kernels_avx512>(isa)();
}

void softmax_rows_plain(const float* x, int64_t rows, int64_t length, float* y) {
  SerialFor serial;
  softmax(x, rows, length, y, Isa::kScalar, serial);
}

/// Of an element of y.
int64_t y_bytes(const AttentionArgs& args) {
  const bool codes = args.context_on_codes &&
                     (args.epilogue.type == YType::kInt8 || args.epilogue.type == YType::kUint8);
  return codes ? 1 : 4;
}

/// Of what shared_bytes() counts.
void fill_shared(const AttentionArgs& args, std::byte* shared) {
  size_t own = 0;
  if (args.scores_on_codes) {
    CodeProduct::fill_shared(args.depth, shared);
    own = CodeProduct::shared_bytes(args.depth);
  }
  if (args.context_on_codes) CodeProduct::fill_shared(args.keys, shared + own);
}

/// Rows of one item.
class Chunk {
 public:
  Chunk(const AttentionArgs& args, int64_t rows)
      : args_(args), rows_(std::min(block_rows(args.keys), rows)), program_(args),
        float_scores_(args.keys, args.depth, rows, args.k.row_stride == 1, args.isa),
        code_scores_(args.scores, args.keys, args.depth, rows_, args.isa),
        float_context_(args.width, args.keys, rows, true, args.isa),
        code_context_(args.context, args.width, args.keys, rows_, args.isa) {}

  void run(int64_t item, Range rows) {
    Areas areas;
    const int64_t scores_at = areas.add(rows_ * args_.keys * int64_t{sizeof(float)});
    const int64_t buffers_at = areas.add(program_.bytes());
    const int64_t k_at = areas.add(args_.scores_on_codes ? 0 : float_scores_.bytes());
    const int64_t v_at = areas.add(args_.context_on_codes ? 0 : float_context_.bytes());
    const int64_t shared_at =
        areas.add(args_.shared == nullptr ? static_cast<int64_t>(shared_bytes(args_)) : 0);
    if (args_.scores_on_codes) code_scores_.add_areas(areas);
    if (args_.context_on_codes) code_context_.add_areas(areas);
    std::byte* scratch = chunk_scratch(Scratch::kTile, static_cast<size_t>(areas.total()));
    scores_ = reinterpret_cast<float*>(scratch + scores_at);
    auto* buffers = reinterpret_cast<float*>(scratch + buffers_at);
    shared_ = args_.shared;
    if (shared_ == nullptr) {
      fill_shared(args_, scratch + shared_at);
      shared_ = scratch + shared_at;
    }
    pack_keys(item, scratch, reinterpret_cast<float*>(scratch + k_at));
    pack_values(item, scratch, reinterpret_cast<float*>(scratch + v_at));
    const auto softmax_rows = for_isa<softmax_rows_plain, Isa::kAvx2, softmax_rows_avx2,
                                      Isa::kAvx512, softmax_rows_avx512>(args_.isa);
    for (int64_t row = rows.begin; row < rows.end; row += rows_) {
      const Range some{row, std::min(row + rows_, rows.end)};
      make_scores(item, some);
      program_.run(item, some, scores_, buffers);
      softmax_rows(scores_, some.count(), args_.keys, scores_);
      make_context(item, some);
    }
  }

 private:
  void pack_keys(int64_t item, std::byte* scratch, float* to) {
    const AttentionOperand& k = args_.k;
    if (args_.scores_on_codes) {
      const auto* codes = place<uint8_t>(k, item, 0);
      code_scores_.pack({codes, k.inner_stride, k.row_stride}, shared_, scratch);
    } else {
      float_scores_.pack(place<float>(k, item, 0), k.inner_stride, k.row_stride, to);
    }
  }

  void pack_values(int64_t item, std::byte* scratch, float* to) {
    const AttentionOperand& v = args_.v;
    if (args_.context_on_codes) {
      const size_t own = args_.scores_on_codes ? CodeProduct::shared_bytes(args_.depth) : 0;
      const auto* codes = place<uint8_t>(v, item, 0);
      code_context_.pack({codes, v.row_stride, 1}, shared_ + own, scratch);
    } else {
      float_context_.pack(place<float>(v, item, 0), v.row_stride, 1, to);
    }
  }

  void make_scores(int64_t item, Range rows) const {
    const AttentionOperand& q = args_.q;
    if (args_.scores_on_codes) {
      Epilogue numbers;
      numbers.type = YType::kFloat;
      code_scores_.run(place<uint8_t>(q, item, rows.begin), q.row_stride, rows.count(),
                       {&numbers, scores_, args_.keys});
    } else {
      float_scores_.run(place<float>(q, item, rows.begin), q.row_stride, rows.count(), scores_,
                        args_.keys);
    }
  }

  void make_context(int64_t item, Range rows) const {
    std::byte* y = static_cast<std::byte*>(args_.y) +
                   (args_.y_offsets[item] + rows.begin * args_.y_stride) * y_bytes(args_);
    if (!args_.context_on_codes) {
      float_context_.run(scores_, args_.keys, rows.count(), reinterpret_cast<float*>(y),
                         args_.y_stride);
      return;
    }
    quantize_rows(rows.count());
    code_context_.run_packed(rows.count(), {&args_.epilogue, y, args_.y_stride});
  }

  /// As the product takes them: int8 codes 128 higher, as unsigned bytes.
  void quantize_rows(int64_t rows) const {
    const CodeKernels kernels = code_kernels(args_.isa);
    QuantizeArgs to;
    to.scale = args_.p.scale;
    to.zero_point = args_.p.zero_point + (args_.p.is_signed ? 128 : 0);
    to.lo = 0;
    to.hi = 255;
    to.is_signed = false;
    const int64_t pitch = code_context_.row_bytes();
    const int64_t together = pitch == args_.keys ? rows : 1;
    for (int64_t row = 0; row < rows; row += together) {
      to.x = scores_ + row * args_.keys;
      to.y = code_context_.rows() + row * pitch;
      kernels.quantize(to, 0, together * args_.keys);
    }
  }

  const AttentionArgs& args_;
  int64_t rows_; ///< of a block
  ScoresProgram program_;
  FloatPart float_scores_;
  CodePart code_scores_;
  FloatPart float_context_;
  CodePart code_context_;
  float* scores_ = nullptr;
  const std::byte* shared_ = nullptr;
};

/// Blocks of `rows`, about so many.
Blocks cut_rows(int64_t rows, int64_t wanted) {
  return {rows, round_up(Blocks(rows, wanted).count, kRowBlocks[0])};
}

double score_ns(const AttentionArgs& args) {
  return static_cast<double>(args.depth + args.width) / kProductsPerNs + kScoreNs;
}

/// One segment alone.
AttentionArgs segment_of(const AttentionArgs& args, Range rows) {
  AttentionArgs out = args;
  const auto move = [&](AttentionOperand& x, bool codes) {
    x.data = static_cast<const std::byte*>(x.data) +
             rows.begin * x.row_stride * (codes ? 1 : int64_t{sizeof(float)});
  };
  move(out.q, args.scores_on_codes);
  move(out.k, args.scores_on_codes);
  move(out.v, args.context_on_codes);
  out.y = static_cast<std::byte*>(args.y) + rows.begin * args.y_stride * y_bytes(args);
  out.queries = rows.count();
  out.keys = rows.count();
  out.shared = nullptr;
  return out;
}

} // namespace

size_t shared_bytes(const AttentionArgs& args) {
  return (args.scores_on_codes ? CodeProduct::shared_bytes(args.depth) : 0) +
         (args.context_on_codes ? CodeProduct::shared_bytes(args.keys) : 0);
}

void attention(const AttentionArgs& args, ParallelFor& parallel) {
  if (args.items <= 0 || args.queries <= 0 || args.width <= 0) return;
  fill_shared(args, args.shared);
  const int64_t wanted = Blocks(kPartsWanted, args.items).count;
  const Blocks parts = cut_rows(args.queries, wanted);
  const double ns = static_cast<double>(parts.longest() * args.keys) * score_ns(args);
  parallel.run(args.items * parts.count, grain_for(ns), [&](int64_t begin, int64_t end) {
    Chunk chunk(args, parts.longest());
    for (int64_t i = begin; i < end; ++i) {
      chunk.run(i / parts.count, parts[i % parts.count]);
    }
  });
}

void segment_attention(const AttentionArgs& args,
                       std::span<const int64_t> offsets,
                       ParallelFor& parallel) {
  const int64_t segments = std::ssize(offsets) - 1;
  if (args.items <= 0 || segments <= 0 || args.width <= 0) return;
  const auto rows_of = [&](int64_t segment) {
    const auto at = static_cast<size_t>(segment);
    return Range{offsets[at], offsets[at + 1]};
  };
  const int64_t wanted = Blocks(kPartsWanted, args.items * segments).count;
  double scores = 0.0;
  for (int64_t s = 0; s < segments; ++s) {
    const auto rows = static_cast<double>(rows_of(s).count());
    scores += rows * rows;
  }
  const double ns = score_ns(args) * scores / static_cast<double>(segments * wanted);
  parallel.run(segments * args.items * wanted, grain_for(ns), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const Range rows = rows_of(i / (args.items * wanted));
      if (rows.count() <= 0) continue;
      const AttentionArgs own = segment_of(args, rows);
      const Blocks parts = cut_rows(own.queries, wanted);
      if (i % wanted >= parts.count) continue;
      Chunk chunk(own, parts.longest());
      chunk.run(i / wanted % args.items, parts[i % wanted]);
    }
  });
}

} // namespace octet::kernels
