// Status and Result<T>: how every function inside plait says what went wrong. No exceptions cross a boundary.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace plait {

// The codes are those of plait_status in plait.h, value for value (checked there by static_assert).
enum class Code : int32_t {
  ok = 0,
  invalid = -1,      // an argument is wrong; nothing was changed
  memory = -2,       // out of memory, or a memory limit
  system = -3,       // the operating system refused a call
  unsupported = -4,  // known, but not available here or not in this version
  timeout = -5,      // a deadline passed
  peer = -6,         // a peer died, or its link did
  mismatch = -7,     // ranks called different things
  aborted = -8,      // the communicator was aborted
  state = -9,        // the call is not allowed now
  version = -10,     // the other side speaks another version
  auth = -11,        // the other side is not who it should be
  internal = -12,    // a bug in plait
};

// Short name of a code ("timeout"); never null.
std::string_view code_name(Code code) noexcept;

// A code, and for errors a sentence that says what happened, to whom, in which phase, and what to try.
// ok() costs nothing; copying an error shares its text.
class [[nodiscard]] Status {
 public:
  Status() noexcept = default;
  Status(Code code, std::string text)
      : code_(code), text_(std::make_shared<const std::string>(std::move(text))) {}
  explicit Status(Code code) noexcept : code_(code) {}
  // A failed system call: "TEXT: strerror(error)".
  static Status system(int error, std::string_view text);

  bool ok() const noexcept { return code_ == Code::ok; }
  explicit operator bool() const noexcept { return ok(); }
  Code code() const noexcept { return code_; }
  // The sentence, or the code's name where there is none.
  std::string_view text() const noexcept { return text_ ? std::string_view(*text_) : code_name(code_); }

 private:
  Code code_ = Code::ok;
  std::shared_ptr<const std::string> text_;
};

// A value or the Status that says why there is none. Ask ok() before value().
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}          // NOLINT(google-explicit-constructor)
  Result(Status status) : status_(std::move(status)) {}  // NOLINT(google-explicit-constructor)
  bool ok() const noexcept { return value_.has_value(); }
  explicit operator bool() const noexcept { return ok(); }
  const Status& status() const noexcept { return status_; }
  T& value() & noexcept { return *value_; }
  const T& value() const& noexcept { return *value_; }
  T&& value() && noexcept { return std::move(*value_); }
  T& operator*() & noexcept { return *value_; }
  const T& operator*() const& noexcept { return *value_; }
  T* operator->() noexcept { return &*value_; }
  const T* operator->() const noexcept { return &*value_; }

 private:
  std::optional<T> value_;
  Status status_;
};

// Returns the error of `expression` (a Status) from the calling function.
#define PLAIT_TRY(expression)                            \
  do {                                                   \
    ::plait::Status plait_try_status = (expression);     \
    if (!plait_try_status.ok()) return plait_try_status; \
  } while (0)

}  // namespace plait
