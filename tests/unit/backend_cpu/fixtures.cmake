# Handlers of these tests leave by siglongjmp; the thread sanitizer of GCC 13 takes all that follows for a handler's.
set(unit_properties ENVIRONMENT TSAN_OPTIONS=report_signal_unsafe=0)
