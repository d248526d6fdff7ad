#include "cupti/calls/meaning.h"

#include <string_view>

namespace vg::cupti {
namespace {

struct Row {
  std::string_view name;
  Meaning meaning;
};
constexpr Row kRows[] = {
    {"cuInit", Meaning::Initialise},
    {"cuCtxCreate", Meaning::ContextCreate},
    {"cuCtxDestroy", Meaning::ContextDestroy},
    {"cuDevicePrimaryCtxRetain", Meaning::PrimaryRetain},
    {"cuDevicePrimaryCtxReset", Meaning::PrimaryReset},
    {"cuStreamCreate", Meaning::StreamCreate},
    {"cuStreamCreateWithPriority", Meaning::StreamCreate},
    {"cuGreenCtxStreamCreate", Meaning::StreamCreate},
    {"cuStreamDestroy", Meaning::StreamDestroy},
    {"cuStreamSynchronize", Meaning::StreamSynchronize},
    {"cuStreamWaitEvent", Meaning::StreamWaitEvent},
    {"cuStreamQuery", Meaning::StreamQuery},
    {"cuEventQuery", Meaning::EventQuery},
    {"cuCtxSynchronize", Meaning::ContextSynchronize},
    {"cuEventSynchronize", Meaning::EventSynchronize},
    {"cuEventRecord", Meaning::EventRecord},
    {"cuEventRecordWithFlags", Meaning::EventRecord},
    {"cuEventDestroy", Meaning::EventDestroy},
    {"cuModuleLoad", Meaning::ModuleLoad},
    {"cuModuleLoadData", Meaning::ModuleLoad},
    {"cuModuleLoadDataEx", Meaning::ModuleLoad},
    {"cuModuleLoadFatBinary", Meaning::ModuleLoad},
    {"cuLibraryLoadData", Meaning::ModuleLoad},
    {"cuLibraryLoadFromFile", Meaning::ModuleLoad},
    {"cuModuleUnload", Meaning::ModuleUnload},
    {"cuLibraryUnload", Meaning::ModuleUnload},
    {"cuGraphCreate", Meaning::GraphCreate},
    {"cuStreamEndCapture", Meaning::GraphEndCapture},
    {"cuGraphClone", Meaning::GraphClone},
    {"cuGraphDestroy", Meaning::GraphDestroy},
    {"cuGraphInstantiate", Meaning::GraphInstantiate},
    {"cuGraphInstantiateWithFlags", Meaning::GraphInstantiate},
    {"cuGraphInstantiateWithParams", Meaning::GraphInstantiate},
    {"cuGraphExecDestroy", Meaning::GraphExecDestroy},
    {"cuLaunchKernel", Meaning::Launch},
    {"cuLaunchCooperativeKernel", Meaning::Launch},
    {"cuLaunchKernelEx", Meaning::LaunchWithConfig},
};

std::string_view withoutTwin(std::string_view symbol) {
  for (const std::string_view end : {"_ptsz", "_ptds"})
    if (symbol.size() > end.size() && symbol.substr(symbol.size() - end.size()) == end)
      return symbol.substr(0, symbol.size() - end.size());
  return symbol;
}

std::string_view withoutVersion(std::string_view symbol) {
  const size_t at = symbol.rfind("_v");
  if (at == std::string_view::npos || at + 2 == symbol.size()) return symbol;
  return symbol.find_first_not_of("0123456789", at + 2) == std::string_view::npos ? symbol.substr(0, at) : symbol;
}

}  // namespace

Meaning meaningOf(const char* symbol) {
  const std::string_view base = withoutVersion(withoutTwin(symbol));
  for (const Row& row : kRows)
    if (row.name == base) return row.meaning;
  return Meaning::None;
}

bool isPerThread(const char* symbol) { return withoutTwin(symbol).size() != std::string_view(symbol).size(); }

}  // namespace vg::cupti
