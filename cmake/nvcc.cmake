# Programs made with nvcc as a user makes them (no CMake CUDA language), and tests that run programs on Verdigris.
#
# VERDIGRIS_NVCC is the compiler; empty means that there is none, and every program here is left out with a message.
if(NOT DEFINED CACHE{VERDIGRIS_NVCC})
  find_program(VERDIGRIS_NVCC nvcc PATHS /usr/local/cuda/bin ${CMAKE_SOURCE_DIR}/.cuda/nvidia/cu13/bin)
endif()
if(VERDIGRIS_NVCC)
  file(REAL_PATH ${VERDIGRIS_NVCC} VG_NVCC_FILE)
  get_filename_component(VG_CUDART_FOLDER ${VG_NVCC_FILE} DIRECTORY)
  get_filename_component(VG_CUDART_FOLDER ${VG_CUDART_FOLDER} DIRECTORY)
  set(VG_CUDART_FOLDER ${VG_CUDART_FOLDER}/lib64)
else()
  get_property(said GLOBAL PROPERTY VG_SAID_NO_NVCC)
  if(NOT said)
    message(STATUS "No nvcc: programs that need it are not built (scripts/toolkit installs one)")
    set_property(GLOBAL PROPERTY VG_SAID_NO_NVCC ON)
  endif()
endif()

# tests/apps/run-on-gpu wants the shared runtime beside the programs.
set(VG_APPS_FOLDER ${CMAKE_BINARY_DIR}/apps)
if(VERDIGRIS_NVCC)
  file(GLOB runtime ${VG_CUDART_FOLDER}/libcudart.so.[0-9]*)
  file(COPY ${runtime} DESTINATION ${VG_APPS_FOLDER}/shared FOLLOW_SYMLINK_CHAIN)
endif()

# A program that was built without the sanitizer needs its runtime loaded first.
set(VG_SANITIZER_RUNTIME "")
if(VERDIGRIS_SANITIZE MATCHES "address|thread")
  string(REGEX MATCH "address|thread" kind "${VERDIGRIS_SANITIZE}")
  string(REPLACE "address" "libasan.so" library "${kind}")
  string(REPLACE "thread" "libtsan.so" library "${library}")
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=${library} OUTPUT_VARIABLE VG_SANITIZER_RUNTIME
                  OUTPUT_STRIP_TRAILING_WHITESPACE)
endif()

# vg_run_test(NAME WAY library|preload|run COMMAND ... [DEVICES list] [ENVIRONMENT ...] [LABEL label])
# One test that runs a program on Verdigris: found through LD_LIBRARY_PATH, put first with LD_PRELOAD, or started by
# `verdigris run`. Exit status 77 means skipped.
function(vg_run_test name)
  cmake_parse_arguments(RUN "" "WAY;DEVICES;LABEL" "COMMAND;ENVIRONMENT" ${ARGN})
  set(search ${VG_CUDART_FOLDER})
  set(preload ${VG_SANITIZER_RUNTIME})
  set(command ${RUN_COMMAND})
  if(RUN_WAY STREQUAL "library")
    list(PREPEND search ${CMAKE_BINARY_DIR}/lib)
  elseif(RUN_WAY STREQUAL "preload")
    list(APPEND preload ${CMAKE_BINARY_DIR}/lib/libcuda.so.1)
  elseif(TARGET verdigris)
    set(command $<TARGET_FILE:verdigris> run -- ${RUN_COMMAND})
  else()
    return()
  endif()
  string(REPLACE ";" ":" search "${search}")
  string(REPLACE ";" ":" preload "${preload}")
  set(environment LD_LIBRARY_PATH=${search} CUDA_CACHE_PATH=${CMAKE_BINARY_DIR}/kernel-cache
                  ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0
                  TSAN_OPTIONS=ignore_noninstrumented_modules=1:halt_on_error=1)
  if(preload)
    list(APPEND environment LD_PRELOAD=${preload})
  endif()
  if(RUN_DEVICES)
    list(APPEND environment VERDIGRIS_DEVICES=${RUN_DEVICES})
  endif()
  set(timeout 180)
  if(VERDIGRIS_SANITIZE OR VERDIGRIS_COVERAGE)
    set(timeout 600)
  endif()
  add_test(NAME ${name} COMMAND ${command})
  set_tests_properties(${name} PROPERTIES ENVIRONMENT "${environment};${RUN_ENVIRONMENT}"
                       SKIP_RETURN_CODE 77 LABELS "${RUN_LABEL}")
  vg_may_take(${timeout} ${name})
endfunction()

# vg_nvcc_object(RESULT NAME SOURCE OPTIONS...): one source compiled to an object whose path goes to RESULT.
function(vg_nvcc_object result name source)
  get_filename_component(source ${source} ABSOLUTE)
  get_filename_component(stem ${source} NAME_WE)
  set(object ${VG_APPS_FOLDER}/objects/${name}/${stem}.o)
  file(MAKE_DIRECTORY ${VG_APPS_FOLDER}/objects/${name})
  add_custom_command(OUTPUT ${object} DEPENDS ${source} ${VG_NVCC_FILE}
                     COMMAND ${VG_NVCC_FILE} -std=c++17 -O2 ${ARGN} -MD -MF ${object}.d -c ${source} -o ${object}
                     DEPFILE ${object}.d COMMENT "nvcc ${name}/${stem}.o" VERBATIM)
  set(${result} ${object} PARENT_SCOPE)
endfunction()

# vg_cuda_program(NAME SOURCES ... [OPTIONS nvcc options ...] [LIBS linker options ...] [RDC] [PER_THREAD])
# Compiles once and links twice: apps/static/NAME and apps/shared/NAME, by the kind of CUDA runtime. RDC compiles
# relocatable device code. PER_THREAD makes the per-thread stream the default one.
function(vg_cuda_program name)
  cmake_parse_arguments(PROGRAM "RDC;PER_THREAD" "" "SOURCES;OPTIONS;LIBS" ${ARGN})
  if(NOT VERDIGRIS_NVCC)
    return()
  endif()
  set(options ${PROGRAM_OPTIONS})
  set(link_options "")
  if(PROGRAM_RDC)
    list(APPEND options -rdc=true)
    set(link_options -rdc=true ${PROGRAM_OPTIONS})
  endif()
  if(PROGRAM_PER_THREAD)
    list(APPEND options --default-stream per-thread)
  endif()
  set(objects "")
  foreach(source IN LISTS PROGRAM_SOURCES)
    vg_nvcc_object(object ${name} ${source} ${options})
    list(APPEND objects ${object})
  endforeach()
  foreach(kind static shared)
    set(program ${VG_APPS_FOLDER}/${kind}/${name})
    file(MAKE_DIRECTORY ${VG_APPS_FOLDER}/${kind})
    add_custom_command(OUTPUT ${program} DEPENDS ${objects}
                       COMMAND ${VG_NVCC_FILE} ${link_options} ${objects} -cudart ${kind} -o ${program} ${PROGRAM_LIBS}
                       COMMENT "nvcc apps/${kind}/${name}" VERBATIM)
    list(APPEND programs ${program})
  endforeach()
  add_custom_target(app_${name} ALL DEPENDS ${programs})
endfunction()

# vg_one_of(RESULT NAME WORDS...): one of the words, which one a name decides.
function(vg_one_of result name)
  list(LENGTH ARGN count)
  string(MD5 hash ${name})
  string(SUBSTRING ${hash} 0 6 hash)
  math(EXPR which "0x${hash} % ${count}")
  list(GET ARGN ${which} word)
  set(${result} ${word} PARENT_SCOPE)
endfunction()

# vg_cuda_test(NAME PROGRAM name [DEVICES list] [ENVIRONMENT ...] [ARGUMENTS ...] [INTERPRETED])
# Runs a program of vg_cuda_program, linked statically, with the library on the search path, and once more as one of the other
# five kinds and ways in; with settings of the library, which do not depend on how it was found, only once. A kernel
# that could not be compiled fails the test, unless INTERPRETED says that there is one.
function(vg_cuda_test name)
  cmake_parse_arguments(TEST "INTERPRETED" "PROGRAM;DEVICES" "ENVIRONMENT;ARGUMENTS" ${ARGN})
  if(NOT VERDIGRIS_NVCC)
    return()
  endif()
  set(runs static.library)
  if(NOT TEST_ENVIRONMENT MATCHES "VERDIGRIS_")
    vg_one_of(other ${name} shared.library static.preload shared.run static.run shared.preload)
    list(APPEND runs ${other})
  endif()
  foreach(run IN LISTS runs)
    string(REPLACE "." ";" parts ${run})
    list(GET parts 0 kind)
    list(GET parts 1 way)
    vg_run_test(apps.${name}.${run} WAY ${way} COMMAND ${VG_APPS_FOLDER}/${kind}/${TEST_PROGRAM} ${TEST_ARGUMENTS}
                DEVICES ${TEST_DEVICES} ENVIRONMENT ${TEST_ENVIRONMENT} LABEL apps)
    if(TEST apps.${name}.${run} AND NOT TEST_INTERPRETED)
      set_tests_properties(apps.${name}.${run} PROPERTIES FAIL_REGULAR_EXPRESSION "is interpreted, which is slow")
    endif()
  endforeach()
endfunction()

# vg_driver_program(NAME SOURCES ... [DEVICES list] [ARGUMENTS ...]): a program of the driver API, compiled by the plain
# compiler with include/cuda.h and linked with libcuda.so. Runs with the library on the search path and by one of the other
# two ways in. Needs no nvcc.
function(vg_driver_program name)
  cmake_parse_arguments(PROGRAM "" "DEVICES" "SOURCES;ARGUMENTS;ENVIRONMENT" ${ARGN})
  add_executable(${name} ${PROGRAM_SOURCES})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/include)
  target_link_libraries(${name} PRIVATE cuda Threads::Threads m)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${VG_APPS_FOLDER}/driver SKIP_BUILD_RPATH ON)
  vg_one_of(other ${name} preload run)
  foreach(way library ${other})
    vg_run_test(apps.${name}.${way} WAY ${way} COMMAND $<TARGET_FILE:${name}> ${PROGRAM_ARGUMENTS}
                DEVICES ${PROGRAM_DEVICES} ENVIRONMENT ${PROGRAM_ENVIRONMENT} LABEL apps)
  endforeach()
endfunction()
