// Advice, prefetches, attributes of ranges and attachments of managed memory, and of memory that is not managed.
#include "families.h"
#include "objects.h"

namespace calls {
namespace {

void advise(const Pointer& pointer, size_t bytes) {
  const int advice = chance(95) ? 1 + belowInt(6) : oneOf({0, 7, 8, -1});
  RECORD(cuMemAdvise, given("pointer", pointer), given("bytes", bytes), givenAs<CUmem_advise>("advice", advice),
         given("location", anyLocation()));
}

void prefetch(const Pointer& pointer, size_t bytes) {
  RECORD(cuMemPrefetchAsync, given("pointer", pointer), given("bytes", bytes), given("location", anyLocation()),
         given("flags", mostly(95, {0u}, {1u})), given("stream", anyStream()));
}

void askRangeAttribute(const Pointer& pointer, size_t bytes) {
  const int attribute = chance(95) ? 1 + belowInt(8) : oneOf({0, 9});
  const size_t whole = attribute == CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY ? 4 * (1 + below(3)) : 4;
  int values[8] = {0x5a5a5a5a, 0x5a5a5a5a, 0x5a5a5a5a};
  RECORD(cuMemRangeGetAttribute, static_cast<void*>(values), given("size", chance(90) ? whole : below(9)),
         givenAs<CUmem_range_attribute>("attribute", attribute), given("pointer", pointer), given("bytes", bytes));
  output("values", list(values[0], values[1]));
}

void attach(const Pointer& pointer, size_t bytes) {
  RECORD(cuStreamAttachMemAsync, given("stream", anyStream()), given("pointer", pointer),
         given("bytes", chance(60) ? 0 : bytes), given("flags", mostly(90, {1u, 2u, 4u}, {0u, 3u, 5u, 6u, 7u})));
}

}  // namespace

void callManagedMemory() {
  const Pointer pointer = chance(85) ? pointerOf(Kind::Managed) : devicePointer();
  size_t bytes = chance(70) ? pointer.room : below(pointer.room + 1);
  if (wrong("past the end", 3)) bytes = pointer.room + 70000;
  switch (below(4)) {
    case 0:
      advise(pointer, bytes);
      break;
    case 1:
      prefetch(pointer, bytes);
      break;
    case 2:
      askRangeAttribute(pointer, bytes);
      break;
    default:
      attach(pointer, bytes);
      break;
  }
  settle();
}

}  // namespace calls
