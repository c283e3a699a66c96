// SPDX-License-Identifier: Apache-2.0
#include "octet/session.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <exception>
#include <mutex>
#include <new>
#include <optional>
#include <utility>

#include "core/cpu.h"
#include "core/format.h"
#include "core/fp_env.h"
#include "core/pages.h"
#include "core/released.h"
#include "ops/native/segments.h"
#include "runtime/model_pack.h"
#include "runtime/packed_executor.h"
#include "runtime/packs.h"
#include "runtime/plan.h"
#include "runtime/slot.h"
#include "runtime/workers.h"

#include "octet/onnx.h"

namespace octet {
namespace {

constexpr size_t kKernelAlignment = 64;

Status check_fed(const Value& v, const Tensor& t) {
  const auto wrong = [&] {
    return error("input \"{}\": the model wants {} but got {}{}", v.name, v.type.text(),
                 name(t.type()), to_string(t.shape()));
  };
  if (t.empty()) return error("input \"{}\": no tensor was given", v.name);
  if (t.type() != v.type.type) return wrong();
  if (!v.type.shape) return ok_status();
  if (v.type.rank() != t.rank()) return wrong();
  for (size_t i = 0; i < v.type.shape->size(); ++i) {
    const Dim& d = (*v.type.shape)[i];
    if (d.is_constant() && d.value() != t.shape()[i]) return wrong();
  }
  return ok_status();
}

constexpr std::string_view kUseSmallerBatch = "no memory left for the run; use a smaller batch";

/// Calls `fn`, which returns a Result, and turns what it throws into an error: memory that is not
/// there, on this thread or in a worker, or what the caller's own scheduler threw.
template <class Fn>
auto guarded(std::string_view no_memory, Fn&& fn) -> decltype(fn()) {
  try {
    return fn();
  } catch (const std::bad_alloc&) {
    return Error(std::string(no_memory));
  } catch (const std::exception& e) {
    return error(ErrorCode::kInternal, "an exception was thrown: {}", e.what());
  }
}

} // namespace

struct Session::Impl {
  std::shared_ptr<const runtime::PreparedGraph> prepared;
  std::unique_ptr<runtime::Workers> workers;
  Isa isa = Isa::kScalar;
  bool packed = false; ///< the last input are the offsets of sequences
  std::string pack, pack_warning;
  int64_t mapped = 0;
  std::atomic<int64_t> arenas = 0; ///< bytes of all contexts
  /// Contexts of the session's own that nobody runs at the moment. They point back at it.
  std::mutex idle_mutex;
  std::vector<SessionContext> idle;
};

struct SessionContext::Impl {
  explicit Impl(std::shared_ptr<Session::Impl> of) : session(std::move(of)) {}
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() { session->arenas -= counted; }

  std::shared_ptr<Session::Impl> session;
  int64_t counted = 0;               ///< of this one in Session::Impl::arenas
  std::optional<runtime::Plan> plan; ///< made when sizes are first told
  /// Bytes of the inputs of a run; copies of those that are not aligned.
  std::vector<const std::byte*> inputs;
  std::vector<std::shared_ptr<Buffer>> aligned;
  /// The workers have the scratch memory that the plans need.
  bool settled = false;
  std::vector<Tensor> packed_inputs; ///< of a packed run

  /// For inputs or shapes, which the graph has as many of.
  template <class T>
  Result<runtime::Binding*> at(std::span<const T> sizes, runtime::Outputs outputs) {
    if (!plan) plan.emplace(session->prepared);
    const int64_t before = plan->counts().bindings;
    runtime::Binding* found = OCTET_TRY(plan->at(sizes, outputs));
    const auto arena = static_cast<int64_t>(plan->arena_bytes());
    session->arenas += arena - std::exchange(counted, arena);
    settled = settled && plan->counts().bindings == before;
    return found;
  }

  Status check(std::span<const Tensor> given) const {
    const Graph& g = session->prepared->graph;
    if (given.size() != g.inputs().size())
      return error("the model has {} inputs but got {}", g.inputs().size(), given.size());
    for (size_t i = 0; i < given.size(); ++i)
      OCTET_TRY(check_fed(g.value(g.inputs()[i]), given[i]));
    return ok_status();
  }

  /// What comes before a run: inputs that fit, aligned, and a binding to their sizes.
  Result<runtime::Binding*> prepare(std::span<const Tensor> given, runtime::Outputs outputs) {
    OCTET_TRY(check(given));
    OCTET_TRY(align(given));
    return at(given, outputs);
  }

  /// Fills `inputs`.
  Status align(std::span<const Tensor> given) {
    inputs.resize(given.size());
    aligned.resize(given.size());
    for (size_t i = 0; i < given.size(); ++i) {
      const Tensor& t = given[i];
      inputs[i] = runtime::slot_of(t);
      if (t.type() == DType::kString || t.is_aligned(kKernelAlignment)) continue;
      std::shared_ptr<Buffer>& copy = aligned[i];
      const size_t size_bytes = t.bytes().size();
      if (!copy || copy->bytes().size() < size_bytes) copy = Buffer::allocate(size_bytes);
      if (!copy)
        return error("no memory for a copy of input {}, which is not aligned to 64 bytes", i);
      std::memcpy(copy->writable(), t.bytes().data(), size_bytes);
      inputs[i] = copy->writable();
    }
    return ok_status();
  }

  Result<std::span<const Tensor>> run(std::span<const Tensor> given) {
    runtime::Binding* binding = OCTET_TRY(prepare(given, runtime::Outputs::kKept));
    const FpEnvGuard guard;
    runtime::Workers& workers = *session->workers;
    const ThreadPool::KeepAwake awake(workers.own_pool());
    auto outputs = binding->run(inputs, workers.loop());
    if (outputs.ok() && !settled) workers.settle();
    settled = outputs.ok();
    return outputs;
  }

  Result<std::span<const Tensor>> run_packed(std::span<const Tensor> values,
                                             std::span<const int64_t> offsets) {
    const Graph& g = session->prepared->graph;
    if (!session->packed)
      return error("the session takes padded batches; create it with SessionOptions::packed");
    if (values.size() + 1 != g.inputs().size())
      return error("a packed run takes {} inputs and offsets but got {}", g.inputs().size() - 1,
                   values.size());
    OCTET_TRY(native::check_offsets(offsets, offsets.empty() ? 0 : offsets.back()));
    for (size_t i = 0; i < values.size(); ++i)
      if (values[i].rank() != 1 || values[i].dim(0) != offsets.back())
        return error("input \"{}\": {} tokens are offset but got {}{}", g.value(g.inputs()[i]).name,
                     offsets.back(), name(values[i].type()), to_string(values[i].shape()));
    packed_inputs.assign(values.begin(), values.end());
    packed_inputs.push_back(Tensor::of<int64_t>({std::ssize(offsets)}, offsets));
    return run(packed_inputs);
  }

  Result<std::vector<double>> profile(std::span<const Tensor> given, int runs) {
    const runtime::PreparedGraph& prepared = *session->prepared;
    std::vector<double> ms(prepared.planned.size(), 0.0);
    const int times = std::max(runs, 1);
    const double share = 1e-6 / times;
    OCTET_TRY(prepare(given, runtime::Outputs::kKept));
    plan->set_clock([&](NodeId node, std::chrono::nanoseconds took) {
      ms[prepared.planned_at[static_cast<size_t>(node.index)]] +=
          share * static_cast<double>(took.count());
    });
    Status status = ok_status();
    for (int i = 0; i < times && status.ok(); ++i) {
      const auto outputs = run(given);
      if (!outputs.ok()) status = outputs.error();
    }
    plan->set_clock({});
    OCTET_TRY(std::move(status));
    return ms;
  }

  Status stream(std::span<const Tensor> given, runtime::Outputs outputs, const StoredTap& tap) {
    runtime::Binding* binding = OCTET_TRY(prepare(given, outputs));
    const FpEnvGuard guard;
    // The workers may sleep while the tap works.
    return binding->stream(inputs, session->workers->loop(), tap);
  }
};

SessionContext::SessionContext(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
SessionContext::SessionContext(SessionContext&&) noexcept = default;
SessionContext& SessionContext::operator=(SessionContext&&) noexcept = default;
SessionContext::~SessionContext() = default;

Status SessionContext::reserve(std::span<const Shape> shapes) {
  if (shapes.size() != impl_->session->prepared->graph.inputs().size())
    return error("the model has {} inputs but got {} shapes",
                 impl_->session->prepared->graph.inputs().size(), shapes.size());
  return guarded(kUseSmallerBatch, [&]() -> Status {
    OCTET_TRY(impl_->at(shapes, runtime::Outputs::kKept));
    return ok_status();
  });
}

size_t SessionContext::arena_bytes() const {
  return impl_->plan ? impl_->plan->arena_bytes() : 0;
}

std::vector<PlannedNode> SessionContext::plan() const {
  return impl_->plan ? impl_->plan->planned() : impl_->session->prepared->planned;
}

PlanCounts SessionContext::plan_counts() const {
  return impl_->plan ? impl_->plan->counts() : PlanCounts{};
}

Result<std::span<const Tensor>> SessionContext::run(std::span<const Tensor> inputs) {
  return guarded(kUseSmallerBatch, [&] { return impl_->run(inputs); });
}

Result<std::span<const Tensor>> SessionContext::run_packed(std::span<const Tensor> values,
                                                           std::span<const int64_t> offsets) {
  return guarded(kUseSmallerBatch, [&] { return impl_->run_packed(values, offsets); });
}

Status SessionContext::stream(std::span<const Tensor> inputs, const OutputTap& tap) {
  const StoredTap in_order = [&](size_t output, const Tensor& value, std::span<const int64_t>) {
    return tap(output, value);
  };
  return guarded(kUseSmallerBatch,
                 [&] { return impl_->stream(inputs, runtime::Outputs::kHandedOver, in_order); });
}

Status SessionContext::stream_stored(std::span<const Tensor> inputs, const StoredTap& tap) {
  return guarded(kUseSmallerBatch,
                 [&] { return impl_->stream(inputs, runtime::Outputs::kHandedOverAsStored, tap); });
}

Result<std::vector<double>> SessionContext::profile(std::span<const Tensor> inputs, int runs) {
  return guarded(kUseSmallerBatch, [&] { return impl_->profile(inputs, runs); });
}

Status SessionContext::run(std::span<const Tensor> inputs,
                           std::span<const std::span<std::byte>> outputs) {
  const Graph& g = impl_->session->prepared->graph;
  if (outputs.size() != g.outputs().size())
    return error("the model has {} outputs but got {} places for them", g.outputs().size(),
                 outputs.size());
  const std::span<const Tensor> results = OCTET_TRY(run(inputs));
  for (size_t i = 0; i < results.size(); ++i)
    if (results[i].bytes().size() != outputs[i].size())
      return error("output \"{}\": {}{} takes {} bytes but got a place for {}",
                   g.value(g.outputs()[i]).name, name(results[i].type()),
                   to_string(results[i].shape()), results[i].bytes().size(), outputs[i].size());
  for (size_t i = 0; i < results.size(); ++i)
    std::copy(results[i].bytes().begin(), results[i].bytes().end(), outputs[i].begin());
  return ok_status();
}

Session::Session(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&& other) noexcept {
  std::swap(impl_, other.impl_);
  return *this;
}

Session::~Session() {
  if (impl_) impl_->idle.clear();
}

Result<Session> Session::create(const Graph& graph, const SessionOptions& options) {
  return guarded("no memory left for the packed weights; free some, or use a smaller model",
                 [&] { return prepare(graph, options); });
}

Result<Session> Session::prepare(const Graph& graph, const SessionOptions& options) {
  auto impl = std::make_shared<Impl>();
  impl->isa = OCTET_TRY(isa_or_selected(options.isa));
  OCTET_TRY(check_threads(options.threads));
  impl->packed = options.packed;
  impl->prepared =
      OCTET_TRY(runtime::prepare_graph(OCTET_TRY(runtime::ready_graph(graph, options)),
                                       {.isa = impl->isa, .keep_weights = options.keep_weights}));
  give_back_freed_memory(); // what lowering made and packing released
  impl->workers = runtime::make_workers(options);
  return Session(std::move(impl));
}

Result<Session> Session::open(const std::string& path, const SessionOptions& options) {
  return guarded("no memory left for the weights; free some, or use a smaller model",
                 [&] { return open_model(path, options); });
}

Result<Session> Session::open_model(const std::string& path, const SessionOptions& options) {
  const Isa isa = OCTET_TRY(isa_or_selected(options.isa));
  OCTET_TRY(check_threads(options.threads));
  runtime::FoundModel found = OCTET_TRY(runtime::find_model(path, isa, options));
  if (found.stored) {
    const runtime::StoredModel& stored = *found.stored;
    auto prepared = runtime::prepare_graph(stored.graph(), {.isa = isa, .store = stored.packs()});
    Status status = stored.check_found();
    if (status.ok() && !prepared.ok()) status = prepared.error();
    if (status.ok()) {
      auto impl = std::make_shared<Impl>();
      impl->isa = isa;
      impl->prepared = *std::move(prepared);
      impl->pack = found.pack;
      impl->mapped = stored.bytes();
      impl->workers = runtime::make_workers(options);
      return Session(std::move(impl));
    }
    if (found.model.empty()) return Error(status.error()).with(found.pack);
    found.why_not = runtime::repack_hint(found, status.error().text());
  }
  Session session =
      OCTET_TRY_WITH(prepare(OCTET_TRY(load_onnx(found.model)), options), found.model);
  session.impl_->pack_warning = found.why_not;
  return session;
}

SessionContext Session::context() const {
  return SessionContext(std::make_unique<SessionContext::Impl>(impl_));
}

Result<std::vector<Tensor>> Session::run(std::span<const Tensor> inputs) {
  return guarded(kUseSmallerBatch, [&]() -> Result<std::vector<Tensor>> {
    // No lock is held during the run: the caller's scheduler may start another one on this thread.
    SessionContext mine = take_idle();
    const auto outputs = mine.run(inputs);
    std::vector<Tensor> copies;
    if (outputs.ok())
      for (const Tensor& t : *outputs)
        copies.push_back(t.clone());
    give_back(std::move(mine));
    if (!outputs.ok()) return outputs.error();
    return copies;
  });
}

Status Session::stream(std::span<const Tensor> inputs, const OutputTap& tap) {
  return guarded(kUseSmallerBatch, [&] {
    SessionContext mine = take_idle();
    Status status = mine.stream(inputs, tap);
    give_back(std::move(mine));
    return status;
  });
}

Status Session::stream_stored(std::span<const Tensor> inputs, const StoredTap& tap) {
  return guarded(kUseSmallerBatch, [&] {
    SessionContext mine = take_idle();
    Status status = mine.stream_stored(inputs, tap);
    give_back(std::move(mine));
    return status;
  });
}

SessionContext Session::take_idle() {
  const std::lock_guard lock(impl_->idle_mutex);
  if (impl_->idle.empty()) return context();
  SessionContext last = std::move(impl_->idle.back());
  impl_->idle.pop_back();
  return last;
}

void Session::give_back(SessionContext context) {
  const std::lock_guard lock(impl_->idle_mutex);
  impl_->idle.push_back(std::move(context));
}

const Graph& Session::lowered() const {
  return impl_->prepared->graph;
}
const std::vector<PlannedNode>& Session::plan() const {
  return impl_->prepared->planned;
}
SessionMemory Session::memory() const {
  SessionMemory out;
  const runtime::PreparedGraph& prepared = *impl_->prepared;
  out.mapped = impl_->mapped;
  out.packed = prepared.packed_bytes;
  out.arenas = impl_->arenas;
  for (const Tensor& t : prepared.constants)
    if (!is_released(t) && !(prepared.store && prepared.store->holds(t)))
      out.constants += static_cast<int64_t>(t.bytes().size());
  return out;
}
const std::string& Session::pack() const {
  return impl_->pack;
}
const std::string& Session::pack_warning() const {
  return impl_->pack_warning;
}
std::string_view Session::isa() const {
  return isa_name(impl_->isa);
}
int Session::threads() const {
  return impl_->workers->loop().threads();
}

namespace {

class NativeExecutor final : public Executor {
 public:
  explicit NativeExecutor(Session session) : session_(std::move(session)) {}
  Result<std::vector<Tensor>> run(std::span<const Tensor> inputs) override {
    return session_.run(inputs);
  }
  Status stream(std::span<const Tensor> inputs, const OutputTap& tap) override {
    return session_.stream(inputs, tap);
  }
  Status stream_stored(std::span<const Tensor> inputs, const StoredTap& tap) override {
    return session_.stream_stored(inputs, tap);
  }

 private:
  Session session_;
};

} // namespace

std::unique_ptr<Executor> make_native_executor(Session session) {
  return std::make_unique<NativeExecutor>(std::move(session));
}

Result<std::unique_ptr<Executor>> make_native_executor(const Graph& graph,
                                                       const SessionOptions& options) {
  if (options.packed) return runtime::make_packed_executor(graph, options);
  return make_native_executor(OCTET_TRY(Session::create(graph, options)));
}

} // namespace octet
