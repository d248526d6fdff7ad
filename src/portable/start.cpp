// How programs start on every glibc. Up to 2.33 it leaves the constructors of a program to functions that the program
// brings along, which compilers made for a newer glibc do not add any more; newer ones do not run them a second time
// where a program brings such functions. Destructors are the dynamic linker's everywhere. Linked with
// --wrap=__libc_start_main: cmake/portable.cmake.
extern "C" {

using Main = int(int, char**, char**);
using Step = void(int, char**, char**);

int __real___libc_start_main(Main*, int, char**, Step* init, void (*fini)(), void (*linkerFini)(), void* stackEnd);

[[gnu::visibility("hidden")]] extern Step* const __init_array_start[];
[[gnu::visibility("hidden")]] extern Step* const __init_array_end[];
void _init();

static void runConstructors(int count, char** arguments, char** environment) {
  _init();
  for (Step* const* step = __init_array_start; step != __init_array_end; ++step) (*step)(count, arguments, environment);
}

[[gnu::visibility("hidden")]] int __wrap___libc_start_main(Main* main, int count, char** arguments, Step*, void (*)(),
                                                           void (*linkerFini)(), void* stackEnd) {
  return __real___libc_start_main(main, count, arguments, runConstructors, nullptr, linkerFini, stackEnd);
}
}
