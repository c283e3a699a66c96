// SPDX-License-Identifier: Apache-2.0
// Session: a graph planned for the native executor. Weights are packed once; running allocates
// nothing once shapes have been seen. Integer results have the same bits on every instruction set,
// thread count and batch split.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "octet/executor.h"
#include "octet/graph.h"

namespace octet {

struct SessionOptions {
  int threads = 0;   ///< 0: one for each core
  std::string isa;   ///< scalar, avx2, avx512, avx512vnni; empty: OCTET_ISA, else the best
  bool lower = true; ///< false: the graph is lowered already
};

class Session;

/// One thread's place to run a session: activations and plans. Not thread-safe; make one for each
/// thread that runs.
class SessionContext {
 public:
  SessionContext(SessionContext&&) noexcept;
  SessionContext& operator=(SessionContext&&) noexcept;
  ~SessionContext();

  /// One tensor for each graph input. The outputs are views into the context, valid until the next
  /// run. Errors name the input with both types or shapes.
  Result<std::span<const Tensor>> run(std::span<const Tensor> inputs);
  /// Plans for these input shapes now rather than in the first run.
  Status reserve(std::span<const Shape> shapes);

 private:
  friend class Session;
  struct Impl;
  explicit SessionContext(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// How one node of the lowered graph will run.
struct PlannedNode {
  std::string node;   ///< label
  std::string kernel; ///< `igemm avx2`, or `reference`
  std::string why;    ///< for `reference`: why no kernel took it
  std::vector<std::string> origin;
};

class Session {
 public:
  /// Lowers, chooses kernels and packs weights. Errors: a graph that cannot be lowered, an
  /// instruction set that this machine lacks.
  static Result<Session> create(const Graph& graph, const SessionOptions& options = {});

  SessionContext context() const;
  /// Runs in a context of the session's own and returns tensors that share nothing with it.
  Result<std::vector<Tensor>> run(std::span<const Tensor> inputs);

  const Graph& lowered() const;
  const std::vector<PlannedNode>& plan() const;
  std::string_view isa() const;
  int threads() const;

  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();

 private:
  friend class SessionContext;
  struct Impl;
  explicit Session(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

/// The native executor behind the general interface.
Result<std::unique_ptr<Executor>> make_native_executor(const Graph& graph,
                                                       const SessionOptions& options = {});

} // namespace octet
