# What `cmake --install` lays down: headers, libraries, the program, the CMake package, strata.pc, completions.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/strata)

install(TARGETS strata_base strata_dtype strata_expr strata_view strata_ir strata_graph strata_codegen strata_render
        strata_runtime strata_schedule strata_engine strata_tensor strata_nn strata_all EXPORT strata-targets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET strata_llvm)
  # Beside the program, which looks for it there; libraries that users link look beside themselves, or in STRATA_PLUGIN_DIR.
  install(TARGETS strata_llvm LIBRARY DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(TARGETS strata RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY strata DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.h" PATTERN "*.def")

# What the static libraries were built with, users link too.
set(strata_find_tbb "")
set(strata_libs_tbb "")
if(TARGET TBB::tbb)
  set(strata_find_tbb "find_dependency(TBB)")
  set(strata_libs_tbb " -ltbb")
endif()
set(strata_find_zlib "")
set(strata_libs_zlib "")
if(TARGET ZLIB::ZLIB)
  set(strata_find_zlib "find_dependency(ZLIB)")
  set(strata_libs_zlib " -lz")
endif()

install(EXPORT strata-targets NAMESPACE strata:: DESTINATION ${package_dir})
configure_package_config_file(cmake/strata-config.cmake.in strata-config.cmake
                              INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(strata-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/strata-config.cmake
        ${PROJECT_BINARY_DIR}/strata-config-version.cmake DESTINATION ${package_dir})

# The prefix in strata.pc is relative to the file, so that an installed tree can be moved.
file(RELATIVE_PATH pc_to_prefix /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
string(REGEX REPLACE "/$" "" pc_to_prefix "${pc_to_prefix}")
configure_file(cmake/strata.pc.in strata.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/strata.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# The program writes its own completions; a cross-built one cannot be asked.
set(completion_bash ${CMAKE_INSTALL_DATADIR}/bash-completion/completions/strata)
set(completion_zsh ${CMAKE_INSTALL_DATADIR}/zsh/site-functions/_strata)
set(completion_fish ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d/strata.fish)
if(CMAKE_CROSSCOMPILING)
  message(STATUS "cross build: shell completions are not installed")
else()
  foreach(shell bash zsh fish)
    set(written ${PROJECT_BINARY_DIR}/completions/${completion_${shell}})
    get_filename_component(folder ${completion_${shell}} DIRECTORY)
    install(CODE "
      file(MAKE_DIRECTORY \"${PROJECT_BINARY_DIR}/completions/${folder}\")
      execute_process(COMMAND \"$<TARGET_FILE:strata>\" completion ${shell}
                      OUTPUT_FILE \"${written}\" COMMAND_ERROR_IS_FATAL ANY)")
    install(FILES ${written} DESTINATION ${folder})
  endforeach()
endif()
