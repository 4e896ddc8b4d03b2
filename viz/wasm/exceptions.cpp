// Exceptions of WebAssembly, which Debian's libc++abi for wasm32-wasi is built without: what compiled code calls to
// throw, find a handler and end it, as clang 19's -fwasm-exceptions wants it (the Itanium ABI over one `throw`
// instruction). There is one thread.
//
// NOTE: libc++.a itself was compiled without exceptions: what it would throw (std::stoi, string::at) ends in a trap.
// What our code throws passes through it.
#include <unwind.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <new>
#include <typeinfo>

namespace __cxxabiv1 {

/// The base of all type_info, as libc++abi declares it in a header of its own: its vtable is used.
class __shim_type_info : public std::type_info {
 public:
  ~__shim_type_info() override;
  virtual void noop1() const;
  virtual void noop2() const;
  /// Whether a handler of this type catches `thrown`; `object` is moved to the base that it catches.
  virtual bool can_catch(const __shim_type_info* thrown, void*& object) const = 0;
};

}  // namespace __cxxabiv1

namespace {

using TypeInfo = __cxxabiv1::__shim_type_info;

/// What lies in front of a thrown object.
struct Header {
  std::type_info* type;
  void* (*destroy)(void*);  // NOTE: destructors return `this` here
  int handlers;             // that are running; negative while it is thrown again
  void* caught_as;          // the object, or the base of it that a handler asked for
  Header* outer;            // of the exception that was being handled before this one
  alignas(16) _Unwind_Exception unwind;

  void* object() { return this + 1; }
};

Header* innermost = nullptr;  // exceptions that are being handled

Header* header_of(void* unwind) {
  return reinterpret_cast<Header*>(static_cast<char*>(unwind) - offsetof(Header, unwind));
}

Header* header_before(void* object) { return static_cast<Header*>(object) - 1; }

/// The numbers of a table of handlers (LEB128), one after another.
class Numbers {
 public:
  explicit Numbers(const std::uint8_t* at) : at_(at) {}

  const std::uint8_t* at() const { return at_; }
  std::uint8_t byte() { return *at_++; }
  std::uint32_t next() {
    int shift = 0;
    return bits(shift);
  }
  std::int32_t next_signed() {
    int shift = 0;
    std::uint32_t out = bits(shift);
    const bool negative = (at_[-1] & 64) != 0;
    if (negative && shift < 32) out |= ~std::uint32_t{0} << shift;
    return static_cast<std::int32_t>(out);
  }

 private:
  std::uint32_t bits(int& shift) {
    std::uint32_t out = 0;
    while (true) {
      const std::uint8_t b = byte();
      out |= std::uint32_t{b & 127U} << shift;
      shift += 7;
      if ((b & 128) == 0) return out;
    }
  }

  const std::uint8_t* at_;
};

constexpr std::uint8_t kNoTypes = 0xff;

/// A function's handlers: which types each of its landing pads catches.
struct Handlers {
  const std::uint8_t* types = nullptr;    // pointers to type_info, the first one ends here
  const std::uint8_t* actions = nullptr;  // lists of them
  std::uint32_t first = 0;                // action of the landing pad, from 1; 0: it catches nothing
};

Handlers handlers_of(const std::uint8_t* table, std::uint32_t landing_pad) {
  Handlers out;
  Numbers numbers(table);
  numbers.byte();  // where landing pads start: left out
  if (numbers.byte() != kNoTypes) {
    const std::uint32_t offset = numbers.next();
    out.types = numbers.at() + offset;
  }
  numbers.byte();  // how call sites are written
  const std::uint32_t size = numbers.next();
  out.actions = numbers.at() + size;
  for (std::uint32_t k = 0; k <= landing_pad; ++k) {
    numbers.next();
    out.first = numbers.next();
  }
  return out;
}

/// The handler that catches the exception, as the compiler numbers types; 0 for none.
std::uint32_t find_handler(const Handlers& handlers, Header& thrown) {
  if (handlers.first == 0) return 0;
  const std::uint8_t* action = handlers.actions + handlers.first - 1;
  while (true) {
    Numbers numbers(action);
    const std::int32_t type = numbers.next_signed();
    if (type > 0) {
      const TypeInfo* const wanted = reinterpret_cast<const TypeInfo* const*>(handlers.types)[-type];
      void* object = thrown.object();
      const auto* const own = static_cast<const TypeInfo*>(thrown.type);
      if (wanted == nullptr || wanted->can_catch(own, object)) {  // null: all are caught
        thrown.caught_as = object;
        return static_cast<std::uint32_t>(type);
      }
    }
    const std::uint8_t* const from = numbers.at();
    const std::int32_t step = numbers.next_signed();
    if (step == 0) return 0;
    action = from + step;
  }
}

[[noreturn]] void raise(Header& h) { __builtin_wasm_throw(0, &h.unwind); }

}  // namespace

extern "C" {

/// What the compiler and the search below tell each other.
struct LandingPad {
  std::uint32_t number;
  const std::uint8_t* table;
  std::uint32_t handler;
} __wasm_lpad_context;

int __gxx_wasm_personality_v0(...) { std::abort(); }  // its address is taken, no more

/// Called in each landing pad: `handler` says where to go on, 0 is past it.
int _Unwind_CallPersonality(void* unwind) {
  LandingPad& pad = __wasm_lpad_context;
  pad.handler = pad.table == nullptr ? 0 : find_handler(handlers_of(pad.table, pad.number), *header_of(unwind));
  return pad.handler == 0 ? _URC_CONTINUE_UNWIND : _URC_HANDLER_FOUND;
}

void* __cxa_allocate_exception(std::size_t size) noexcept {
  const std::size_t all = (sizeof(Header) + size + 15) / 16 * 16;
  auto* const h = static_cast<Header*>(std::aligned_alloc(16, all));
  if (h == nullptr) std::terminate();
  *h = Header();
  return h->object();
}

void __cxa_free_exception(void* object) noexcept { std::free(header_before(object)); }

[[noreturn]] void __cxa_throw(void* object, std::type_info* type, void* (*destroy)(void*)) {
  Header& h = *header_before(object);
  h.type = type;
  h.destroy = destroy;
  raise(h);
}

void* __cxa_get_exception_ptr(void* unwind) noexcept { return header_of(unwind)->caught_as; }

void* __cxa_begin_catch(void* unwind) noexcept {
  Header* const h = header_of(unwind);
  h->handlers = h->handlers < 0 ? 1 - h->handlers : h->handlers + 1;
  if (innermost != h) {
    h->outer = innermost;
    innermost = h;
  }
  return h->caught_as;
}

void __cxa_end_catch() {
  Header* const h = innermost;
  if (h == nullptr) return;
  if (h->handlers < 0) {  // it goes on: whoever catches it next is its owner
    if (++h->handlers == 0) innermost = h->outer;
    return;
  }
  if (--h->handlers > 0) return;
  innermost = h->outer;
  if (h->destroy != nullptr) h->destroy(h->object());
  std::free(h);
}

[[noreturn]] void __cxa_rethrow() {
  Header* const h = innermost;
  if (h == nullptr) std::terminate();
  h->handlers = -h->handlers;
  raise(*h);
}

}  // extern "C"

// Memory that is not there is an error, not the end.

void* operator new(std::size_t size) {
  if (void* const memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
void* operator new[](std::size_t size) { return operator new(size); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  const auto unit = static_cast<std::size_t>(alignment);
  if (void* const memory = std::aligned_alloc(unit, (size + unit - 1) / unit * unit)) return memory;
  throw std::bad_alloc();
}
void* operator new[](std::size_t size, std::align_val_t alignment) { return operator new(size, alignment); }
