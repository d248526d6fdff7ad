// `verdigris persist`: keeps the machine's GPUs awake, so that programs open them in some milliseconds in place of a
// hundred. Off unless somebody runs it; a GPU that is awake takes more power than one that is not.
#pragma once

namespace vg::tools {

struct PersistOptions {
  double seconds = 0;  // how long; 0: until it is interrupted or told to end
};

// Exit status: 0 at its end, 77 there is no GPU.
int persist(const PersistOptions& options);

}  // namespace vg::tools
