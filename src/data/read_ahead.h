// SPDX-License-Identifier: Apache-2.0
// Things that are made one after the other on a thread of their own, some before they are asked
// for: while one batch is trained on, the next ones are read.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

#include "octet/result.h"

namespace octet {

/// Item k is what make(k) returns, for k = 0 .. count - 1, in that order, and never two at a time.
/// At most `ahead` of them wait to be asked for. The first error ends it; what `make` throws is one.
template <class T>
class ReadAhead {
 public:
  using Make = std::function<Result<T>(int64_t)>;

  ReadAhead(int64_t count, Make make, size_t ahead = 2)
      : count_(count), make_(std::move(make)), ahead_(ahead), thread_([this] { fill(); }) {}
  /// Waits for the item that is being made, and makes no more.
  ~ReadAhead() {
    {
      const std::scoped_lock lock(mutex_);
      stopped_ = true;
    }
    taken_.notify_one();
    thread_.join();
  }
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  /// The next item, as soon as it is there; to be called `count` times at most, and not after an
  /// error.
  Result<T> next() {
    std::unique_lock lock(mutex_);
    made_.wait(lock, [this] { return !waiting_.empty(); });
    Result<T> item = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    taken_.notify_one();
    return item;
  }

 private:
  void fill() {
    for (int64_t k = 0; k < count_; ++k) {
      {
        std::unique_lock lock(mutex_);
        taken_.wait(lock, [this] { return stopped_ || waiting_.size() < ahead_; });
        if (stopped_) return;
      }
      Result<T> item = made(k);
      const bool ends = !item.ok();
      {
        const std::scoped_lock lock(mutex_);
        waiting_.push_back(std::move(item));
      }
      made_.notify_one();
      if (ends) return;
    }
  }

  Result<T> made(int64_t k) const {
    try {
      return make_(k);
    } catch (const std::exception& e) {
      return Error(e.what(), ErrorCode::kInternal);
    }
  }

  const int64_t count_;
  const Make make_;
  const size_t ahead_;
  std::mutex mutex_;
  std::condition_variable made_, taken_;
  std::deque<Result<T>> waiting_;
  bool stopped_ = false;
  std::thread thread_; ///< last: it uses the others
};

} // namespace octet
