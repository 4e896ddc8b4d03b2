// What the compiler has to be told before anything else: each header that users include by a floor's name begins with this.
#pragma once

#if defined(_MSVC_LANG) ? _MSVC_LANG < 202002L : __cplusplus < 202002L
#error "Strata needs C++20: compile with -std=c++20 (in CMake, linking a target of Strata says so)"
#endif
