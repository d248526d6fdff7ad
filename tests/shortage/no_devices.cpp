// For libcuda.so.1, which finds its own devices.
#include "shortage/subject.h"

void prepareDevices() {}
