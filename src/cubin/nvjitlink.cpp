// The library nvJitLink, by its public functions.
#include <dlfcn.h>

#include "base/log.h"
#include "cubin/compiler_tools.h"

namespace vg::cubin {
namespace {

using Handle = void*;
using Status = int;  // 0: success

// Of nvJitLinkInputType.
int typeOf(InputKind kind) {
  switch (kind) {
    case InputKind::Cubin:
      return 1;
    case InputKind::Ptx:
      return 2;
    case InputKind::LtoIr:
      return 3;
    case InputKind::FatBinary:
      return 4;
    case InputKind::Object:
      return 5;
    case InputKind::Library:
      return 6;
  }
  return 0;
}

struct Library {
  Status (*create)(Handle*, uint32_t, const char**) = nullptr;
  Status (*destroy)(Handle*) = nullptr;
  Status (*addData)(Handle, int, const void*, size_t, const char*) = nullptr;
  Status (*complete)(Handle) = nullptr;
  Status (*cubinSize)(Handle, size_t*) = nullptr;
  Status (*cubin)(Handle, void*) = nullptr;
  Status (*errorSize)(Handle, size_t*) = nullptr;
  Status (*error)(Handle, char*) = nullptr;
  Status (*infoSize)(Handle, size_t*) = nullptr;
  Status (*info)(Handle, char*) = nullptr;

  bool bind(void* library);
};

bool Library::bind(void* library) {
  bool all = true;
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    all &= function != nullptr;
  };
  find(create, "nvJitLinkCreate");
  find(destroy, "nvJitLinkDestroy");
  find(addData, "nvJitLinkAddData");
  find(complete, "nvJitLinkComplete");
  find(cubinSize, "nvJitLinkGetLinkedCubinSize");
  find(cubin, "nvJitLinkGetLinkedCubin");
  find(errorSize, "nvJitLinkGetErrorLogSize");
  find(error, "nvJitLinkGetErrorLog");
  find(infoSize, "nvJitLinkGetInfoLogSize");
  find(info, "nvJitLinkGetInfoLog");
  return all;
}

constexpr const char* kNames[] = {"libnvJitLink.so.13", "libnvJitLink.so.12", "libnvJitLink.so"};

void* openLibrary() {
  for (const char* name : kNames)
    if (void* const library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
  for (const std::string& folder : compilerLibraryFolders())
    for (const char* name : kNames)
      if (void* const library = dlopen((folder + "/" + name).c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
  return nullptr;
}

// Opened once and kept. Null: there is none.
const Library* theLibrary() {
  static const Library* const instance = []() -> const Library* {
    static Library library;
    void* const opened = openLibrary();
    return opened && library.bind(opened) ? &library : nullptr;
  }();
  return instance;
}

std::string textOf(Handle handle, Status (*sizeOf)(Handle, size_t*), Status (*read)(Handle, char*)) {
  size_t size = 0;
  if (sizeOf(handle, &size) || !size) return {};
  std::string text(size, '\0');
  if (read(handle, text.data())) return {};
  text.resize(text.find('\0') == std::string::npos ? size : text.find('\0'));
  return text;
}

std::vector<std::string> optionsOf(const Request& request) {
  std::vector<std::string> options = {"-arch=" + request.target()};
  if (request.maxRegisters) options.push_back("-maxrregcount=" + std::to_string(request.maxRegisters));
  for (const Input& input : request.inputs)
    if (input.kind == InputKind::LtoIr) {
      options.push_back("-lto");
      break;
    }
  return options;
}

bool link(const Library& library, Handle handle, const Request& request, std::string& made) {
  for (const Input& input : request.inputs)
    if (library.addData(handle, typeOf(input.kind), input.bytes.data(), input.bytes.size(), input.name.c_str()))
      return false;
  size_t size = 0;
  if (library.complete(handle) || library.cubinSize(handle, &size)) return false;
  made.resize(size);
  return library.cubin(handle, made.data()) == 0;
}

}  // namespace

Outcome compileWithNvJitLink(const Request& request, std::string& made, const Logs& logs) {
  const Library* const library = theLibrary();
  if (!library) return Outcome::NotThere;
  const std::vector<std::string> options = optionsOf(request);
  std::vector<const char*> words;
  words.reserve(options.size());
  for (const std::string& option : options) words.push_back(option.c_str());
  Handle handle = nullptr;
  if (library->create(&handle, static_cast<uint32_t>(words.size()), words.data())) {
    VG_LOG(Info, "nvJitLink does not compile for %s", request.target().c_str());
    return Outcome::NotThere;
  }
  const bool done = link(*library, handle, request, made);
  if (logs.error) *logs.error += textOf(handle, library->errorSize, library->error);
  if (logs.info) *logs.info += textOf(handle, library->infoSize, library->info);
  library->destroy(&handle);
  return done ? Outcome::Made : Outcome::Refused;
}

}  // namespace vg::cubin
