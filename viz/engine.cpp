// The page's engine: a JSON request in, its JSON answer out, and the answer's long lists as memory. Compiled to
// WebAssembly; the page reads the result where it lies (viz/src/engine/instance.ts).
#include <cstddef>
#include <string>
#include <vector>

#include "tools/batch.h"

namespace {

/// A list of numbers that the JSON mentions as {"memory": index, "count": n}.
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

List place_of(const strata::tools::NumberLists::List& list) {
  return std::visit([&](const auto& l) { return List{list.index(), l.data(), l.size()}; }, list);
}

}  // namespace

/// The answer to the `size` bytes at `request`. What it points to stays until the next call.
extern "C" const Result* ask(const char* request, std::size_t size) {
  static std::string json;
  static strata::tools::NumberLists memory;
  static std::vector<List> lists;
  static Result result;
  strata::tools::BatchOptions options;
  options.memory = &memory;
  json = strata::tools::answer({request, size}, options);
  lists.clear();
  for (const auto& list : memory.lists()) lists.push_back(place_of(list));
  result = {json.data(), json.size(), lists.size(), lists.data()};
  return &result;
}
