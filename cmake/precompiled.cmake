# Headers that are parsed once for many targets: most of the time that a file takes goes to the standard library's, LLVM's
# and GoogleTest's headers. What is compiled stays the same, as every file still includes what it uses. Debug builds, whose
# commands clang-tidy reads (it cannot read GCC's), and those with sanitizers do without and find a file that does not.
#
# No header of src/ belongs here, or all that is made from it is made anew when it changes; nor does <iostream>, whose
# constructor would run when the library is loaded.
set(precompiled ON)
if(VERDIGRIS_SANITIZE OR VERDIGRIS_COVERAGE OR CMAKE_BUILD_TYPE STREQUAL "Debug")
  set(precompiled OFF)
endif()
option(VERDIGRIS_PRECOMPILED_HEADERS "Parse the headers that most files include once" ${precompiled})

set(VG_COMMON_HEADERS <algorithm> <array> <atomic> <bit> <cstddef> <cstdint> <cstdio> <cstdlib> <cstring> <functional> <map>
                      <memory> <mutex> <optional> <string> <string_view> <unordered_map> <utility> <vector>)

# vg_precompiled_headers(NAME [PROGRAMS] [DEFINITIONS ...] HEADERS ...): headers that libraries with these definitions can
# use, or programs, which are compiled as position-independent in another way.
function(vg_precompiled_headers name)
  if(NOT VERDIGRIS_PRECOMPILED_HEADERS)
    return()
  endif()
  cmake_parse_arguments(SHARED "PROGRAMS" "" "DEFINITIONS;HEADERS" ${ARGN})
  set(source ${CMAKE_BINARY_DIR}/precompiled/${name}.cpp)
  if(NOT EXISTS ${source})
    file(WRITE ${source} "// Only its precompiled headers are used.\n")
  endif()
  add_library(${name} OBJECT ${source})
  target_link_libraries(${name} PRIVATE vg_options)
  target_compile_definitions(${name} PRIVATE ${SHARED_DEFINITIONS})
  if(SHARED_PROGRAMS)
    set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(${name} PRIVATE -fPIE)
  endif()
  target_precompile_headers(${name} PRIVATE ${SHARED_HEADERS})
  vg_cacheable(${name})
endfunction()

# ccache reads what a file includes from the compiler's output, which names precompiled headers if asked to.
function(vg_cacheable target)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)
  endif()
endfunction()

function(vg_use_precompiled target name)
  if(TARGET ${name})
    target_precompile_headers(${target} REUSE_FROM ${name})
    vg_cacheable(${target})
  endif()
endfunction()
