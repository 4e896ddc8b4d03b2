// Words that are no names for a user's variables in one of the languages.
#include <algorithm>
#include <iterator>

#include "strata/render/writer.h"

namespace strata::rendering {
namespace {

// What ends in digits (float4, int8, f32x8) is seen by its stem.
constexpr std::string_view kWords[] = {
    "abs",      "acos",    "alignas",   "alignof",     "and",       "array",     "as",
    "asm",      "asin",    "atan",      "atomic",      "auto",      "barrier",   "bitcast",
    "bool",     "break",   "case",      "catch",       "ceil",      "char",      "class",
    "clamp",    "compl",   "const",     "constant",    "continue",  "cos",       "decltype",
    "default",  "delete",  "device",    "discard",     "do",        "double",    "else",
    "enable",   "enum",    "exp",       "explicit",    "export",    "extern",    "f",
    "fabs",     "false",   "float",     "floor",       "fma",       "fn",        "for",
    "fragment", "friend",  "gid",       "global",      "goto",      "half",      "i",
    "idx",      "if",      "image",     "inline",      "int",       "kernel",    "let",
    "lid",      "local",   "log",       "long",        "loop",      "mat",       "max",
    "metal",    "min",     "mod",       "mutable",     "namespace", "new",       "not",
    "operator", "or",      "override",  "pow",         "private",   "protected", "ptr",
    "public",   "quad",    "read_only", "register",    "restrict",  "return",    "rint",
    "round",    "sampler", "select",    "short",       "signed",    "sin",       "size_t",
    "sizeof",   "sqrt",    "static",    "struct",      "switch",    "tan",       "tanh",
    "template", "this",    "thread",    "threadgroup", "throw",     "true",      "trunc",
    "try",      "typedef", "typename",  "typeof",      "u",         "uchar",     "uint",
    "ulong",    "uniform", "union",     "unix",        "unsigned",  "ushort",    "using",
    "var",      "vec",     "vector",    "vertex",      "virtual",   "void",      "volatile",
    "wchar_t",  "while",   "workgroup", "xor",         "bf",        "asuint",    "linux",
};

}  // namespace

bool is_reserved(std::string_view name) {
  if (name.starts_with("_") || name.starts_with("strata_")) return true;
  if (name.find("__") != std::string_view::npos) return true;
  // f32x8u and float4x4 are types: cut the digits, and what digits and an x left behind.
  const std::size_t end = name.find_first_of("0123456789");
  const std::string_view stem = name.substr(0, end);
  const bool numbered = end != std::string_view::npos;
  if (!numbered && stem.size() == 1) return false;
  return std::find(std::begin(kWords), std::end(kWords), stem) != std::end(kWords);
}

}  // namespace strata::rendering
