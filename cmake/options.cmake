# Language, warnings, sanitizers: what every target shares.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

# All products side by side, so that one directory is what LD_LIBRARY_PATH and `verdigris run` need.
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)

find_package(Threads REQUIRED)
find_program(CCACHE ccache)
if(CCACHE)
  # What ccache must not mind to cache files with precompiled headers: include/ and src/ use neither __TIME__ nor files
  # that are written while they are compiled.
  set(CCACHE ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE})
endif()

add_library(vg_options INTERFACE)
target_compile_options(vg_options INTERFACE -Wall -Wextra -Wno-missing-field-initializers -fno-math-errno)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # False alarms in std::string, more of them where headers are precompiled.
  target_compile_options(vg_options INTERFACE
    "$<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict;-Wno-stringop-overflow;-Wno-stringop-overread;-Wno-array-bounds>")
endif()
# What sanitizers add makes GCC 13 see overruns that are not there, in libraries' headers, too.
if(VERDIGRIS_WERROR AND NOT VERDIGRIS_SANITIZE)
  target_compile_options(vg_options INTERFACE -Werror)
endif()
if(VERDIGRIS_SANITIZE)
  target_compile_options(vg_options INTERFACE -fsanitize=${VERDIGRIS_SANITIZE} -fno-omit-frame-pointer -g1)
  # An index beyond the end of a container that is still memory of it is seen by no sanitizer.
  target_compile_definitions(vg_options INTERFACE _GLIBCXX_ASSERTIONS)
  target_link_options(vg_options INTERFACE -fsanitize=${VERDIGRIS_SANITIZE})
  if(VERDIGRIS_SANITIZE MATCHES "address" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # The frames that it keeps after a return do not always have the alignment of what GCC 13 puts there.
    target_compile_options(vg_options INTERFACE --param=asan-use-after-return=0)
  endif()
  if(VERDIGRIS_SANITIZE MATCHES "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(vg_options INTERFACE -Wno-tsan) # fences, which it does not follow, are used beside atomics only
  endif()
  if(VERDIGRIS_SANITIZE MATCHES "undefined")
    # An application may put any number into an enum of the C API; neither compiler assumes otherwise. The check of
    # virtual tables reads memory through a pipe, and calls every object bad when a test has used up all descriptors.
    target_compile_options(vg_options INTERFACE -fno-sanitize-recover=undefined -fno-sanitize=enum,vptr)
  endif()
endif()
# Of every product, also one that does without the rest.
add_library(vg_lines INTERFACE)
if(VERDIGRIS_LINES)
  target_compile_options(vg_lines INTERFACE -g1)
endif()
target_link_libraries(vg_options INTERFACE vg_lines)
if(VERDIGRIS_COVERAGE)
  target_compile_options(vg_options INTERFACE --coverage)
  target_link_options(vg_options INTERFACE --coverage)
endif()
target_include_directories(vg_options INTERFACE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include)
target_link_libraries(vg_options INTERFACE Threads::Threads ${CMAKE_DL_LIBS})
