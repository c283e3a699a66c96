// SPDX-License-Identifier: Apache-2.0
// Result<T>: a value or an Error with a chain of context. Every recoverable failure of octet is
// one.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace octet {

/// What kind of failure it is; the command line maps it to an exit code.
enum class ErrorCode {
  kInvalid,     ///< bad input or usage: exit 2
  kUnsupported, ///< well formed, but octet has no way to do it: exit 2
  kNotFound,    ///< a file or a name is missing: exit 2
  kRefused,     ///< the answer is "no": exit 1
  kCancelled,   ///< stopped by the user
  kInternal,    ///< a broken promise of octet's own: exit 3
};

/// A message (lower case, no full stop, naming the thing and the way out) and where it happened,
/// outermost context last.
class Error {
 public:
  explicit Error(std::string message, ErrorCode code = ErrorCode::kInvalid)
      : code_(code), message_(std::move(message)) {}

  ErrorCode code() const { return code_; }
  const std::string& message() const { return message_; }
  const std::vector<std::string>& context() const { return context_; }

  /// Adds one outer frame, for example `node "conv1"`.
  Error with(std::string frame) && {
    context_.push_back(std::move(frame));
    return std::move(*this);
  }
  /// `outer: inner: message`.
  std::string text() const {
    std::string out;
    for (size_t i = context_.size(); i-- > 0;)
      out += context_[i] + ": ";
    return out + message_;
  }

 private:
  ErrorCode code_;
  std::string message_;
  std::vector<std::string> context_;
};

/// The value type of functions that succeed without a value.
struct Unit {};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {} // NOLINT(google-explicit-constructor)
  /// `return {};` where success has no value: a Status alone.
  Result() requires std::is_same_v<T, Unit> : value_(Unit{}) {}
  Result(Error error) : error_(std::move(error)) {} // NOLINT(google-explicit-constructor)

  bool ok() const { return value_.has_value(); }
  explicit operator bool() const { return ok(); }

  /// The value; calling it on an error is a programmer error and aborts with the error's text.
  T& value() & { return checked(); }
  const T& value() const& { return const_cast<Result*>(this)->checked(); }
  T&& value() && { return std::move(checked()); }
  T& operator*() & { return checked(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(checked()); }
  T* operator->() { return &checked(); }
  const T* operator->() const { return &value(); }

  const Error& error() const& { return *error_; }
  Error&& error() && { return std::move(*error_); }

  /// Adds a frame of context to the error, if it is one.
  Result with(std::string frame) && {
    if (error_) error_ = std::move(*error_).with(std::move(frame));
    return std::move(*this);
  }

 private:
  T& checked() {
    if (!value_) {
      std::fprintf(stderr, "value() on an error: %s\n", error_->text().c_str());
      std::abort();
    }
    return *value_;
  }
  std::optional<T> value_;
  std::optional<Error> error_;
};

using Status = Result<Unit>;
inline Status ok_status() {
  return Unit{};
}

namespace detail {
[[noreturn]] void check_failed(const char* file, int line, const std::string& what);
} // namespace detail

} // namespace octet

/// The value of a Result, or a return of its error from the enclosing function. One may stand in
/// the argument of another.
#define OCTET_TRY(...) OCTET_TRY_AS_(OCTET_TRY_NAME_(__COUNTER__), , __VA_ARGS__)

/// The same with a frame of context; `frame` is evaluated only on failure.
#define OCTET_TRY_WITH(result, frame)                                                              \
  OCTET_TRY_AS_(OCTET_TRY_NAME_(__COUNTER__), .with(frame), result)

#define OCTET_TRY_AS_(name, context, ...)                                                          \
  __extension__({                                                                                  \
    auto name = (__VA_ARGS__);                                                                     \
    if (!name.ok()) return std::move(name).error() context;                                        \
    std::move(name).value();                                                                       \
  })
// A name of its own, so that nothing is shadowed.
#define OCTET_TRY_NAME_(number) OCTET_TRY_JOIN_(octet_try_, number)
#define OCTET_TRY_JOIN_(a, b) a##b
