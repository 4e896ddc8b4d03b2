# `strata viz --serve`: HTTP by cpp-httplib, in a shared object that is opened where it is needed: linked, the library, which brings
# OpenSSL and Brotli along, takes 1.9 ms at each start of a program that takes 2.2. It lies beside the program.
find_package(httplib CONFIG QUIET)
if(NOT TARGET httplib::httplib)
  find_package(PkgConfig QUIET)
  if(PkgConfig_FOUND)
    pkg_check_modules(httplib QUIET IMPORTED_TARGET cpp-httplib)
  endif()
endif()

if(TARGET httplib::httplib OR TARGET PkgConfig::httplib)
  add_library(strata_http MODULE tools/http_plugin/plugin.cpp)
  target_compile_features(strata_http PRIVATE cxx_std_20)
  target_include_directories(strata_http PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(strata_http PRIVATE $<IF:$<TARGET_EXISTS:httplib::httplib>,httplib::httplib,PkgConfig::httplib>
                        Threads::Threads strata_warnings)
  target_link_options(strata_http PRIVATE -Wl,-z,nodelete)
  set_target_properties(strata_http PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  strata_read_only(strata_http NOW)
  add_dependencies(strata strata_http)
else()
  message(STATUS "cpp-httplib was not found: there is no 'strata viz --serve' (Debian: libcpp-httplib-dev)")
endif()
