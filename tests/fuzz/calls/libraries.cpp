// Libraries and their kernels.
#include "families.h"
#include "modules.h"

namespace calls {

Slots<CUkernel, 4> kernels{"kernel"};

namespace {

Slots<CUlibrary, 2> libraries{"library"};
const char* kernelNames[4];

void loadLibrary() {
  const int slot = libraries.unused();
  if (slot < 0) return;
  std::string name;
  const void* const image = drawSource(name);
  describe("image", name);
  CUlibrary library = nullptr;
  if (RECORD(cuLibraryLoadData, &library, image, nullptr, nullptr, 0, nullptr, nullptr, 0) == CUDA_SUCCESS)
    libraries.put(slot, library);
}

void findKernel() {
  const Named<CUlibrary> library = libraries.any();
  const int slot = kernels.unused();
  if (!library || slot < 0) return;
  const char* const name = chance(92) ? anyKernelName() : "missing";
  CUkernel kernel = nullptr;
  describe("name", name);
  if (RECORD(cuLibraryGetKernel, &kernel, given("library", library), name)) return;
  kernels.put(slot, kernel);
  kernelNames[slot] = name;
}

void findLibraryVariable() {
  const Named<CUlibrary> library = libraries.any();
  if (!library) return;
  const char* const name = oneOf({"word", "table", "fixed", "missing", "nothing"});
  CUdeviceptr address = 0;
  size_t bytes = 0;
  describe("name", name);
  if (chance(30))
    RECORD(cuLibraryGetManaged, &address, &bytes, given("library", library), name);
  else
    RECORD(cuLibraryGetGlobal, &address, &bytes, given("library", library), name);
  output("size", bytes);
}

void countKernels() {
  const Named<CUlibrary> library = libraries.any();
  if (!library) return;
  unsigned count = 0;
  if (chance(50)) {
    RECORD(cuLibraryGetKernelCount, &count, given("library", library));
    return output("count", count);
  }
  CUkernel found[10] = {};
  RECORD(cuLibraryEnumerateKernels, found, given("room", static_cast<unsigned>(below(9))), given("library", library));
  for (CUkernel kernel : found) count += kernel != nullptr;
  output("filled", count);
}

CUkernel givenKernel(const Named<CUkernel>& kernel) {
  describe("kernel", nameOf(kernel));
  return kernel.object;
}

void askKernelAttribute() {
  const Named<CUkernel> kernel = kernels.any();
  if (!kernel) return;
  const int attribute = anyFunctionAttribute();
  int value = 0;
  RECORD(cuKernelGetAttribute, &value, givenAs<CUfunction_attribute>("attribute", attribute), givenKernel(kernel),
         given("device", mostly(92, {0}, {1, -1})));
  if (comparable(attribute)) output("value", value);
}

void setKernelAttribute() {
  const Named<CUkernel> kernel = kernels.any();
  if (!kernel) return;
  RECORD(cuKernelSetAttribute, givenAs<CUfunction_attribute>("attribute", anyFunctionAttribute()),
         given("value", anyFunctionValue()), givenKernel(kernel), 0);
}

void askKernel() {
  const Named<CUkernel> kernel = kernels.any();
  if (!kernel) return;
  switch (below(4)) {
    case 0: {
      const char* name = nullptr;
      RECORD(cuKernelGetName, &name, givenKernel(kernel));
      return output("name", name ? name : "none");
    }
    case 1: {
      CUlibrary library = nullptr;
      RECORD(cuKernelGetLibrary, &library, givenKernel(kernel));
      return output("library", libraries.nameOf(library));
    }
    case 2: {
      size_t offset = 0, bytes = 0;
      RECORD(cuKernelGetParamInfo, givenKernel(kernel), given("index", below(5)), &offset, out("size", &bytes, 15));
      return output("parameter", list(offset, bytes));
    }
    default:
      RECORD(cuKernelSetCacheConfig, givenKernel(kernel), givenAs<CUfunc_cache>("config", belowInt(5)), 0);
  }
}

}  // namespace

std::string nameOf(const Named<CUkernel>& kernel) { return kernelNames[kernel.slot]; }

void callLibraries() {
  pickOf({{4, loadLibrary},
          {4, findKernel},
          {2, findLibraryVariable},
          {2, countKernels},
          {2, askKernelAttribute},
          {2, setKernelAttribute},
          {5, askKernel}});
}

void releaseLibraries() {
  kernels.forgetAll();
  libraries.releaseAll([](CUlibrary library) { CALL(cuLibraryUnload, library); });
}

}  // namespace calls
