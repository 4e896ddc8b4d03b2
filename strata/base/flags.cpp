// Reads flags from the environment, and defines the table of all flags.
#include "strata/base/flags.h"

#include <array>
#include <charconv>
#include <cstdlib>
#include <type_traits>
#include <utility>

#include "strata/base/check.h"
#include "strata/base/fork.h"

namespace strata {
namespace {

bool parse_flag(std::string_view text, std::int64_t& out) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, out);
  return error == std::errc() && stop == end;
}

bool parse_flag(std::string_view text, bool& out) {
  for (const std::string_view word : {"1", "true", "yes", "on"}) {
    if (text == word) return out = true;
  }
  for (const std::string_view word : {"0", "false", "no", "off"}) {
    if (text == word) {
      out = false;
      return true;
    }
  }
  return false;
}

[[maybe_unused]] bool parse_flag(std::string_view text, std::string& out) {
  out = text;
  return true;
}

std::string text_of(std::int64_t value) { return std::to_string(value); }
std::string text_of(bool value) { return value ? "1" : "0"; }
std::string text_of(std::string_view value) { return std::string(value); }

std::string_view expected(std::int64_t) { return "an integer of 64 bits"; }
std::string_view expected(bool) { return "0, 1, false, true, no, yes, off or on"; }
std::string_view expected(std::string_view) { return "a text"; }

}  // namespace

std::string FlagBase::environment_name() const { return "STRATA_" + std::string(name_); }

template <class T>
T& Flag<T>::known_value() const {
  if (value_) return *value_;
  const std::string variable = environment_name();
  const char* text = std::getenv(variable.c_str());
  T value(default_);
  if (text != nullptr && *text != '\0' && !parse_flag(text, value)) {
    throw Error(ErrorKind::domain, "[flags] the environment has " + variable + "='" + text + "', which is not " +
                                       std::string(expected(default_)));
  }
  note_known(value);
  return value_.emplace(std::move(value));
}

template <class T>
void Flag<T>::note_known(const T& value) const {
  if constexpr (std::is_same_v<T, std::string>)
    quick_.store(!value.empty(), std::memory_order_relaxed);
  else
    quick_.store(value, std::memory_order_relaxed);
  is_quick_.store(true, std::memory_order_release);
}

template <class T>
T Flag<T>::get() const {
  if constexpr (!std::is_same_v<T, std::string>)
    if (is_quick_.load(std::memory_order_acquire)) return quick_.load(std::memory_order_relaxed);
  const std::lock_guard lock(mutex_);
  return known_value();
}

template <class T>
T Flag<T>::exchange(T value) {
  const std::lock_guard lock(mutex_);
  T& known = known_value();
  note_known(value);
  return std::exchange(known, std::move(value));
}

template <class T>
std::string Flag<T>::default_text() const {
  return text_of(default_);
}

template <class T>
std::string Flag<T>::value_text() const {
  return text_of(get());
}

template class Flag<std::int64_t>;
template class Flag<bool>;
template class Flag<std::string>;

namespace flags {
namespace {

/// A flag that is never destroyed. NOTE: it is constant-initialized, so constructors of objects at namespace scope may
/// use it in any order.
template <class T>
union Lasting {
  template <class... Texts>
  constexpr explicit Lasting(const Texts&... texts) : flag(texts...) {}
  constexpr ~Lasting() { /* defaulted, it would be deleted */ }
  Flag<T> flag;
};

#define STRATA_FLAG(name, type, default_value, help) \
  constinit Lasting<type> lasting_##name(#name, #type, default_value, help);
#include "strata/base/flags.def"

}  // namespace

#define STRATA_FLAG(name, type, default_value, help) constinit Flag<type>& name = lasting_##name.flag;
#include "strata/base/flags.def"

std::span<const FlagBase* const> all() {
  static constexpr std::array table = {
#define STRATA_FLAG(name, type, default_value, help) static_cast<const FlagBase*>(&lasting_##name.flag),
#include "strata/base/flags.def"
  };
  return table;
}

}  // namespace flags

/// Locks all flags for a fork. A thread holds the lock of one flag at a time, so the order does not matter.
struct FlagsAtFork {
  static void before() {
#define STRATA_FLAG(name, type, default_value, help) flags::name.mutex_.lock();
#include "strata/base/flags.def"
  }
  static void after() {
#define STRATA_FLAG(name, type, default_value, help) flags::name.mutex_.unlock();
#include "strata/base/flags.def"
  }
};

namespace {
const ForkHook flags_hook(ForkOrder::flags, &FlagsAtFork::before, &FlagsAtFork::after);
}  // namespace
}  // namespace strata
