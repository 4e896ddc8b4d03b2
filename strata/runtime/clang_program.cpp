#include "strata/runtime/clang_program.h"

#include <utility>

#include "strata/base/check.h"
#include "strata/runtime/shared_object.h"

namespace strata {
namespace {

using Caller = void (*)(void* function, std::span<void* const> pointers);

template <std::size_t>
using Pointer = void*;

/// A function that calls `function` with sizeof...(I) pointers.
template <std::size_t... I>
constexpr Caller caller(std::index_sequence<I...>) {
  return [](void* function, [[maybe_unused]] std::span<void* const> pointers) {
    reinterpret_cast<void (*)(Pointer<I>...)>(function)(pointers[I]...);
  };
}

template <std::size_t... N>
constexpr auto callers(std::index_sequence<N...>) {
  return std::array<Caller, sizeof...(N)>{caller(std::make_index_sequence<N>())...};
}

/// kCallers[n] calls a function of n pointers.
constexpr auto kCallers = callers(std::make_index_sequence<ClangProgram::kMostPointers + 1>());

}  // namespace

ClangProgram::ClangProgram(std::string name, std::span<const std::byte> object, bool polls)
    : name_(std::move(name)),
      object_(SharedObject::load(object)),
      entry_(reinterpret_cast<Entry>(object_->find(name_ + "_entry"))),
      polls_(polls) {
  if (entry_ == nullptr) function_ = object_->function<void*>(name_);
}

void ClangProgram::call(std::span<void* const> buffers, std::span<const std::int64_t> values) const {
  if (entry_ != nullptr) return entry_(buffers.data(), reinterpret_cast<const long long*>(values.data()));
  STRATA_CHECK(buffers.size() <= kMostPointers && values.empty(), shape, "[call] ", name_, " without ", name_,
               "_entry takes up to ", kMostPointers, " buffers and no values, not ", buffers.size(), " and ",
               values.size());
  kCallers[buffers.size()](function_, buffers);
}

}  // namespace strata
