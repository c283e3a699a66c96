// SPDX-License-Identifier: Apache-2.0
// The state that the lowering of each kind of operator shares: what every source value has become.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ops/qdq/stored.h"
#include "passes/lower/coded_weights.h"
#include "passes/lower/layout.h"
#include "passes/lower/lower.h"

#include "octet/graph.h"

namespace octet::lowering {

/// Activations of integer kernels.
inline constexpr qdq::Reading kForKernels{.most = qdq::Reading::Most::kTensor,
                                          .positive_scales = true,
                                          .written_zero = false,
                                          .f32_scale = true,
                                          .byte_codes = true,
                                          .microsoft = false};

/// Activations of any type of codes.
inline constexpr qdq::Reading kOneScale{
    .most = qdq::Reading::Most::kTensor, .positive_scales = true, .f32_scale = true};

struct Form {
  ValueId id; ///< in the lowered graph
  Layout layout = Layout::kPlain;
  std::array<int64_t, 3> image{}; ///< [C, H, W] that a kFlatNhwc tensor was flattened from

  /// Another tensor whose elements are ordered like these.
  Form ordered(ValueId other) const { return {other, layout, image}; }
  /// Between tensors of one source shape: whether elements at one place belong together.
  bool same_order(const Form& other) const {
    return layout == other.layout && image == other.image;
  }
};

/// A source value in the lowered graph: as itself, or as codes still to be dequantized, or both.
struct Source {
  std::optional<Form> real;
  std::vector<Form> turned; ///< `real` in other orders
  std::optional<Form> codes;
  std::vector<Form> turned_codes; ///< `codes` in other orders
  qdq::Grid quant;                ///< of `codes`: one scale, 8 bits
};

/// What follows a product and is computed with it: [+ residual] [Relu or Clip] [Q].
struct Epilogue {
  DType to = DType::kFloat32;
  qdq::Grid quant;                 ///< of the output, when `to` is i8 or u8
  float min, max;                  ///< of the fused Relu or Clip, before quantization
  std::optional<ValueId> residual; ///< source value with codes, added before the clamp
  ValueId end;                     ///< source value that the output stands for (before Q)
  std::vector<NodeId> absorbed;    ///< nodes that need no lowering of their own
  std::vector<NodeId> quantizers;  ///< Q nodes whose outputs are the codes
  std::string why_float;           ///< when `to` is f32: why no Q could be fused
};

class Context {
 public:
  Context(const Graph& source, bool integer);

  const Graph& in() const { return in_; }
  /// Whether operators may compute with codes.
  bool integer() const { return integer_; }
  Graph& out() { return out_; }
  const Uses& uses() const { return uses_; }
  Source& source(ValueId id) { return sources_[static_cast<size_t>(id.index)]; }
  bool done(NodeId id) const { return done_[static_cast<size_t>(id.index)]; }
  void mark_done(NodeId id) { done_[static_cast<size_t>(id.index)] = true; }

  /// The value in the lowered graph, float or as it is; dequantizes and copies constants on demand.
  Form real(ValueId id);
  Form plain(ValueId id);
  /// As `real`, in an order of axes; made once.
  Form ordered(ValueId id, const Layout& layout);
  /// As `real`, in NHWC order; the source must have rank 4.
  Form nhwc(ValueId id);
  /// The codes, if the value is DQ of a tensor that is not constant.
  std::optional<Form> codes(ValueId id) const;
  /// The codes in an order of axes; made once.
  Form codes_ordered(ValueId id, const Layout& layout);
  /// Codes in the source's order.
  Form codes_plain(ValueId id);
  /// Codes of a rank-4 value in NHWC order.
  Form codes_nhwc(ValueId id);

  /// The codes take the place of the value, dequantized where someone needs the numbers.
  void set_codes(ValueId id, Form form, const qdq::Grid& quant);

  /// Q or DQ with constant per-tensor i8/u8 parameters.
  std::optional<qdq::Grid> per_tensor(const Node& node) const;
  /// Weights behind DQ as int8 codes with zero point 0; nullopt with a reason.
  std::optional<qdq::StoredCodes> weights(ValueId id, std::string& why) const;
  /// The same of products of rows, which take i16 where int8 does not hold codes less their zero
  /// points.
  std::optional<qdq::StoredCodes> wide_weights(ValueId id, std::string& why) const;
  /// Constant behind a value (also through DQ): biases.
  std::optional<Tensor> constant(ValueId id) const;
  /// Whether there is one. Stored codes stay as they are: products multiply them, and the numbers
  /// are several times as large.
  bool is_constant(ValueId id) const;

  /// The bias behind DQ as int32 codes at s_x * s_w (the form of ONNX Runtime's files), when it is
  /// whole steps of them.
  std::optional<Tensor> int_bias(ValueId id, const qdq::Grid& x, const qdq::StoredCodes& w) const;

  /// Looks along the single consumers of a product's output.
  Epilogue epilogue(ValueId product, bool allow_residual);
  /// Clamp and quantization attributes of an epilogue for a Q* or float operator.
  void set_attributes(Node& node, const Epilogue& e) const;
  /// The lowered value takes the place of what the epilogue ends in. `product`: what the node runs
  /// as makes this, and another operator `result` of it.
  void finish(const Node& node, const Epilogue& e, Form result, ValueId product = {});
  /// The same without a note of the node.
  void settle(const Node& node, const Epilogue& e, Form result);

  /// The value as it is at hand, in any order: its codes, or itself. nullopt: a flattened image, or
  /// nothing is at hand but a constant.
  std::optional<Form> at_hand(ValueId id) const;
  /// What moves elements of `from` became `form`: codes if those of `from` were taken.
  void set_moved(const Node& node, ValueId from, ValueId to, Form form);

  /// Adds a native node with one output.
  ValueId emit(Node node, const std::string& output_name);
  void note(const Node& node, LowerForm runs, std::string form, std::string why = {});
  void note_fused(const Node& node, const Node& into);
  std::vector<LowerNote> take_notes() { return std::move(notes_); }

 private:
  /// The elements of `form`, a form of the source value `like`, in another order that is not flat.
  Form turn(const Form& form, const Layout& layout, ValueId like);
  Form unflatten(const Form& form);
  /// The numbers of codes of the source value `id`.
  Form dequantized(ValueId id, const Form& codes);
  Form
  find_or_turn(const Form& form, std::vector<Form>& turned, const Layout& layout, ValueId like);
  void clamp_step(Epilogue& e);
  void residual_step(Epilogue& e);
  void quantize_step(Epilogue& e);

  const Graph& in_;
  bool integer_;
  Uses uses_;
  Graph out_;
  std::vector<Source> sources_;
  std::vector<bool> done_;
  std::vector<LowerNote> notes_;
};

/// Each returns false when the operator is not its kind or has a form that it leaves to others.
Result<bool> lower_conv(Context& c, const Node& node);
Result<bool> lower_conv_integer(Context& c, const Node& node);
Result<bool> lower_matmul_integer(Context& c, const Node& node);
Result<bool> lower_gemm(Context& c, const Node& node);
Result<bool> lower_pool(Context& c, const Node& node);
Result<bool> lower_table(Context& c, const Node& node);
Result<bool> lower_byte_function(Context& c, const Node& node);
Result<bool> lower_elementwise(Context& c, const Node& node);
Result<bool> lower_unary(Context& c, const Node& node);
Result<bool> lower_add(Context& c, const Node& node);
/// Transpose, Squeeze, Unsqueeze, Slice, Pad, Expand and Identity: what moves elements.
Result<bool> lower_movement(Context& c, const Node& node);
/// Reshape and Flatten.
Result<bool> lower_reshape(Context& c, const Node& node);
/// Concat and Split.
Result<bool> lower_joint(Context& c, const Node& node);
/// Reductions of axes that are known.
Result<bool> lower_reduction(Context& c, const Node& node);
Result<bool> lower_normalization(Context& c, const Node& node);
Result<bool> lower_resize(Context& c, const Node& node);
Result<bool> lower_recurrent(Context& c, const Node& node);

/// Lowers the bodies of `made`, which stands for `node`, and makes them capture lowered values. A
/// body that cannot be lowered stays as it is: it may be a branch that no types at hand fit.
void lower_bodies(Context& c, const Node& node, Node& made);

/// Float or quantized product: what Conv and Gemm share once weights are `[N, ...]`, K fastest.
struct Product {
  const Node& node;
  Form x; ///< codes when `weights` is set, else float
  qdq::Grid x_quant;
  std::optional<qdq::StoredCodes> weights; ///< codes already in the native layout, axis 0
  std::optional<CodedWeights> coded;       ///< of a Gemm whose x is float
  Tensor real_weights;                     ///< float weights in the native layout otherwise
  ValueId bias;                            ///< source value, may be invalid
  std::optional<Tensor> added_bias;        ///< a constant that a following Add brought
  ValueId result;                          ///< source value that the product makes
  std::vector<NodeId> absorbed;
  std::string why_float;
  Attributes attributes;    ///< strides and the like
  const char* quantized_op; ///< QGemm or QConv
  const char* float_op;     ///< Gemm or Conv
  Layout layout;            ///< of the result
  /// Rows and columns of pixels that the product makes as channels of one, in NHWC.
  std::vector<int64_t> blocks = {};
  /// Lowered values in the place of `real_weights`, in their layout, and of `bias`: the graph
  /// computes them. Without codes.
  ValueId made_weights = {}, made_bias = {};
};
Result<bool> emit_product(Context& c, const Product& product);

/// [C, H, W] of an image [N, C, H, W], when all three are known and none is 0.
std::optional<std::array<int64_t, 3>> known_image(const TypeInfo& type);

// Shared arithmetic.
/// Multiplier of each channel and the bias in units of the output, prepared in double.
struct Scales {
  Tensor multiplier;
  std::optional<Tensor> bias;
};
Scales fold_scales(const qdq::Grid& x,
                   const qdq::StoredCodes& w,
                   const std::optional<Tensor>& bias,
                   const Epilogue& e);
/// An error when max over channels of Σ|w| · max|x - z| + |bias| reaches 2^31. `codes` is [N, K].
Status check_accumulator(const Graph& graph,
                         const Node& node,
                         const Tensor& codes,
                         const qdq::Grid& x,
                         const std::optional<Tensor>& int_bias);
/// For QTable: the code on one grid of the number that each of 256 codes of another stands for.
Tensor rescale_table(const qdq::Grid& from, const qdq::Grid& to);
/// A copy with axes permuted (constants only), of elements of whole bytes.
Tensor permuted(const Tensor& t, std::span<const int64_t> perm);

} // namespace octet::lowering
