# How long tests may take. VERDIGRIS_PATIENCE is by how much longer everything takes than on a processor of its own: where
# one is emulated, for example.
set(VERDIGRIS_PATIENCE 1 CACHE STRING "How many times as long as usual tests may take")

# vg_may_take(SECONDS TEST...)
function(vg_may_take seconds)
  math(EXPR seconds "${seconds} * ${VERDIGRIS_PATIENCE}")
  set_tests_properties(${ARGN} PROPERTIES TIMEOUT ${seconds})
endfunction()
