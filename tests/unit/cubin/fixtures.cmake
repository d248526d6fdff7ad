# Native code of our own sources, for the tests of src/cubin. Without nvcc those tests are skipped.
include(nvcc)

if(VERDIGRIS_SANITIZE MATCHES "address")
  set(unit_properties ENVIRONMENT
                       "LSAN_OPTIONS=suppressions=${CMAKE_SOURCE_DIR}/tests/unit/cubin/leaks.txt:print_suppressions=0")
endif()

if(VERDIGRIS_NVCC)
  set(cubins "")
  function(cubin_fixture file source)
    set(to ${CMAKE_BINARY_DIR}/cubins/${file})
    set(from ${CMAKE_SOURCE_DIR}/tests/unit/cubin/${source})
    add_custom_command(OUTPUT ${to} DEPENDS ${from} ${VG_NVCC_FILE} COMMENT "nvcc cubins/${file}" VERBATIM
                       COMMAND ${VG_NVCC_FILE} -cubin ${ARGN} ${from} -o ${to})
    set(cubins ${cubins} ${to} PARENT_SCOPE)
  endfunction()
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/cubins)
  foreach(target 80 90 100)
    cubin_fixture(kernels.${target}.cubin kernels.cu -arch=sm_${target})
    cubin_fixture(bytes.${target}.cubin bytes.ptx -arch=sm_${target})
  endforeach()
  cubin_fixture(references.90.cubin references.ptx -arch=sm_90)
  cubin_fixture(parts.90.cubin parts.cu -arch=sm_90 -rdc=true)
  add_custom_target(cubin_fixtures DEPENDS ${cubins})
  add_dependencies(unit_cubin cubin_fixtures)
  target_compile_definitions(unit_cubin PRIVATE CUBINS="${CMAKE_BINARY_DIR}/cubins/")
endif()
