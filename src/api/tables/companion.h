// How the libraries beside libcuda.so.1 find it and the export tables of our own that they ask it. They link nothing of
// it, so that all of this stands here.
#pragma once

#include <cuda.h>
#include <dlfcn.h>

#include <string>

namespace vg::api {

// The driver library that the program has, else the one of this installation (in the folder above the calling library's
// or in the same), else the one that is found. Null: there is none.
inline void* driverLibrary() {
  if (void* const loaded = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD)) return loaded;
  Dl_info own{};
  if (dladdr(reinterpret_cast<void*>(&driverLibrary), &own) && own.dli_fname) {
    const std::string path = own.dli_fname;
    for (const char* place : {"../libcuda.so.1", "libcuda.so.1"})
      if (void* const there = dlopen((path.substr(0, path.rfind('/') + 1) + place).c_str(), RTLD_NOW)) return there;
  }
  return dlopen("libcuda.so.1", RTLD_NOW);
}

// Null where the library is not ours. Of another build it may be shorter than the caller's: look at its `size`.
template <class Table>
const Table* exportTable(void* library, const CUuuid& id) {
  const auto find = reinterpret_cast<CUresult (*)(const void**, const CUuuid*)>(dlsym(library, "cuGetExportTable"));
  const void* table = nullptr;
  return find && find(&table, &id) == CUDA_SUCCESS ? static_cast<const Table*>(table) : nullptr;
}

}  // namespace vg::api
