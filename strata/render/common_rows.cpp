// The rows that C's whole family shares. Signed arithmetic goes through unsigned where it may wrap.
#include "strata/render/language.h"

namespace strata::rendering {
namespace {

// clang-format off
constexpr OpText kCommonRows[] = {
    {Ops::NOOP,   kAny,               "$a"},
    {Ops::NEG,    kFloat | kIndex,    "(-$a)"},
    {Ops::NEG,    kInt,               "(($T)(0-($U)$a))"},
    {Ops::ABS,    kUnsigned,          "$a"},
    {Ops::ABS,    kSigned | kIndex,   "($a<0?($T)(0-($U)$a):$a)"},
    {Ops::NOT,    kInt | kIndex,      "(($T)~$a)"},
    {Ops::NOT,    kBool,              "($a^1)"},
    {Ops::RECIP,  kFloat,             "($1/$a)"},

    {Ops::ADD,    kFloat | kIndex,    "($a+$b)"},
    {Ops::ADD,    kInt,               "(($T)(($U)$a+($U)$b))"},
    {Ops::ADD,    kBool,              "($a|$b)"},
    {Ops::SUB,    kFloat | kIndex,    "($a-$b)"},
    {Ops::SUB,    kInt,               "(($T)(($U)$a-($U)$b))"},
    {Ops::MUL,    kFloat | kIndex,    "($a*$b)"},
    {Ops::MUL,    kInt,               "(($T)(($U)$a*($U)$b))"},
    {Ops::MUL,    kBool,              "($a&$b)"},
    {Ops::MULACC, kFloat | kIndex,    "($a*$b+$c)"},
    {Ops::MULACC, kInt,               "(($T)(($U)$a*($U)$b+($U)$c))"},
    {Ops::DIV,    kFloat,             "($a/$b)"},
    {Ops::IDIV,   kInt | kIndex,      "(($T)($a/$b))"},
    {Ops::MOD,    kInt | kIndex,      "(($T)($a%$b))"},

    {Ops::MAX,    kInt | kIndex,      "($a>$b?$a:$b)"},
    {Ops::MAX,    kConstRight,        "($b>$a?$b:$a)"},
    {Ops::MAX,    kFloat,             "((($a>$b)|($a!=$a))?$a:$b)"},
    {Ops::MAX,    kBool,              "($a|$b)"},
    {Ops::MIN,    kInt | kIndex,      "($a<$b?$a:$b)"},
    {Ops::MIN,    kConstRight,        "($b<$a?$b:$a)"},
    {Ops::MIN,    kFloat,             "((($a<$b)|($a!=$a))?$a:$b)"},
    {Ops::MIN,    kBool,              "($a&$b)"},

    {Ops::AND,    kInt | kIndex | kBool, "($a&$b)"},
    {Ops::OR,     kInt | kIndex | kBool, "($a|$b)"},
    {Ops::XOR,    kInt | kIndex | kBool, "($a^$b)"},
    {Ops::SHL,    kConstRight,        "(($T)(($U)$a<<$b))"},
    {Ops::SHL,    kInt | kIndex,      "(($T)(($V)$b<$W?($U)$a<<($V)$b:0))"},
    {Ops::SHR,    kConstRight,        "($a>>$b)"},
    {Ops::SHR,    kUnsigned,          "(($T)($b<$W?$a>>$b:0))"},
    {Ops::SHR,    kSigned | kIndex,   "($a>>(($V)$b<$W?$b:$M))"},

    {Ops::CMPLT,  kInt | kIndex | kFloat, "($a<$b)"},
    {Ops::CMPEQ,  kInt | kIndex | kFloat, "($a==$b)"},
    {Ops::CMPNE,  kInt | kIndex | kFloat, "($a!=$b)"},
    {Ops::CMPLT,  kBool,              "(($a^1)&$b)"},
    {Ops::CMPEQ,  kBool,              "($a^$b^1)"},
    {Ops::CMPNE,  kBool,              "($a^$b)"},
    {Ops::WHERE,  kAny | kIndex,      "($a?$b:$c)"},
};
// clang-format on

}  // namespace

std::span<const OpText> common_rows() { return kCommonRows; }

}  // namespace strata::rendering
