// The page's engine: a JSON request in, its JSON answer out. Compiled to WebAssembly; the page reads the result where it lies.
#include <cstddef>
#include <string>
#include <string_view>

#include "tools/batch.h"

namespace {

/// A long list of numbers of the answer, which the JSON mentions as {"memory": index, "count": n}.
struct List {
  std::size_t kind;  ///< 0: doubles, 1: 32-bit integers
  const void* numbers;
  std::size_t count;
};

struct Result {
  const char* json;
  std::size_t size;
  std::size_t lists;
  const List* list;
};

}  // namespace

/// The answer to the `size` bytes at `request`. What it points to stays until the next call.
extern "C" const Result* ask(const char* request, std::size_t size) {
  static std::string json;
  static Result result;
  json = strata::tools::answer({request, size});
  result = {json.data(), json.size(), 0, nullptr};
  return &result;
}
