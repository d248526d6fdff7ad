# find_package(verdigris): verdigris::cuda is the driver library with its header, VERDIGRIS_COMMAND the command, and
# VERDIGRIS_LIBRARY_FOLDER what LD_LIBRARY_PATH wants.
get_filename_component(verdigris_prefix ${CMAKE_CURRENT_LIST_DIR}/../../.. ABSOLUTE)
set(VERDIGRIS_COMMAND ${verdigris_prefix}/bin/verdigris)
set(VERDIGRIS_LIBRARY_FOLDER ${verdigris_prefix}/lib/verdigris)
if(NOT TARGET verdigris::cuda)
  add_library(verdigris::cuda SHARED IMPORTED)
  set_target_properties(verdigris::cuda PROPERTIES IMPORTED_LOCATION ${VERDIGRIS_LIBRARY_FOLDER}/libcuda.so.1
    IMPORTED_SONAME libcuda.so.1 INTERFACE_INCLUDE_DIRECTORIES ${verdigris_prefix}/include/verdigris)
endif()
unset(verdigris_prefix)
