// What ptxas and nvlink become where a process with an emulated device starts them (redirect/started_compiler.h): the
// PTX that goes in is checked by the driver for the architecture that is asked for, and comes out as it is where native
// code would, which programs pass on to cuModuleLoadData.
#pragma once

namespace vg::tools {

// `words`: which compiler, the path of its program, and its arguments. Returns its exit status.
int standIn(int count, char** words);

}  // namespace vg::tools
