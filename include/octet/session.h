// SPDX-License-Identifier: Apache-2.0
// Session: a graph planned for the native executor. Weights are packed once; running allocates
// nothing once shapes have been seen. Integer results have the same bits on every instruction set,
// thread count and batch split.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "octet/executor.h"
#include "octet/graph.h"

namespace octet {

/// The caller's own scheduler: calls `chunk(i)` once for each i in [0, chunks), in any order and on
/// any threads, and returns when all calls have returned. Chunks do not throw and do not wait for
/// each other. It may be called from several contexts at the same time, and while it waits its
/// thread may run whatever else the scheduler has, other contexts of this or another session too.
/// How a loop is cut does not depend on it, and neither do the results.
using ParallelForFn =
    std::function<void(int64_t chunks, const std::function<void(int64_t)>& chunk)>;

struct SessionOptions {
  int threads = 0; ///< 0: one for each core; 1024 at most
  /// scalar, avx2, vnni256, avx512, avx512vnni or amxint8, then changes of single features, as in
  /// `avx512vnni,-avx512vbmi`; empty: OCTET_ISA, else the best one that the machine has.
  std::string isa = {};
  bool lower = true;   ///< false: the graph is lowered already
  bool integer = true; ///< false: lowering leaves Q and DQ in place and products float
  /// Sequences of different lengths lie one behind the other, without padding: for run_packed(), and
  /// with inputs as it has them for everything else. Session::create says why a model cannot do so.
  bool packed = false;
  /// Keeps weights that kernels packed a second time, as they are, so that lowered() can be run by
  /// other executors and written to files.
  bool keep_weights = false;
  /// Runs all parallel loops instead of threads of the session's own, none of which are started
  /// then; `threads` is not used. Its threads allocate scratch memory when they first work.
  ParallelForFn parallel_for = {};
};

class Session;

/// Bytes that a session takes; what its threads keep for their work is beside it.
struct SessionMemory {
  int64_t mapped =
      0; ///< of its weight store: pages that processes share, in memory as they are read
  int64_t packed = 0; ///< of weights in memory, which sessions of the process share
  int64_t constants =
      0;              ///< that are read as they are: in memory, or where the model's file is mapped
  int64_t arenas = 0; ///< of activations, in all contexts that there are
};

/// What the sizes that a context has seen made necessary, apart from the bodies of If, Loop and
/// Scan.
struct PlanCounts {
  int64_t plans = 0;    ///< 1 for all sizes, and 1 for each part that follows once data tells sizes
  int64_t bindings = 0; ///< of a plan to sizes; those of the last few are kept
  int64_t layouts = 0;  ///< of memory: made again when a value has no room where it was
};

/// How one node of the lowered graph will run.
struct PlannedNode {
  std::string node;   ///< label
  std::string kernel; ///< `igemm avx2`, `view`, `shape`, `bodies` (entries follow), or `reference`
  std::string why;    ///< for `reference`: why no kernel took it
  std::vector<std::string> origin;
  std::string op_type; ///< of the lowered graph
};

/// One thread's place to run a session: activations and plans. Not thread-safe; make one for each
/// thread that runs. Contexts of one session may run at the same time.
class SessionContext {
 public:
  SessionContext(SessionContext&&) noexcept;
  SessionContext& operator=(SessionContext&&) noexcept;
  ~SessionContext();

  /// One tensor for each graph input. The outputs are views into the context, valid until the next
  /// run or reserve. Allocates nothing for the shapes of the last eight runs that differed. Errors
  /// name the
  /// input with both types or shapes.
  Result<std::span<const Tensor>> run(std::span<const Tensor> inputs);
  /// The same into memory of the caller's: one place for each graph output, of just its size.
  /// Errors name the output with both sizes; nothing is written then.
  Status run(std::span<const Tensor> inputs, std::span<const std::span<std::byte>> outputs);
  /// Of a session that is `packed`: tokens of sequences one behind the other, those of sequence i
  /// from offsets[i] up to offsets[i + 1], at least one each; offsets begin with 0. `values`: one
  /// tensor [tokens] for each input of Session::lowered() but the last, which is `offsets`; these are
  /// the model's inputs without masks. Outputs of tokens are [tokens, ..], others [sequences, ..].
  /// Each sequence has the bits that it has alone, and in a padded batch with its mask.
  Result<std::span<const Tensor>> run_packed(std::span<const Tensor> values,
                                             std::span<const int64_t> offsets);
  /// As Executor::stream. The tensors lie in the context, which the tap may not run.
  Status stream(std::span<const Tensor> inputs, const OutputTap& tap);
  /// As Executor::stream_stored, likewise.
  Status stream_stored(std::span<const Tensor> inputs, const StoredTap& tap);
  /// Runs so many times, at least once, and gives the mean milliseconds of each node of
  /// Session::plan(): 0 for a node that takes no step of its own. Reading the clock adds some 50 ns
  /// to a step.
  Result<std::vector<double>> profile(std::span<const Tensor> inputs, int runs);
  /// Makes the plan, and room for inputs of these shapes, now rather than in the first run. All
  /// sizes share one plan and one block of memory, laid out for the largest that a value ever had.
  /// Inputs of other shapes are bound to it: what depends on their sizes is worked out anew, which
  /// takes microseconds a node and, where every value fits into its place, no more memory.
  /// Reserve the largest shapes first.
  Status reserve(std::span<const Shape> shapes);
  /// Size of that block.
  size_t arena_bytes() const;
  PlanCounts plan_counts() const;
  /// Session::plan() as it was in the last run or reserve: kernels that could be chosen only when
  /// sizes were known, in bodies too, and nodes whose values followed from sizes.
  std::vector<PlannedNode> plan() const;

 private:
  friend class Session;
  struct Impl;
  explicit SessionContext(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

class Session {
 public:
  /// Lowers, chooses kernels and packs weights. Errors: a graph that cannot be lowered, an
  /// instruction set that this machine lacks, a number of threads that is none. Where the system
  /// starts fewer threads the session has fewer, as threads() says; no result depends on it.
  static Result<Session> create(const Graph& graph, const SessionOptions& options = {});
  /// Of an ONNX file, or of the weight store that octet pack (octet/pack.h) made of it. A store
  /// beside the model, MODEL.octetpack, is used where it fits the model, this version of octet, the
  /// instruction set and the options; where it does not, the model is packed again and
  /// pack_warning() says why. Errors: as create, no such file, a store without its model that does
  /// not fit.
  static Result<Session> open(const std::string& path, const SessionOptions& options = {});

  SessionContext context() const;
  /// Runs in a context of the session's own and returns tensors that share nothing with it. Calls
  /// may coincide: there are as many contexts as calls ever did.
  Result<std::vector<Tensor>> run(std::span<const Tensor> inputs);
  /// As Executor::stream, in a context of the session's own. Calls may coincide, also within each
  /// other: the tap may run the session.
  Status stream(std::span<const Tensor> inputs, const OutputTap& tap);
  Status stream_stored(std::span<const Tensor> inputs, const StoredTap& tap);

  /// The graph that runs. Without `keep_weights` large constants that were packed are released: they
  /// keep type and shape, and executors and writers refuse the graph.
  const Graph& lowered() const;
  const std::vector<PlannedNode>& plan() const;
  SessionMemory memory() const;
  /// Path of the weight store that the session runs from; empty: it packed its weights itself.
  const std::string& pack() const;
  /// Why a weight store that was there is not used, and what to do; empty: nothing is wrong.
  const std::string& pack_warning() const;
  std::string_view isa() const;
  /// Threads of its own, the caller's included; 1 with a `parallel_for`.
  int threads() const;

  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();

 private:
  friend class SessionContext;
  struct Impl;
  explicit Session(std::shared_ptr<Impl> impl);
  static Result<Session> prepare(const Graph& graph, const SessionOptions& options);
  static Result<Session> open_model(const std::string& path, const SessionOptions& options);
  SessionContext take_idle();
  void give_back(SessionContext context);
  std::shared_ptr<Impl> impl_;
};

/// The native executor behind the general interface.
std::unique_ptr<Executor> make_native_executor(Session session);
/// The same of a new session. With SessionOptions::packed it takes padded batches with their mask as
/// ever, and runs those whose padding comes last without it; outputs of padding are 0 then.
Result<std::unique_ptr<Executor>> make_native_executor(const Graph& graph,
                                                       const SessionOptions& options = {});

} // namespace octet
