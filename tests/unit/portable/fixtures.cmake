# The objects that every product is linked with, in place of the C library's own functions.
if(VERDIGRIS_PORTABLE)
  target_link_libraries(unit_portable PRIVATE vg_portable)
else()
  set_target_properties(unit_portable PROPERTIES EXCLUDE_FROM_ALL ON)
  set(unit_runs OFF)
endif()
