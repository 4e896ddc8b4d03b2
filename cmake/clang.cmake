# A toolchain: the newest clang on the machine, 16 or later.
if(NOT CMAKE_CXX_COMPILER)
  find_program(CMAKE_CXX_COMPILER
               NAMES clang++-22 clang++-21 clang++-20 clang++-19 clang++-18 clang++-17 clang++-16 clang++ REQUIRED)
endif()
# Its own linker, if it is there, takes a third of the time.
file(REAL_PATH "${CMAKE_CXX_COMPILER}" compiler)
get_filename_component(folder "${compiler}" DIRECTORY)
if(EXISTS "${folder}/ld.lld")
  foreach(kind EXE SHARED MODULE)
    set(CMAKE_${kind}_LINKER_FLAGS_INIT -fuse-ld=lld)
  endforeach()
endif()
