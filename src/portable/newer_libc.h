// What the stand-ins of newer_libc.cpp are made of, for their tests.
#pragma once

#include <pthread.h>

#include <ctime>

namespace vg::portable {

// pthread_cond_clockwait where the C library can only wait by the clock of the day.
int waitByClockOfDay(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock, const timespec* until);

}  // namespace vg::portable
