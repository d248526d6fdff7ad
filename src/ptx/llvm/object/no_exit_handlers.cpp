// No destructor of this library runs when the process exits: compiles may be under way then, in threads for which
// nobody waits, and LLVM's options and tables have to stay while they run.
//
// LLVM and the C++ library register the destructors of their variables by this function, which in this library is ours.
// NOLINTNEXTLINE(bugprone-reserved-identifier)
extern "C" __attribute__((visibility("hidden"))) int __cxa_atexit(void (*)(void*), void*, void*) { return 0; }
