# What `cmake --install` lays down, in four components: dev (headers, libraries, the CMake package, strata.pc), program
# (the program, its page, completions, the manual page), plugin (the LLVM device's) and, where STRATA_PYTHON_INSTALL_DIR says where to,
# python.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/strata)
get_property(strata_floors GLOBAL PROPERTY strata_floors)
list(TRANSFORM strata_floors PREPEND strata_ OUTPUT_VARIABLE floor_targets)

install(TARGETS ${floor_targets} strata_all EXPORT strata-targets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev)
# Headers of the plugin are LLVM's on their other side: they stay here.
install(DIRECTORY strata DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev
        FILES_MATCHING PATTERN "*.h" PATTERN "*.def" PATTERN llvm_plugin EXCLUDE)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT dev)

install(TARGETS strata RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
set(plugin_dir ${CMAKE_INSTALL_BINDIR})
if(STRATA_PLUGIN_INSTALL_DIR)
  set(plugin_dir ${STRATA_PLUGIN_INSTALL_DIR})
endif()
if(TARGET strata_llvm)
  install(TARGETS strata_llvm LIBRARY DESTINATION ${plugin_dir} COMPONENT plugin)
endif()
if(TARGET strata_mpi)
  install(PROGRAMS ${strata_mpi_plugin} DESTINATION ${plugin_dir} COMPONENT plugin)
endif()
install(FILES ${strata_mpi_source} DESTINATION ${CMAKE_INSTALL_DATADIR}/strata COMPONENT dev)

if(TARGET strata_http)
  install(TARGETS strata_http LIBRARY DESTINATION ${plugin_dir} COMPONENT program)
endif()
install(FILES viz/strata.html.gz DESTINATION ${CMAKE_INSTALL_DATADIR}/strata COMPONENT program)

# What the static libraries were built with, users link too: those of its package's name, sought by whom it links.
# floors_above(TARGET OUT): the floors that link TARGET, themselves or by a floor below; those below come first in the list.
function(floors_above target out)
  set(above ${target})
  set(floors "")
  foreach(floor ${strata_floors})
    get_target_property(links strata_${floor} LINK_LIBRARIES)
    foreach(link ${links})
      if(link IN_LIST above)
        list(APPEND above strata_${floor})
        list(APPEND floors ${floor})
        break()
      endif()
    endforeach()
  endforeach()
  set(${out} ${floors} PARENT_SCOPE)
endfunction()

set(strata_requires "")
set(strata_with_tbb "")
if(TARGET TBB::tbb)
  floors_above(TBB::tbb strata_with_tbb)
  list(APPEND strata_requires tbb)
endif()
set(strata_with_zlib "")
if(TARGET ZLIB::ZLIB)
  floors_above(ZLIB::ZLIB strata_with_zlib)
  list(APPEND strata_requires zlib)
endif()
list(JOIN strata_requires ", " strata_requires)

set(program_dir ${CMAKE_INSTALL_BINDIR})
set(strata_with_onnx OFF)
if(PROTOZERO_INCLUDE_DIR)
  set(strata_with_onnx ON)
endif()
install(EXPORT strata-targets NAMESPACE strata:: DESTINATION ${package_dir} COMPONENT dev)
configure_package_config_file(cmake/strata-config.cmake.in strata-config.cmake
                              INSTALL_DESTINATION ${package_dir} PATH_VARS plugin_dir program_dir)
write_basic_package_version_file(strata-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES cmake/strata-add-model.cmake ${PROJECT_BINARY_DIR}/strata-config.cmake
        ${PROJECT_BINARY_DIR}/strata-config-version.cmake DESTINATION ${package_dir} COMPONENT dev)

# The prefix in strata.pc is relative to the file, so that an installed tree can be moved.
file(RELATIVE_PATH pc_to_prefix /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
string(REGEX REPLACE "/$" "" pc_to_prefix "${pc_to_prefix}")
set(strata_libs ${floor_targets})
list(REVERSE strata_libs)
list(TRANSFORM strata_libs PREPEND -l)
list(JOIN strata_libs " " strata_libs)
set(pc_plugin_dir ${plugin_dir})
if(NOT IS_ABSOLUTE "${plugin_dir}")
  set(pc_plugin_dir "\${prefix}/${plugin_dir}")
endif()
configure_file(cmake/strata.pc.in strata.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/strata.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)

# The program writes its own completions and manual page; a cross-built one cannot be asked.
set(completion_bash ${CMAKE_INSTALL_DATADIR}/bash-completion/completions/strata)
set(completion_zsh ${CMAKE_INSTALL_DATADIR}/zsh/site-functions/_strata)
set(completion_fish ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d/strata.fish)
if(CMAKE_CROSSCOMPILING)
  message(STATUS "cross build: shell completions and the manual page are not installed")
else()
  foreach(shell bash zsh fish)
    set(written ${PROJECT_BINARY_DIR}/completions/${completion_${shell}})
    get_filename_component(folder ${completion_${shell}} DIRECTORY)
    install(CODE "
      file(MAKE_DIRECTORY \"${PROJECT_BINARY_DIR}/completions/${folder}\")
      execute_process(COMMAND \"$<TARGET_FILE:strata>\" completion ${shell}
                      OUTPUT_FILE \"${written}\" COMMAND_ERROR_IS_FATAL ANY)" COMPONENT program)
    install(FILES ${written} DESTINATION ${folder} COMPONENT program)
  endforeach()
  set(written ${PROJECT_BINARY_DIR}/completions/strata.1)
  install(CODE "
    file(MAKE_DIRECTORY \"${PROJECT_BINARY_DIR}/completions\")
    execute_process(COMMAND \"$<TARGET_FILE:strata>\" man OUTPUT_FILE \"${written}\" COMMAND_ERROR_IS_FATAL ANY)"
    COMPONENT program)
  install(FILES ${written} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT program)
endif()
