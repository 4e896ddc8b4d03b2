// A check that the compiler is in C++20 mode or later. The umbrella header of each floor includes this file first.
#pragma once

#if defined(_MSVC_LANG) ? _MSVC_LANG < 202002L : __cplusplus < 202002L
#error "Strata needs C++20: compile with -std=c++20 (in CMake, linking a target of Strata says so)"
#endif
