# What answers requests: the sources of tools/ that `strata batch`, the commands and the page share. Floors up to rendering
# are all that they need: no device, no thread, no file.
# NOTE: by name, so that a new request is part of the page without a word here.
get_filename_component(tools ${CMAKE_CURRENT_LIST_DIR}/../tools ABSOLUTE)
file(GLOB strata_answer_sources CONFIGURE_DEPENDS ${tools}/ask*.cpp
     ${tools}/batch*.cpp ${tools}/box*.cpp ${tools}/brackets*.cpp ${tools}/number_lists.cpp ${tools}/request*.cpp
     ${tools}/*_text.cpp)
