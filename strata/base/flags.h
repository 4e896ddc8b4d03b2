// The flags of a process: one row each in flags.def, read from the environment once, on first use.
//
//   if (flags::DEBUG.get() >= 5) ...
//   ScopedFlag quiet(flags::DEBUG, 0);   // until the end of the scope
//
// No debug flag changes a result. Flags are there before anything runs and until the process has ended: objects at namespace
// scope may use them when they are made and when they go. All of this may be used from any thread; an override is seen by the whole
// process, so overrides of one flag that overlap in time without nesting leave the value that was restored last.
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

/// What is common to all flags, and what `strata flags` lists.
class FlagBase {
 public:
  FlagBase(const FlagBase&) = delete;
  FlagBase& operator=(const FlagBase&) = delete;

  std::string_view name() const { return name_; }            ///< "DEBUG"
  std::string_view type_name() const { return type_name_; }  ///< "Int", "Bool" or "Text"
  std::string_view help() const { return help_; }
  std::string environment_name() const;  ///< "STRATA_DEBUG"

  virtual std::string default_text() const = 0;
  /// The value in force. @throws Error as get() does.
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
  /// What a default is given as: a literal.
  using Default = std::conditional_t<std::is_same_v<T, std::string>, std::string_view, T>;

  constexpr Flag(std::string_view name, std::string_view type_name, Default default_value,
                 std::string_view help)
      : FlagBase(name, type_name, help), default_(default_value) {}

  /// The value in force: the innermost override, else the environment's, else the default. A number or a truth value that was asked
  /// for before is told without a lock.
  /// @throws Error (domain) naming the variable when the environment holds text that is no T.
  T get() const;
  /// Whether the value is a text that is not empty, told as quickly as a number is.
  bool has_text() const
    requires std::same_as<T, std::string>
  {
    if (is_quick_.load(std::memory_order_acquire)) return quick_.load(std::memory_order_relaxed);
    return !get().empty();
  }
  /// Puts `value` in force and returns what was before. Prefer ScopedFlag.
  T exchange(T value);

  std::string default_text() const override;
  std::string value_text() const override;

 private:
  friend struct FlagsAtFork;
  T& known_value() const;  // @pre mutex_ is held

  void note_known(const T& value) const;  // @pre mutex_ is held

  /// What is told without a lock: of a text, whether there is one.
  using Quick = std::conditional_t<std::is_same_v<T, std::string>, bool, T>;

  Default default_;
  mutable std::mutex mutex_;
  mutable std::optional<T> value_;  // in force; none before it was asked for
  mutable std::atomic<Quick> quick_{};
  mutable std::atomic<bool> is_quick_{false};  // quick_ says what value_ is
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
