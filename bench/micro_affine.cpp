// `i * 128 + 64` in every form: by hand, at compile time, at run time, in the specification's loop, over a box.
#include "bench/micro.h"
#include "strata/affine/affine.h"
#include "strata/affine/affine_static.h"

namespace strata::bench {

namespace {

/// A row that calls body(i) with i = 0, 1, ..., 127, 0, ... which the compiler cannot foresee.
template <class F>
Row counted(std::string name, F body) {
  return {std::move(name), [body](std::uint64_t n) mutable {
            for (std::uint64_t k = 0; k < n; ++k) {
              std::int64_t i = static_cast<std::int64_t>(k & 127);
              perturb(i);
              keep(body(i));
            }
          }};
}

}  // namespace

void bench_affine() {
  AffinePrimitives ap;
  const Affine affine = ap.create("i * 128 + 64");
  const Affine divided = ap.create("(i * 128 + j) // 24 % 7");
  ap["j"] = 5;
  std::int64_t& bound = ap["i"];
  print_goals(
      "affine functions, one value",
      {
          {counted("i * 128 + 64 in C++", [](std::int64_t i) { return i * 128 + 64; })},
          {counted("affine<\"i * 128 + 64\">(i)", [](std::int64_t i) { return strata::affine<"i * 128 + 64">(i); })},
          {counted("i = ...; affine(), the name bound once",
                   [&](std::int64_t i) {
                     bound = i;
                     return affine();
                   }),
           3},
          {counted("ap[\"i\"] = i; affine(), the specification's loop",
                   [&](std::int64_t i) {
                     ap["i"] = i;
                     return affine();
                   }),
           30},
          {counted("(i * 128 + j) // 24 % 7, bound once",
                   [&](std::int64_t i) {
                     bound = i;
                     return divided();
                   })},
          {row("create(\"i * 128 + 64\")", [&] { keep(ap.create("i * 128 + 64")); })},
      });

  const Domain box{{"i", 0, 64}, {"j", 0, 64}};
  const Affine plain = ap.compile("i * 128 + j * 2 + 64", box);
  const Affine tiled = ap.compile("(i * 64 + j) // 24 * 3 + (i * 64 + j) % 24", box);
  std::vector<std::int64_t> table(4096);
  print_goals("4096 values of a box, the whole table", {
                                                           {row("i * 128 + j * 2 + 64 in C++",
                                                                [&] {
                                                                  std::int64_t* out = table.data();
                                                                  for (std::int64_t i = 0; i < 64; ++i)
                                                                    for (std::int64_t j = 0; j < 64; ++j)
                                                                      *out++ = i * 128 + j * 2 + 64;
                                                                  keep(table.data());
                                                                })},
                                                           {row("fill of i * 128 + j * 2 + 64",
                                                                [&] {
                                                                  plain.fill(table);
                                                                  keep(table.data());
                                                                })},
                                                           {row("(i*64+j) / 24 * 3 + (i*64+j) % 24 in C++",
                                                                [&] {
                                                                  std::int64_t* out = table.data();
                                                                  for (std::int64_t i = 0; i < 64; ++i)
                                                                    for (std::int64_t j = 0; j < 64; ++j)
                                                                      *out++ =
                                                                          (i * 64 + j) / 24 * 3 + (i * 64 + j) % 24;
                                                                  keep(table.data());
                                                                })},
                                                           {row("fill of (i*64+j) // 24 * 3 + (i*64+j) % 24",
                                                                [&] {
                                                                  tiled.fill(table);
                                                                  keep(table.data());
                                                                })},
                                                       });
}

}  // namespace strata::bench
