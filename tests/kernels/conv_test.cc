// SPDX-License-Identifier: Apache-2.0
// int8 and float convolution on every instruction set against direct loops. Bit-exact.
#include <cmath>
#include <utility>

#include "core/threads.h"
#include "kernels/kernel_test.h"
#include "runtime/kernels/fconv.h"
#include "runtime/kernels/iconv.h"
#include <sys/mman.h>
#include <unistd.h>

namespace octet::kernels {
namespace {

using octet::test::covered_isas;
using octet::test::Fill;
using octet::test::fill;
using octet::test::Guarded;
using octet::test::share;

struct ConvProblem {
  int64_t batch, h, w, in, out, kernel_h, kernel_w;
  int64_t stride = 1, pad = 0, dilation = 1, groups = 1;
};

ConvShape shape_of(const ConvProblem& p) {
  ConvShape s;
  s.batch = p.batch;
  s.in_h = p.h;
  s.in_w = p.w;
  s.in_c = p.in;
  s.out_c = p.out;
  s.kernel_h = p.kernel_h;
  s.kernel_w = p.kernel_w;
  s.stride_h = s.stride_w = p.stride;
  s.pad_top = s.pad_left = p.pad;
  s.dilation_h = s.dilation_w = p.dilation;
  s.groups = p.groups;
  s.out_h = (p.h + 2 * p.pad - p.dilation * (p.kernel_h - 1) - 1) / p.stride + 1;
  s.out_w = (p.w + 2 * p.pad - p.dilation * (p.kernel_w - 1) - 1) / p.stride + 1;
  return s;
}

// Visits every product of one output: visit(index of x or -1 outside, index of w), kernel row
// first.
template <typename Visit>
void products(const ConvShape& s, int64_t pixel, int64_t out, Visit visit) {
  const int64_t group = out / s.group_out();
  const int64_t image = pixel / (s.out_h * s.out_w);
  const int64_t oy = pixel / s.out_w % s.out_h;
  const int64_t ox = pixel % s.out_w;
  for (int64_t i = 0; i < s.kernel_h; ++i) {
    for (int64_t j = 0; j < s.kernel_w; ++j) {
      for (int64_t c = 0; c < s.group_in(); ++c) {
        const int64_t y = oy * s.stride_h - s.pad_top + i * s.dilation_h;
        const int64_t x = ox * s.stride_w - s.pad_left + j * s.dilation_w;
        const bool inside = y >= 0 && y < s.in_h && x >= 0 && x < s.in_w;
        const int64_t channel = group * s.group_in() + c;
        visit(inside ? ((image * s.in_h + y) * s.in_w + x) * s.in_c + channel : -1,
              ((out * s.kernel_h + i) * s.kernel_w + j) * s.group_in() + c);
      }
    }
  }
}

const ConvProblem kConvProblems[] = {
    {2, 28, 28, 1, 8, 3, 3, 2},               // small network, first layer
    {2, 13, 13, 8, 64, 3, 3, 2},              // and second
    {1, 7, 5, 3, 5, 3, 3, 1, 1},              // padding on all sides
    {1, 9, 9, 4, 17, 1, 1},                   // pointwise
    {1, 9, 9, 4, 16, 1, 1, 2},                // strided pointwise
    {1, 11, 10, 6, 8, 3, 2, 2, 2, 2},         // dilation, odd kernel
    {2, 6, 6, 8, 12, 3, 3, 1, 1, 1, 2},       // groups
    {1, 6, 7, 16, 16, 3, 3, 1, 1, 1, 16},     // depthwise, one panel
    {1, 6, 7, 35, 35, 3, 3, 2, 1, 1, 35},     // depthwise with a tail
    {1, 8, 8, 48, 48, 2, 2, 1, 0, 2, 48},     // depthwise, even taps, dilated
    {1, 5, 5, 4, 8, 3, 3, 1, 1, 1, 4},        // channel multiplier 2
    {1, 1, 50, 7, 9, 1, 5, 1, 0},             // one-dimensional
    {1, 3, 3, 2, 3, 7, 7, 1, 3},              // kernel larger than the image
    {1, 20, 20, 40, 70, 3, 3, 1, 1},          // several panels and chunks
    {1, 3, 3, 16, 90, 3, 3},                  // one pixel, six panels
    {2, 3, 3, 12, 70, 3, 3},                  // two pixels
    {1, 5, 5, 8, 48, 3, 3},                   // a tile and a row, three panels
    {2, 9, 17, 64, 64, 3, 3, 1, 1, 1, 64},    // depthwise, full vectors and runs of pixels
    {2, 8, 7, 256, 256, 3, 3, 2, 1, 1, 256},  // depthwise, pixels that share sets of the cache
    {1, 9, 30, 3, 3, 5, 5, 1, 2, 2, 3},       // depthwise of few channels
    {2, 6, 5, 7, 21, 3, 3, 1, 1, 1, 7},       // channel multiplier 3
    {1, 5, 9, 512, 1024, 3, 1, 1, 1, 1, 512}, // channel multiplier 2, shared sets
    {2, 7, 15, 32, 32, 3, 3, 1, 1, 2, 8},     // groups of 4, dilated
    {1, 7, 9, 24, 36, 3, 3, 2, 1, 1, 6},      // groups of 4 to 6
    {1, 6, 9, 40, 40, 3, 3, 1, 1, 1, 5},      // groups of 8, not whole vectors
    {2, 6, 9, 64, 128, 3, 3, 2, 1, 2, 2},     // wide groups, dilated and strided
    {1, 6, 9, 6, 64, 3, 3, 1, 2, 1, 2},       // groups of 3 to 32
    {1, 9, 9, 5, 11, 3, 3, 1, 2, 3},          // dilated columns
    {2, 9, 8, 12, 40, 3, 3, 1, 3, 3},         // of whole groups of 4
    {1, 11, 13, 16, 33, 2, 3, 2, 1, 2},       // strided
    {1, 1, 90, 24, 40, 1, 3, 1, 0, 4},        // of one line
    {2, 1, 60, 7, 20, 1, 5, 1, 3, 2},         // of channels that end within a group
    {1, 1, 280, 8, 24, 1, 3, 1, 16, 16},      // of several chunks
    {1, 6, 40, 8, 24, 3, 1, 1, 2, 2},         // dilated lines alone
    {1, 4, 4, 2, 2, 1, 1, 1, 3, 1, 2},        // windows wholly in the padding
    {1, 10, 37, 16, 16, 3, 3, 2, 1, 1, 16},   // depthwise, strided lines of several pixels a vector
    {2, 7, 9, 24, 24, 5, 5, 1, 2, 1, 24},     // depthwise, blocks that repeat after several pixels
    {1, 5, 6, 129, 129, 3, 3, 1, 1, 1, 129},  // depthwise, each pixel starts a block
    {2, 9, 11, 10, 10, 2, 2, 3, 0, 1, 10},    // depthwise, a stride beyond the kernel
    {1, 9, 13, 20, 20, 3, 4, 2, 3, 3, 20},    // depthwise, strided and dilated
    {3, 2, 2, 5, 5, 3, 3, 1, 1, 1, 5},        // depthwise, kernel larger than the image
    {1, 1, 70, 33, 33, 1, 7, 1, 0, 1, 33},    // depthwise, one-dimensional
    {1, 2, 1000, 6, 9, 2, 5, 1, 2},           // lines longer than a chunk
    {1, 2, 900, 4, 35, 2, 3, 2, 1},           // the same with a stride
    {1, 9, 9, 64, 200, 3, 3, 1, 1},           // weights that do not stay in the cache
    {3, 7, 7, 32, 400, 3, 3, 1, 1},           // the same over several images
    {2, 5, 5, 9, 40, 5, 5, 1, 2},             // windows of as many kinds as pixels
    {1, 6, 5, 3, 4, 4, 4, 1, 6},              // windows wholly in the padding, one group
    {1, 33, 20, 8, 24, 3, 3, 1, 12, 12},      // most taps in the padding
    {2, 9, 8, 24, 36, 1, 1, 1, 0, 1, 4},      // pointwise groups of 6, half panels
    {1, 13, 21, 136, 136, 1, 1, 1, 0, 1, 4},  // of 34, several blocks of pixels
    {1, 5, 6, 56, 224, 1, 1, 1, 0, 1, 2},     // of 28, which need no padding
    {2, 3, 4, 272, 544, 1, 1, 1, 0, 1, 4},    // of 68, several panels
    {1, 3, 3, 2, 6, 1, 1, 1, 0, 1, 2},        // of one channel: less than is read together
    {1, 4, 5, 8, 8, 1, 1, 2, 0, 1, 2},        // pointwise groups, strided
    {1, 4, 5, 8, 8, 1, 1, 1, 1, 1, 2},        // and padded
};

void check_int(const ConvShape& s,
               XRange range,
               int32_t zero,
               Fill how,
               std::mt19937& random,
               ParallelFor& loop) {
  const int64_t x_count = s.batch * s.in_h * s.in_w * s.in_c;
  Guarded<uint8_t> x(x_count, 1);
  std::vector<int8_t> w(static_cast<size_t>(s.out_c * s.k()));
  fill(x.data(), x_count, range.lo, range.hi, how, random);
  fill(w.data(), static_cast<int64_t>(w.size()), -128, 127, how, random);
  std::vector<int32_t> bias(static_cast<size_t>(s.out_c));
  fill(bias.data(), s.out_c, -500, 500, Fill::kUniform, random);
  for (const Isa isa : covered_isas("iconv")) {
    SCOPED_TRACE(std::string(isa_name(isa)));
    const PackedConv packed = pack_conv(w.data(), s, range, isa);
    const std::vector<IgemmColumns> columns =
        make_conv_columns(packed, {.x_zero_point = zero, .bias_i32 = bias.data()});
    Guarded<int32_t> y(s.pixels() * s.out_c);
    IconvArgs args;
    args.shape = s;
    args.x = x.data();
    args.x_zero_point = zero;
    args.w = &packed;
    args.columns = columns.data();
    args.epilogue.type = YType::kInt32;
    args.y = y.data();
    const AlignedBuffer shared = share(args);
    iconv(args, loop);
    ASSERT_TRUE(y.guards_intact());
    for (int64_t i = 0; i < y.size(); ++i) {
      int64_t sum = bias[static_cast<size_t>(i % s.out_c)];
      products(s, i / s.out_c, i % s.out_c, [&](int64_t xi, int64_t wi) {
        if (xi < 0) return;
        const int value = range.is_signed ? static_cast<int8_t>(x[xi]) : x[xi];
        sum += int64_t{value - zero} * w[static_cast<size_t>(wi)];
      });
      ASSERT_EQ(y[i], sum) << "pixel " << i / s.out_c << " channel " << i % s.out_c;
    }
  }
}

void check_int(const ConvShape& s, std::mt19937& random, ParallelFor& loop) {
  for (const Fill how : {Fill::kExtremes, Fill::kUniform, Fill::kBell}) {
    check_int(s, {.is_signed = true, .lo = -128, .hi = 127}, -5, how, random, loop);
    check_int(s, {.is_signed = true, .lo = 0, .hi = 127}, 0, how, random, loop);
    check_int(s, {.is_signed = true, .lo = -9, .hi = 127}, -7, how, random, loop);
    check_int(s, {.is_signed = false, .lo = 0, .hi = 255}, 131, how, random, loop);
  }
}

TEST(Conv, IntegersMatchDirectLoops) {
  std::mt19937 random(1);
  ThreadPool pool(2);
  for (const ConvProblem& p : kConvProblems) {
    SCOPED_TRACE("problem " + std::to_string(&p - kConvProblems));
    check_int(shape_of(p), random, pool);
  }
}

/// Bytes that end where no memory follows.
class AtTheEnd {
 public:
  explicit AtTheEnd(size_t count)
      : page_(static_cast<size_t>(sysconf(_SC_PAGESIZE))),
        bytes_((count + page_ - 1) / page_ * page_ + page_),
        memory_(mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    auto* end = static_cast<uint8_t*>(memory_) + bytes_ - page_;
    EXPECT_NE(memory_, MAP_FAILED);
    EXPECT_EQ(mprotect(end, page_, PROT_NONE), 0);
    data_ = end - count;
  }
  AtTheEnd(const AtTheEnd&) = delete;
  AtTheEnd& operator=(const AtTheEnd&) = delete;
  ~AtTheEnd() { munmap(memory_, bytes_); }
  uint8_t* data() { return data_; }

 private:
  size_t page_, bytes_;
  void* memory_;
  uint8_t* data_ = nullptr;
};

// Groups of channels that are no multiple of 4 are read up to one, where more of x follows.
TEST(Conv, PointwiseGroupsReadNothingBehindX) {
  std::mt19937 random(7);
  SerialFor serial;
  for (const auto& [in, groups] : {std::pair<int64_t, int64_t>{2, 2}, {3, 3}, {6, 2}, {136, 4}}) {
    const ConvShape s = shape_of({1, 3, 5, in, 2 * in, 1, 1, 1, 0, 1, groups});
    std::vector<int8_t> w(static_cast<size_t>(s.out_c * s.k()));
    fill(w.data(), static_cast<int64_t>(w.size()), -127, 127, Fill::kBell, random);
    AtTheEnd x(static_cast<size_t>(s.pixels() * in));
    fill(x.data(), s.pixels() * in, 0, 255, Fill::kUniform, random);
    std::vector<int32_t> want;
    for (const Isa isa : covered_isas("iconv")) {
      const PackedConv packed =
          pack_conv(w.data(), s, {.is_signed = false, .lo = 0, .hi = 255}, isa);
      const std::vector<IgemmColumns> columns = make_conv_columns(packed, {});
      std::vector<int32_t> y(static_cast<size_t>(s.pixels() * s.out_c));
      IconvArgs args;
      args.shape = s;
      args.x = x.data();
      args.w = &packed;
      args.columns = columns.data();
      args.epilogue.type = YType::kInt32;
      args.y = y.data();
      const AlignedBuffer shared = share(args);
      iconv(args, serial);
      if (want.empty()) want = y;
      EXPECT_EQ(y, want) << isa_name(isa);
    }
  }
}

TEST(Conv, IntegersOfDilatedRowsAndPaddingOfOneSideMatchDirectLoops) {
  std::mt19937 random(5);
  ThreadPool pool(2);
  struct Sides {
    int64_t top, left, below, right, dilation_h, stride_h, stride_w, dilation_w = 1;
  };
  for (const Sides& p :
       {Sides{2, 0, 2, 0, 2, 1, 1}, Sides{0, 1, 0, 0, 1, 1, 1}, Sides{1, 0, 0, 2, 1, 2, 1},
        Sides{4, 3, 9, 5, 3, 1, 2}, Sides{0, 4, 0, 0, 1, 1, 1, 2}, Sides{3, 0, 0, 6, 2, 1, 2, 3},
        Sides{0, 9, 0, 9, 1, 1, 1, 5}}) {
    for (const int64_t in : {4, 6}) {
      ConvShape s = shape_of({2, 9, 11, in, 36, 3, 3});
      s.pad_top = p.top;
      s.pad_left = p.left;
      s.dilation_h = p.dilation_h;
      s.dilation_w = p.dilation_w;
      s.stride_h = p.stride_h;
      s.stride_w = p.stride_w;
      s.out_h = (s.in_h + p.top + p.below - 2 * p.dilation_h - 1) / p.stride_h + 1;
      s.out_w = (s.in_w + p.left + p.right - 2 * p.dilation_w - 1) / p.stride_w + 1;
      SCOPED_TRACE("pad at the top " + std::to_string(p.top) + ", channels " + std::to_string(in));
      check_int(s, random, pool);
    }
  }
}

/// Bytes of a convolution and a residual, none or of a type, on every instruction set.
struct BytesProblem {
  ConvShape shape;
  bool bounded = true;
  bool is_signed = true;
  YType residual = YType::kFloat; ///< none
};

void check_bytes(const BytesProblem& p, std::mt19937& random, ParallelFor& loop) {
  const ConvShape& s = p.shape;
  const int64_t x_count = s.batch * s.in_h * s.in_w * s.in_c;
  Guarded<uint8_t> x(x_count, 1);
  Guarded<uint8_t> residual(s.pixels() * s.out_c, 1);
  std::vector<int8_t> w(static_cast<size_t>(s.out_c * s.k()));
  fill(x.data(), x_count, 0, 255, Fill::kUniform, random);
  fill(residual.data(), residual.size(), 0, 255, Fill::kUniform, random);
  fill(w.data(), static_cast<int64_t>(w.size()), -128, 127, Fill::kUniform, random);
  std::vector<float> m(static_cast<size_t>(s.out_c)), b(m.size());
  for (size_t i = 0; i < m.size(); ++i) {
    m[i] = 0.0002F + 0.0001F * static_cast<float>(i % 50);
    b[i] = static_cast<float>(i % 21) - 10.5F;
  }
  m[0] = p.bounded ? 0x1p28F / static_cast<float>(s.k() * 65280) : 0x1p29F;
  const XRange range{
      .is_signed = p.is_signed, .lo = p.is_signed ? -128 : 0, .hi = p.is_signed ? 127 : 255};
  Guarded<uint8_t> want(s.pixels() * s.out_c);
  const auto run = [&](Isa isa, uint8_t* y) {
    const PackedConv packed = pack_conv(w.data(), s, range, isa);
    const std::vector<IgemmColumns> columns = make_conv_columns(
        packed,
        {.x_zero_point = 9, .multiplier = m.data(), .multiplier_count = s.out_c, .bias = b.data()});
    EXPECT_EQ(columns[0].bounded, p.bounded);
    IconvArgs args;
    args.shape = s;
    args.x = x.data();
    args.x_zero_point = 9;
    args.w = &packed;
    args.columns = columns.data();
    args.epilogue.type = p.is_signed ? YType::kUint8 : YType::kInt8;
    args.epilogue.zero_point = p.is_signed ? 20 : -7;
    args.epilogue.lo = p.is_signed ? 20 : -100;
    args.epilogue.hi = p.is_signed ? 250 : 90;
    if (p.residual != YType::kFloat) {
      args.epilogue.residual = residual.data();
      args.epilogue.residual_stride = s.out_c;
      args.epilogue.residual_signed = p.residual == YType::kInt8;
      args.epilogue.residual_zero_point = args.epilogue.residual_signed ? -4 : 131;
      args.epilogue.residual_multiplier = 0.37F;
    }
    args.y = y;
    const AlignedBuffer shared = share(args);
    iconv(args, loop);
  };
  run(Isa::kScalar, want.data());
  for (const Isa isa : covered_isas("iconv bytes")) {
    SCOPED_TRACE(isa_name(isa));
    Guarded<uint8_t> y(s.pixels() * s.out_c, 1);
    run(isa, y.data());
    ASSERT_TRUE(y.guards_intact());
    ASSERT_TRUE(y == want);
  }
}

TEST(Conv, BytesMatchScalar) {
  std::mt19937 random(7);
  ThreadPool pool(2);
  int turn = 0;
  for (const ConvProblem& p : kConvProblems) {
    SCOPED_TRACE("problem " + std::to_string(&p - kConvProblems));
    for (const bool bounded : {true, false}) {
      for (const bool is_signed : {true, false}) {
        const YType residual = is_signed ? YType::kUint8 : YType::kInt8;
        check_bytes({shape_of(p), bounded, is_signed, turn++ % 3 == 0 ? YType::kFloat : residual},
                    random, pool);
      }
    }
  }
}

TEST(Conv, ResidualsOfLargeMultipliersMatchScalar) {
  std::mt19937 random(8);
  SerialFor serial;
  const ConvShape s = shape_of({1, 6, 6, 16, 48, 3, 3, 1, 1});
  const int64_t size = s.pixels() * s.out_c;
  std::vector<int8_t> x(static_cast<size_t>(6 * 6 * 16)), w(static_cast<size_t>(s.out_c * s.k()));
  std::vector<int8_t> residual(static_cast<size_t>(size));
  fill(x.data(), std::ssize(x), -128, 127, Fill::kUniform, random);
  fill(w.data(), std::ssize(w), -127, 127, Fill::kUniform, random);
  fill(residual.data(), size, -128, 127, Fill::kUniform, random);
  const float multiplier = 0.2F;
  for (const float most : {0.0F, 1.0F, 0x1p20F, -0x1p20F, 0x1.8p24F, 1e38F, -INFINITY, NAN}) {
    SCOPED_TRACE(most);
    std::vector<int8_t> want;
    for (const Isa isa : covered_isas("iconv residual")) {
      const PackedConv packed = pack_conv(w.data(), s, {}, isa);
      const std::vector<IgemmColumns> columns =
          make_conv_columns(packed, {.multiplier = &multiplier, .multiplier_count = 1});
      std::vector<int8_t> y(static_cast<size_t>(size));
      IconvArgs args;
      args.shape = s;
      args.x = x.data();
      args.w = &packed;
      args.columns = columns.data();
      args.epilogue.residual = residual.data();
      args.epilogue.residual_stride = s.out_c;
      args.epilogue.residual_multiplier = most;
      args.y = y.data();
      const AlignedBuffer shared = share(args);
      iconv(args, serial);
      if (want.empty()) want = y;
      ASSERT_EQ(y, want) << isa_name(isa);
    }
  }
}

TEST(Conv, BytesWithResidualMatchTheProductsOfOneGroup) {
  std::mt19937 random(2);
  SerialFor serial;
  for (const int64_t groups : {1, 2, 16}) {
    const ConvProblem p{2, 6, 6, 16, 16, 3, 3, 1, 1, 1, groups};
    const ConvShape s = shape_of(p);
    std::vector<int8_t> x(static_cast<size_t>(s.batch * s.in_h * s.in_w * s.in_c));
    std::vector<int8_t> w(static_cast<size_t>(s.out_c * s.k()));
    std::vector<int8_t> res(static_cast<size_t>(s.pixels() * s.out_c));
    fill(x.data(), static_cast<int64_t>(x.size()), -128, 127, Fill::kBell, random);
    fill(w.data(), static_cast<int64_t>(w.size()), -127, 127, Fill::kBell, random);
    fill(res.data(), static_cast<int64_t>(res.size()), -128, 127, Fill::kBell, random);
    std::vector<float> m(static_cast<size_t>(s.out_c));
    std::vector<float> b(m.size());
    for (size_t i = 0; i < m.size(); ++i) {
      m[i] = 0.001F + 0.0002F * static_cast<float>(i);
      b[i] = static_cast<float>(i) - 7.5F;
    }
    for (const Isa isa : covered_isas("iconv epilogue")) {
      const PackedConv packed = pack_conv(w.data(), s, {}, isa);
      const std::vector<IgemmColumns> columns =
          make_conv_columns(packed, {.x_zero_point = 3,
                                     .multiplier = m.data(),
                                     .multiplier_count = s.out_c,
                                     .bias = b.data()});
      Guarded<int8_t> y(s.pixels() * s.out_c);
      IconvArgs args;
      args.shape = s;
      args.x = x.data();
      args.x_zero_point = 3;
      args.w = &packed;
      args.columns = columns.data();
      args.epilogue.zero_point = -2;
      args.epilogue.residual = res.data();
      args.epilogue.residual_stride = s.out_c;
      args.epilogue.residual_multiplier = 0.25F;
      args.y = y.data();
      const AlignedBuffer shared = share(args);
      iconv(args, serial);
      ASSERT_TRUE(y.guards_intact());
      for (int64_t i = 0; i < y.size(); ++i) {
        const auto c = static_cast<size_t>(i % s.out_c);
        int32_t sum = 0;
        products(s, i / s.out_c, i % s.out_c, [&](int64_t xi, int64_t wi) {
          if (xi >= 0) sum += (x[static_cast<size_t>(xi)] - 3) * w[static_cast<size_t>(wi)];
        });
        float r = std::fma(static_cast<float>(sum), m[c], b[c]);
        r = std::fma(static_cast<float>(res[static_cast<size_t>(i)]), 0.25F, r);
        ASSERT_EQ(y[i], std::min(127.0, std::max(-128.0, std::nearbyint(double{r}) - 2.0))) << i;
      }
    }
  }
}

TEST(Conv, FloatsMatchOneChainInOrder) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  ThreadPool pool(2);
  for (const ConvProblem& p : kConvProblems) {
    const ConvShape s = shape_of(p);
    std::vector<float> w(static_cast<size_t>(s.out_c * s.k()));
    Guarded<float> x(s.batch * s.in_h * s.in_w * s.in_c);
    Guarded<float> bias(s.out_c);
    for (float& v : w) {
      v = normal(random);
    }
    for (int64_t i = 0; i < x.size(); ++i) {
      x[i] = normal(random);
    }
    for (int64_t i = 0; i < s.out_c; ++i) {
      bias[i] = normal(random);
    }
    for (const Isa isa : covered_isas("fconv")) {
      const PackedFloatConv packed = pack_float_conv(w.data(), s, isa);
      Guarded<float> y(s.pixels() * s.out_c);
      FconvArgs args;
      args.shape = s;
      args.x = x.data();
      args.w = &packed;
      args.epilogue = {.bias = bias.data(), .lo = 0.0F};
      args.y = y.data();
      fconv(args, pool);
      ASSERT_TRUE(y.guards_intact());
      for (int64_t i = 0; i < y.size(); ++i) {
        float sum = 0.0F;
        products(s, i / s.out_c, i % s.out_c, [&](int64_t xi, int64_t wi) {
          sum = std::fma(xi < 0 ? 0.0F : x[xi], w[static_cast<size_t>(wi)], sum);
        });
        sum += bias[i % s.out_c];
        ASSERT_EQ(y[i], sum < 0.0F ? 0.0F : sum)
            << isa_name(isa) << " problem " << &p - kConvProblems << " at " << i;
      }
    }
  }
}

TEST(Conv, WeightsThatAreNotFiniteMeetNoPadding) {
  constexpr float kOdd[] = {NAN, INFINITY, -INFINITY};
  std::mt19937 random(4);
  ThreadPool pool(2);
  for (const ConvProblem& p : kConvProblems) {
    const ConvShape s = shape_of(p);
    std::vector<float> w(static_cast<size_t>(s.out_c * s.k()));
    Guarded<float> x(s.batch * s.in_h * s.in_w * s.in_c);
    fill(w.data(), static_cast<int64_t>(w.size()), -9, 9, Fill::kUniform, random);
    fill(x.data(), x.size(), 1, 9, Fill::kUniform, random);
    for (size_t i = 0; i < w.size(); i += 5)
      w[i] = kOdd[i % 3];
    for (const Isa isa : covered_isas("fconv")) {
      const PackedFloatConv packed = pack_float_conv(w.data(), s, isa);
      Guarded<float> y(s.pixels() * s.out_c);
      FconvArgs args;
      args.shape = s;
      args.x = x.data();
      args.w = &packed;
      args.y = y.data();
      fconv(args, pool);
      ASSERT_TRUE(y.guards_intact());
      for (int64_t i = 0; i < y.size(); ++i) {
        float sum = 0.0F;
        products(s, i / s.out_c, i % s.out_c, [&](int64_t xi, int64_t wi) {
          if (xi >= 0) sum = std::fma(x[xi], w[static_cast<size_t>(wi)], sum);
        });
        ASSERT_TRUE(y[i] == sum || (std::isnan(y[i]) && std::isnan(sum)))
            << isa_name(isa) << " problem " << &p - kConvProblems << " at " << i << ": " << y[i]
            << ", not " << sum;
      }
    }
  }
}

} // namespace
} // namespace octet::kernels
