// Runs the same model twice: as a class with its weights in the file, and as C with a blob.
#include <classifier.h>
#include <leaf.hpp>

#include <cstdio>
#include <cstring>

namespace {
LEAF_ALIGNAS(CLASSIFIER_ALIGNMENT) unsigned char arena[CLASSIFIER_ARENA_BYTES];
LEAF_ALIGNAS(CLASSIFIER_ALIGNMENT) unsigned char weights[CLASSIFIER_WEIGHTS_BYTES];
}  // namespace

int main() {
  const float flowers[LEAF_FLOWERS_ELEMENTS] = {5.1F, 3.5F, 1.4F, 0.2F, 6.3F, 3.3F, 6.0F, 2.5F};
  float kinds[LEAF_KINDS_ELEMENTS], again[CLASSIFIER_KINDS_ELEMENTS];
  std::FILE* const file = std::fopen(WEIGHTS, "rb");
  if (file == nullptr || std::fread(weights, 1, sizeof weights, file) != sizeof weights) return 1;
  std::fclose(file);
  if (leaf_model().try_run(flowers, kinds) != LEAF_OK) return 2;
  if (classifier_run(flowers, again, weights, arena, sizeof arena, nullptr, nullptr) != CLASSIFIER_OK) return 3;
  if (std::memcmp(kinds, again, sizeof kinds) != 0) return 4;
  for (int k = 0; k < LEAF_KINDS_ELEMENTS; ++k) std::printf(k == 0 ? "%.3f" : " %.3f", double{kinds[k]});
  std::printf("\n");
}
