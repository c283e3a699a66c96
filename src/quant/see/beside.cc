// SPDX-License-Identifier: Apache-2.0
#include "quant/see/beside.h"

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>

#include "core/format.h"

namespace octet {

namespace {

/// Where the two runs meet.
class Meeting {
 public:
  Meeting(const PairTap& tap, const CancelToken* cancel) : tap_(tap), cancel_(cancel) {}

  /// Value of one side of a pair. Returns when the other side came, or when it waits elsewhere.
  Status arrive(size_t side, size_t pair, const Tensor& value) {
    std::unique_lock lock(mutex_);
    if (cancel_ != nullptr && cancel_->cancelled() && failed_.ok())
      failed_ = Error("stopped by the user", ErrorCode::kCancelled);
    if (!failed_.ok()) return leave();
    if (const auto kept = kept_.extract(pair)) return hand_over(side, pair, value, kept.mapped());
    State &own = states_[side], &other = states_[1 - side];
    if (other.waiting && other.pair == pair) {
      Status done = hand_over(side, pair, value, *other.value);
      other.waiting = false;
      changed_.notify_all();
      return done;
    }
    // The other side waits for another value, or will never come to this one: nobody could go on.
    if (other.waiting || other.ended) {
      kept_.emplace(pair, value.clone());
      return ok_status();
    }
    own = {true, false, pair, &value};
    changed_.notify_all();
    changed_.wait(lock,
                  [&] { return !own.waiting || other.waiting || other.ended || !failed_.ok(); });
    if (!failed_.ok()) return leave();
    if (!own.waiting) return ok_status(); // taken
    own.waiting = false;
    kept_.emplace(pair, value.clone());
    return ok_status();
  }

  void end(size_t side, Status status) {
    const std::lock_guard lock(mutex_);
    states_[side].ended = true;
    states_[side].waiting = false;
    if (!status.ok() && failed_.ok()) failed_ = std::move(status);
    changed_.notify_all();
  }

  Status result() { return std::move(failed_); }

 private:
  struct State {
    bool waiting = false, ended = false;
    size_t pair = 0;
    const Tensor* value = nullptr;
  };

  Status hand_over(size_t side, size_t pair, const Tensor& value, const Tensor& other) {
    Status done = side == 0 ? tap_(pair, value, other) : tap_(pair, other, value);
    if (done.ok()) return done;
    failed_ = std::move(done);
    changed_.notify_all();
    return leave();
  }
  /// Ends a run whose error is not its own.
  static Status leave() { return Error("the other run ended", ErrorCode::kCancelled); }

  const PairTap& tap_;
  const CancelToken* cancel_;
  std::mutex mutex_;
  std::condition_variable changed_;
  State states_[2];
  std::map<size_t, Tensor> kept_;
  Status failed_ = ok_status();
};

Status
run_side(RunBeside::Side& side, size_t which, std::span<const Tensor> inputs, Meeting& meeting) {
  for (const auto& [pair, input] : side.given)
    OCTET_TRY(meeting.arrive(which, pair, inputs[input]));
  if (!side.executor) return ok_status();
  return side.executor->stream(inputs, [&](size_t output, const Tensor& value) -> Status {
    for (const size_t pair : side.pairs[output])
      OCTET_TRY(meeting.arrive(which, pair, value));
    return ok_status();
  });
}

Result<RunBeside::Side>
make_side(Graph graph, std::span<const ValueId> values, const ExecutorFactory& make) {
  RunBeside::Side out;
  std::vector<ValueId> outputs;
  for (size_t pair = 0; pair < values.size(); ++pair) {
    const auto& inputs = graph.inputs();
    const auto input = std::find(inputs.begin(), inputs.end(), values[pair]);
    if (input != inputs.end()) {
      out.given.emplace_back(pair, static_cast<size_t>(input - inputs.begin()));
      continue;
    }
    const auto known = std::find(outputs.begin(), outputs.end(), values[pair]);
    const auto at = static_cast<size_t>(known - outputs.begin());
    if (known == outputs.end()) {
      outputs.push_back(values[pair]);
      out.pairs.emplace_back();
    }
    out.pairs[at].push_back(pair);
  }
  if (outputs.empty()) return out;
  graph.set_outputs(std::move(outputs));
  graph.remove_dead();
  out.executor = OCTET_TRY(make ? make(graph) : make_reference_executor(graph));
  return out;
}

} // namespace

Result<RunBeside> RunBeside::create(const Graph& first,
                                    const Graph& second,
                                    std::span<const std::pair<ValueId, ValueId>> pairs,
                                    const ExecutorFactory& make) {
  std::vector<ValueId> ids[2];
  for (const auto& [a, b] : pairs) {
    ids[0].push_back(a);
    ids[1].push_back(b);
  }
  RunBeside out;
  out.sides_[0] = OCTET_TRY_WITH(make_side(first, ids[0], make), "the float model");
  out.sides_[1] = OCTET_TRY_WITH(make_side(second, ids[1], make), "the quantized model");
  return out;
}

Status
RunBeside::run(std::span<const Tensor> inputs, const PairTap& tap, const CancelToken* cancel) {
  Meeting meeting(tap, cancel);
  std::thread other;
  try {
    other = std::thread([&] { meeting.end(1, run_side(sides_[1], 1, inputs, meeting)); });
  } catch (const std::system_error& e) {
    return error("no thread for the second run: {}", e.what());
  }
  meeting.end(0, run_side(sides_[0], 0, inputs, meeting));
  other.join();
  return meeting.result();
}

} // namespace octet
