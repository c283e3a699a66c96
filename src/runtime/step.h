// SPDX-License-Identifier: Apache-2.0
// How nodes become calls of kernels. A kernel *prepares* a node once (packs weights), *binds* it to
// shapes (a step), and runs the step any number of times.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/cpu.h"

#include "octet/graph.h"
#include "octet/session.h"

namespace octet {
class ParallelFor;
}

namespace octet::runtime {

/// Memory of every value of a plan, by value id of the lowered graph. Constants, activations in the
/// arena, inputs of the caller and outputs all look the same.
using Slots = std::span<std::byte* const>;

/// How a step ended that met no error.
enum class StepEnd : uint8_t {
  kDone,
  kOtherShape, ///< its operator gave another type or shape than was planned
};

struct Operand;

/// A node bound to shapes. What can go wrong with a kernel is found when it is bound; only the
/// reference of an operator may fail while it runs. Kernels allocate nothing.
class Step {
 public:
  virtual ~Step() = default;
  /// The same node bound to other shapes, where runs have left something in this step that it can
  /// use; null: it is bound anew. Only one of the two runs at a time.
  virtual std::unique_ptr<Step> again(std::span<const Operand> /*inputs*/,
                                      std::span<const Operand> /*outputs*/) const {
    return nullptr;
  }
  /// Memory that the threads of its loops share while it runs, from loop to loop.
  virtual size_t shared_bytes() const { return 0; }
  /// As Evaluation::inside.
  virtual std::vector<PlannedNode> inside() const { return {}; }
  /// `shared`: so many bytes of the plan's own, aligned to 64, contents unspecified.
  virtual Result<StepEnd> run(Slots slots, std::byte* shared, ParallelFor& parallel) const = 0;
};

/// Type and shape of an operand of a bound node; `id` is its slot, -1 when it is omitted.
struct Operand {
  int32_t id = -1;
  DType type = DType::kUndefined;
  Shape shape;
  const Tensor* known = nullptr; ///< its elements, of a constant or a computed shape
  bool present() const { return id >= 0; }
  int64_t count() const;
};

/// Runs a node on tensors of any shape: by its operator's eval, its bodies by kernels, or as a kernel
/// that tells how large its results are. One thread's.
class Evaluation {
 public:
  virtual ~Evaluation() = default;
  /// `captures`: in the order of Node::captures. The results may look into the inputs.
  virtual Result<std::vector<Tensor>> operator()(std::vector<Tensor> inputs,
                                                 std::span<const Tensor> captures,
                                                 ParallelFor& parallel) = 0;
  /// How the nodes of its bodies ran last, in the order of Choice::inside.
  virtual std::vector<PlannedNode> inside() const { return {}; }
};

class Prepared {
 public:
  virtual ~Prepared() = default;
  /// `inputs`: behind those of the node, what its bodies capture.
  virtual Result<std::unique_ptr<Step>> bind(std::span<const Operand> inputs,
                                             std::span<const Operand> outputs) const = 0;
  /// Null for kernels that need to know the shapes of their outputs, which are nearly all.
  virtual std::unique_ptr<Evaluation> evaluation() const { return nullptr; }
};

class PackStore;
struct PackedMemory;

struct PrepareContext {
  const Graph& graph; ///< lowered, types inferred
  const Node& node;
  Isa isa;
  /// Whether the elements of a value are known once shapes are.
  std::function<bool(ValueId)> is_known = {};
  std::shared_ptr<PackStore> store = nullptr; ///< of packs.h; null: weights are just packed
  PackedMemory* memory = nullptr;             ///< of packs.h; null: nobody counts

  bool known(size_t input) const {
    const ValueId id = node.input(input);
    return !id.valid() || graph.constant(id) || (is_known && is_known(id));
  }
  const Tensor* constant(size_t input) const { return graph.constant(node.input(input)); }
  const TypeInfo& type(size_t input) const { return graph.value(node.input(input)).type; }
};

/// Either the prepared node, or why this kernel does not take it.
struct Choice {
  std::unique_ptr<Prepared> prepared;
  std::string name;                ///< shown in plans: `igemm avx2`
  std::string reason;              ///< when `prepared` is null
  bool by_reference = false;       ///< or as it: Prepared::evaluation() is there
  std::vector<PlannedNode> inside; ///< of bodies: `then_branch: Conv "c"`
  /// Constant inputs that were packed: nothing reads them again.
  std::vector<size_t> packed = {};
  /// Inputs that are read element by element wherever they lie, and nothing beyond them; the bytes
  /// of others are aligned to 64.
  std::vector<size_t> any_address = {};
  static Choice refuse(std::string why) { return {nullptr, {}, std::move(why)}; }
};

using PrepareFn = Choice(const PrepareContext&);

struct KernelRow {
  std::string_view domain;
  std::string_view op;
  PrepareFn* prepare;
  bool takes_strings = false; ///< a value of strings is a Tensor in its slot
};

/// Operator -> candidates, best first. An operator without a row runs by its reference.
std::span<const KernelRow> kernel_table();

/// The first candidate that takes the node, or the reasons of all.
Choice choose_kernel(const PrepareContext& context);
/// The same, or the operator's reference with those reasons. An operator without a definition gives
/// a Choice without `prepared`.
Choice choose(const PrepareContext& context);
/// Runs the operator's eval; allocates. For operators without a kernel, strings, and outputs whose
/// shapes depend on data.
Choice prepare_reference(const PrepareContext& context);

/// Whether the output is the first input's bytes under another shape.
bool is_view(const Graph& graph, const Node& node);

} // namespace octet::runtime
