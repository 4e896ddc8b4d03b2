# The target `reference`, where Doxygen and Python are found: <build>/reference/html/index.html from the words in the headers and,
# where the Python module is built, <build>/reference/html/python from its docstrings. Fails on words that are wrong.
find_program(STRATA_DOXYGEN doxygen)
mark_as_advanced(STRATA_DOXYGEN)
if(NOT Python_EXECUTABLE)
  find_package(Python 3.10 QUIET COMPONENTS Interpreter)
endif()
if(STRATA_DOXYGEN AND Python_EXECUTABLE AND EXISTS ${PROJECT_SOURCE_DIR}/docs/reference/build.py)
  set(reference_module "")
  if(TARGET strata_python AND NOT STRATA_SANITIZE AND NOT CMAKE_CROSSCOMPILING)
    set(reference_module --module ${PROJECT_BINARY_DIR}/python)
  endif()
  add_custom_target(reference
                    COMMAND ${Python_EXECUTABLE} ${PROJECT_SOURCE_DIR}/docs/reference/build.py ${PROJECT_BINARY_DIR}/reference
                            --doxygen ${STRATA_DOXYGEN} ${reference_module}
                    USES_TERMINAL VERBATIM)
  if(reference_module)
    add_dependencies(reference strata_python)
  endif()
endif()
