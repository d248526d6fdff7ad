# vg_layer(NAME [ROOMS ...] [LIBS ...]): every .cpp directly in src/NAME and in its ROOMS, which are folders of it, becomes
# the object library vg_NAME (slashes become underscores), the last of VG_LAYERS so far. What may include what is checked by scripts/check-layers, which runs as a
# test.
function(vg_layer name)
  cmake_parse_arguments(LAYER "" "" "ROOMS;LIBS" ${ARGN})
  string(REPLACE "/" "_" target vg_${name})
  set(patterns ${CMAKE_SOURCE_DIR}/src/${name}/*.cpp)
  foreach(room IN LISTS LAYER_ROOMS)
    list(APPEND patterns ${CMAKE_SOURCE_DIR}/src/${name}/${room}/*.cpp)
  endforeach()
  file(GLOB sources CONFIGURE_DEPENDS ${patterns})
  vg_own_sources(sources)
  add_library(${target} OBJECT ${sources})
  target_link_libraries(${target} PUBLIC vg_options ${LAYER_LIBS})
  # Inside, every symbol has its own name: cuda.h maps cuMemAlloc to cuMemAlloc_v2 for programs only.
  target_compile_definitions(${target} PUBLIC __CUDA_API_VERSION_INTERNAL)
  vg_use_precompiled(${target} vg_layer_headers)
  set(VG_LAYERS ${VG_LAYERS} ${target} PARENT_SCOPE)
endfunction()
