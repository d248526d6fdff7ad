// A program with ranges, made with the toolkit's own NVTX, that does not use CUDA at all.
#include <nvtx3/nvToolsExt.h>

int main() {
  nvtxRangePushA("pushed");
  const nvtxDomainHandle_t domain = nvtxDomainCreateA("own");
  nvtxEventAttributes_t attributes{};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  attributes.message.registered = nvtxDomainRegisterStringA(domain, "in a domain");
  nvtxDomainRangePushEx(domain, &attributes);
  nvtxMarkA("mark");
  nvtxDomainRangePop(domain);
  nvtxRangePop();
  const nvtxRangeId_t id = nvtxRangeStartA("started");
  nvtxRangeEnd(id);
  return id ? 0 : 1;
}
