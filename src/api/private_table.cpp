#include "api/private_table.h"

#include "api/entry_points.h"
#include "base/settings.h"

namespace vg::api {

namespace {

void countEntryPoints(unsigned* live, unsigned* stubs) {
  const Coverage figure = coverage();
  *live = figure.live;
  *stubs = figure.stubs;
}

void visitEntryPoints(void (*visit)(void*, const char*, bool), void* state) {
  for (size_t i = 0; i < kEntryPointCount; ++i) visit(state, kEntryPoints[i].symbol, kEntryPoints[i].live);
}

void visitSettings(void (*visit)(void*, const char*, const char*, const char*, const char*), void* state) {
  for (const SettingRow& row : settingRows()) visit(state, row.variable, row.fallback, row.meaning, row.value.c_str());
}

constexpr PrivateTable kTable = {sizeof(PrivateTable), VERDIGRIS_VERSION, countEntryPoints, visitEntryPoints,
                                 visitSettings};

}  // namespace

const PrivateTable& privateTable() { return kTable; }

}  // namespace vg::api
