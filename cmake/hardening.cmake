# What optimised builds check as they run, and what of them cannot be written to. A flag is on where callgrind counts less than 1 %
# more instructions: docs/installing.md has the figures. Who says anything of a flag in CMAKE_CXX_FLAGS (CXXFLAGS) or in
# CMAKE_*_LINKER_FLAGS (LDFLAGS), as Debian's tools do, decides. Not with sanitizers, which see more.
set(strata_hardened FALSE)
if(STRATA_HARDENING AND CMAKE_SYSTEM_NAME STREQUAL Linux AND NOT STRATA_SANITIZE AND NOT STRATA_FUZZ)
  set(strata_hardened TRUE)
endif()
set(strata_optimised RELEASE RELWITHDEBINFO MINSIZEREL)

# The end of a stack frame at each return; sizes in calls of libc, which are known where code is optimised.
if(strata_hardened)
  foreach(config ${strata_optimised})
    set(flags "${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${config}}")
    if(NOT flags MATCHES "stack-protector")
      add_compile_options($<$<CONFIG:${config}>:-fstack-protector-strong>)
    endif()
    if(flags MATCHES "(^| )-O([1-9sz]|fast)?( |$)" AND NOT flags MATCHES "-O0|_FORTIFY_SOURCE")
      # Compilers that define it by themselves would warn of another value.
      add_compile_options($<$<CONFIG:${config}>:-U_FORTIFY_SOURCE> $<$<CONFIG:${config}>:-D_FORTIFY_SOURCE=2>)
    endif()
  endforeach()
endif()

# strata_unguarded(TARGET): no guards on the stack in a target whose loops pay more than 1 % for them. NOTE: of a whole target, as
# sources with options of their own are in no group, and lose more by what is no longer inlined.
function(strata_unguarded target)
  if(strata_hardened AND NOT CMAKE_CXX_FLAGS MATCHES "stack-protector")
    target_compile_options(${target} PRIVATE $<$<CONFIG:RELEASE,RELWITHDEBINFO,MINSIZEREL>:-fno-stack-protector>)
  endif()
endfunction()

# strata_read_only(TARGET [NOW]): what the loader relocates is read-only from then on; NOW: the addresses of functions, too, all of
# which are looked up as TARGET is loaded.
function(strata_read_only target)
  set(linker "${CMAKE_EXE_LINKER_FLAGS} ${CMAKE_SHARED_LINKER_FLAGS} ${CMAKE_MODULE_LINKER_FLAGS}")
  if(strata_hardened AND NOT linker MATCHES "-z,?(lazy|now|norelro)")
    set(words -z,relro)
    if("NOW" IN_LIST ARGN)
      string(APPEND words ,-z,now)
    endif()
    target_link_options(${target} PRIVATE $<$<CONFIG:RELEASE,RELWITHDEBINFO,MINSIZEREL>:LINKER:${words}>)
  endif()
endfunction()
