# A toolchain: the newest clang on the machine, 16 or later.
if(NOT CMAKE_CXX_COMPILER)
  find_program(CMAKE_CXX_COMPILER
               NAMES clang++-22 clang++-21 clang++-20 clang++-19 clang++-18 clang++-17 clang++-16 clang++ REQUIRED)
endif()
