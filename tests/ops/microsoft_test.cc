// SPDX-License-Identifier: Apache-2.0
// Operators of com.microsoft under inputs and attributes that nobody meant: an error says why.
// microsoft_peer.py compares what they compute with ONNX Runtime.
#include "ops/op_runner.h"

namespace octet::test {
namespace {

constexpr const char* kTheirs = "com.microsoft";
constexpr int64_t kHuge = int64_t{1} << 62;

Tensor numbers(Shape shape) {
  return Tensor::zeros(DType::kFloat32, std::move(shape)).value();
}
Tensor counts(std::initializer_list<int32_t> values) {
  return Tensor::of<int32_t>({static_cast<int64_t>(values.size())}, values);
}
Attributes with(std::initializer_list<std::pair<const char*, int64_t>> values) {
  Attributes out;
  for (const auto& [name, value] : values)
    out[name] = attribute(value);
  return out;
}

void refuses(const char* op,
             const Attributes& attributes,
             const std::vector<Tensor>& inputs,
             const std::string& word) {
  SCOPED_TRACE(op);
  const auto y = run_op(kTheirs, op, attributes, inputs, 1);
  ASSERT_FALSE(y.ok());
  EXPECT_NE(std::string::npos, y.error().text().find(word)) << y.error().text();
}

TEST(MultiHeadAttention, RefusesWhatDoesNotFit) {
  const Tensor q = numbers({1, 2, 8}), k = numbers({1, 3, 8});
  const char* op = "MultiHeadAttention";
  for (const int64_t heads : {int64_t{0}, int64_t{-1}, -kHuge})
    refuses(op, with({{"num_heads", heads}}), {q, k, k}, "num_heads");
  for (const int64_t heads : {int64_t{3}, kHuge})
    refuses(op, with({{"num_heads", heads}}), {q, k, k}, "make them divide");
  const Attributes two = with({{"num_heads", 2}});
  refuses(op, two, {q}, "packed");
  refuses(op, two, {numbers({1, 2, 2, 3, 4}), Tensor(), Tensor()}, "packed");
  refuses(op, two, {q, k, numbers({1, 4, 8})}, "steps of keys and values");
  refuses(op, two, {q, numbers({2, 3, 8}), numbers({2, 3, 8})}, "batches");
  refuses(op, two, {q, k, k, numbers({5})}, "bias");
  refuses(op, two, {q, k, k, Tensor(), counts({1, 1})}, "mask");
  refuses(op, two, {q, k, k, Tensor(), Tensor(), numbers({3, 3})}, "do not broadcast");
  const Tensor past = numbers({1, 2, 5, 4});
  refuses(op, two, {q, k, k, Tensor(), Tensor(), Tensor(), past}, "past_value");
  refuses(op, two, {q, k, k, Tensor(), Tensor(), Tensor(), past, numbers({1, 2, 4, 4})}, "past");
  refuses(op, two, {q, k, k, Tensor(), Tensor(), Tensor(), numbers({1, 1, 5, 4}), past}, "past");
}

TEST(MultiHeadAttention, TakesNoKeysAndNoRows) {
  const Attributes two = with({{"num_heads", 2}});
  const Tensor none = numbers({1, 0, 8});
  const Tensor y =
      first(run_op(kTheirs, "MultiHeadAttention", two, {numbers({1, 2, 8}), none, none}, 1));
  EXPECT_EQ((Shape{1, 2, 8}), y.shape());
  EXPECT_EQ(0, y.at(0));
  const Tensor rows = numbers({0, 2, 8});
  EXPECT_EQ((Shape{0, 2, 8}),
            first(run_op(kTheirs, "MultiHeadAttention", two, {rows, rows, rows}, 1)).shape());
}

TEST(GroupQueryAttention, RefusesWhatDoesNotFit) {
  const char* op = "GroupQueryAttention";
  const Tensor q = numbers({1, 2, 8}), k = numbers({1, 2, 4}), past = numbers({1, 1, 3, 4});
  const auto call = [&](const Attributes& a, const Tensor& last, const Tensor& total,
                        const char* word) {
    refuses(op, a, {q, k, k, past, past, last, total}, word);
  };
  const Attributes fits = with({{"num_heads", 2}, {"kv_num_heads", 1}});
  ASSERT_TRUE(run_op(kTheirs, op, fits, {q, k, k, past, past, counts({4}), counts({5})}, 1).ok());
  call(with({{"num_heads", 3}, {"kv_num_heads", 2}}), counts({4}), counts({5}), "divide");
  call(with({{"num_heads", kHuge}, {"kv_num_heads", 1}}), counts({4}), counts({5}), "heads");
  call(with({{"num_heads", 2}, {"kv_num_heads", 0}}), counts({4}), counts({5}), "heads");
  for (const int32_t last : {-5, 0, 5, std::numeric_limits<int32_t>::max()})
    call(fits, counts({last}), counts({5}), "make them fit");
  call(fits, counts({4}), counts({-5}), "make them fit");
  call(fits, counts({4, 4}), counts({5}), "seqlens_k");
  call(fits, counts({4}), counts({std::numeric_limits<int32_t>::max()}), "stops at");
  Attributes odd = fits;
  odd["do_rotary"] = attribute(int64_t{1});
  call(odd, counts({4}), counts({5}), "cos_cache");
  odd = fits;
  odd["local_window_size"] = attribute(int64_t{0});
  call(odd, counts({4}), counts({5}), "local_window_size");
  odd = fits;
  odd["k_quant_type"] = attribute(std::string("PER_TENSOR"));
  call(odd, counts({4}), counts({5}), "codes");
}

TEST(RotaryEmbedding, RefusesPlacesOutsideOfItsCaches) {
  const Tensor x = numbers({1, 2, 8}), cache = numbers({4, 2});
  for (const int64_t place : {int64_t{3}, int64_t{-1}, std::numeric_limits<int64_t>::max()})
    refuses("RotaryEmbedding", {}, {x, Tensor::of<int64_t>({1}, {place}), cache, cache},
            "position");
  const Tensor none = numbers({4, 0});
  refuses("RotaryEmbedding", {}, {x, Tensor::of<int64_t>({1}, {0}), none, none}, "heads");
}

TEST(MatMulNBits, RefusesWhatDoesNotFit) {
  const char* op = "MatMulNBits";
  const Tensor a = numbers({2, 16}), scales = numbers({3, 1});
  const Tensor codes = Tensor::zeros(DType::kUint8, {3, 1, 8}).value();
  const auto sizes = [](int64_t n, int64_t k, int64_t bits, int64_t block) {
    return with({{"N", n}, {"K", k}, {"bits", bits}, {"block_size", block}});
  };
  ASSERT_TRUE(run_op(kTheirs, op, sizes(3, 16, 4, 16), {a, codes, scales}, 1).ok());
  refuses(op, sizes(kHuge, 16, 4, 16), {a, codes, scales}, "N is");
  refuses(op, sizes(3, -1, 4, 16), {a, codes, scales}, "K is");
  refuses(op, sizes(3, 16, 3, 16), {a, codes, scales}, "3 bits");
  refuses(op, sizes(3, 16, 4, 24), {a, codes, scales}, "block_size");
  refuses(op, sizes(3, 16, 4, kHuge), {a, codes, scales}, "block_size");
  refuses(op, sizes(3, 16, 8, 16), {a, codes, scales}, "input 1");
  refuses(op, sizes(3, 16, 4, 16), {a, codes, numbers({3, 2})}, "input 2");
  refuses(op, sizes(3, 16, 4, 16), {numbers({2, 15}), codes, scales}, "columns");
  std::vector<int32_t> groups(16, 1);
  refuses(op, sizes(3, 16, 4, 16),
          {a, codes, scales, Tensor(), Tensor::of<int32_t>({16}, std::span<const int32_t>(groups))},
          "g_idx");
}

TEST(FusedProducts, RefuseAnActivationThatIsNone) {
  Attributes a;
  a["activation"] = attribute(std::string("Cosine"));
  refuses("FusedConv", a, {numbers({1, 1, 3, 3}), numbers({1, 1, 3, 3})}, "Cosine");
  refuses("FusedGemm", a, {numbers({2, 2}), numbers({2, 2})}, "Cosine");
  a["activation"] = attribute(std::string("Clip"));
  refuses("FusedConv", a, {numbers({1, 1, 3, 3}), numbers({1, 1, 3, 3})}, "Clip");
}

} // namespace
} // namespace octet::test
