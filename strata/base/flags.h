// The flags of a process, e.g. STRATA_DEBUG: one row each in flags.def, read from the environment once, at first use.
//
//   if (flags::DEBUG.get() >= 5) ...
//   ScopedFlag quiet(flags::DEBUG, 0);   // until the end of the scope
//
// A debug flag never changes a result. Flags exist before any constructor runs and until the process has ended, so
// objects at namespace scope may use them. Any thread may call anything here. An override holds for the whole process:
// overrides of one flag that overlap in time without nesting leave the value that was restored last.
#pragma once

#include "strata/base/standard.h"

#include <atomic>
#include <concepts>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace strata {

/// The common part of all flags, which `strata flags` lists.
class FlagBase {
 public:
  FlagBase(const FlagBase&) = delete;
  FlagBase& operator=(const FlagBase&) = delete;

  std::string_view name() const { return name_; }            ///< "DEBUG"
  std::string_view type_name() const { return type_name_; }  ///< "Int", "Bool" or "Text"
  std::string_view help() const { return help_; }
  std::string environment_name() const;  ///< "STRATA_DEBUG"

  virtual std::string default_text() const = 0;
  /// The current value as text. @throws Error as get() does.
  virtual std::string value_text() const = 0;

 protected:
  constexpr FlagBase(std::string_view name, std::string_view type_name, std::string_view help)
      : name_(name), type_name_(type_name), help_(help) {}
  ~FlagBase() = default;

 private:
  std::string_view name_;
  std::string_view type_name_;
  std::string_view help_;
};

/// A flag of type T: std::int64_t, bool or std::string.
template <class T>
class Flag final : public FlagBase {
 public:
  /// The type of the default: a literal type.
  using Default = std::conditional_t<std::is_same_v<T, std::string>, std::string_view, T>;

  constexpr Flag(std::string_view name, std::string_view type_name, Default default_value, std::string_view help)
      : FlagBase(name, type_name, help), default_(default_value) {}

  /// The current value: the innermost override, else the environment's value, else the default. A number or truth value
  /// that was read before takes no lock.
  /// @throws Error (domain) that names the variable when the environment holds text that is not a T.
  T get() const;
  /// True iff the value is a non-empty text. Takes no lock after the first read.
  bool has_text() const
    requires std::same_as<T, std::string>
  {
    if (is_quick_.load(std::memory_order_acquire)) return quick_.load(std::memory_order_relaxed);
    return !get().empty();
  }
  /// Sets the value and returns the previous one. Prefer ScopedFlag.
  T exchange(T value);

  std::string default_text() const override;
  std::string value_text() const override;

 private:
  friend struct FlagsAtFork;
  T& known_value() const;  // @pre mutex_ is held

  void note_known(const T& value) const;  // @pre mutex_ is held

  /// The part of the value that is read without a lock: the value itself, or for a text whether it is non-empty.
  using Quick = std::conditional_t<std::is_same_v<T, std::string>, bool, T>;

  Default default_;
  mutable std::mutex mutex_;
  mutable std::optional<T> value_;  // the current value; empty before the first read
  mutable std::atomic<Quick> quick_{};
  mutable std::atomic<bool> is_quick_{false};  // true once quick_ reflects value_
};

/// Overrides a flag until the end of the scope.
template <class T>
class ScopedFlag {
 public:
  ScopedFlag(Flag<T>& flag, T value) : flag_(flag), before_(flag.exchange(std::move(value))) {}
  ~ScopedFlag() { flag_.exchange(std::move(before_)); }
  ScopedFlag(const ScopedFlag&) = delete;
  ScopedFlag& operator=(const ScopedFlag&) = delete;

 private:
  Flag<T>& flag_;
  T before_;
};
template <class T, class U>
ScopedFlag(Flag<T>&, U) -> ScopedFlag<T>;

namespace flags {

using Int = std::int64_t;
using Bool = bool;
using Text = std::string;

#define STRATA_FLAG(name, type, default_value, help) extern Flag<type>& name;
#include "strata/base/flags.def"

/// All flags, in the order of flags.def.
std::span<const FlagBase* const> all();

}  // namespace flags
}  // namespace strata
