// Which warps of a block have yet to look at its barrier objects: those with lanes that a phase has ended for since
// they were told to wait, those with lanes that have seen the one before it end, and those that may be on their way to
// ask. A GPU wakes all of them at once and runs none far ahead, so they have seen a phase end before the next one ends
// or the object is set up anew; here whoever does that lets them look first. Belongs to the block's worker thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace vg::backend::cpu {

class Onlookers {
 public:
  void reset();
  // Lanes of a warp have asked for a phase of an object; `again`: those that have to ask again.
  void asked(uint32_t warp, const std::byte* object, uint32_t lanes, uint32_t again);
  // A phase of the object has ended, or it is another one. `running`: other warps that could go on without looking at
  // an object, those that nobody has told to wait.
  void changed(const std::byte* object, uint32_t running);
  // Whether it has changed or been asked before, or somebody has made it known.
  bool knows(const std::byte* object) const { return find(object); }
  void know(const std::byte* object) { of(object); }
  // Warps that have yet to look at the object.
  uint32_t owed(const std::byte* object) const;
  // Warps that cannot go on before an object changes that has not changed since they asked.
  uint32_t waiting() const;
  // A warp waits or lets others run. Loops that ask an object look at it within a few of these.
  void stopped(uint32_t warp);
  void ended(uint32_t warp);

 private:
  // By warp, with those that have such lanes.
  struct Lanes {
    uint32_t warps = 0, of[32] = {};
    void add(uint32_t warp, uint32_t lanes);
    void remove(uint32_t warp, uint32_t lanes);
  };
  struct Looks {
    Lanes told;             // to wait
    Lanes seen;             // the last phase end, and have not asked since
    Lanes owed;             // have not looked since a phase ended
    uint16_t turns[32];     // how often a warp of `owed` has stopped since
    uint32_t expected = 0;  // warps that may be on their way to ask
    void owe(const Lanes& lanes);
  };

  const Looks* find(const std::byte* object) const;
  Looks& of(const std::byte* object);

  std::vector<const std::byte*> objects_;  // few
  std::vector<Looks> looks_;               // of each
  uint32_t late_ = 0;                      // warps that may owe some object a look
};

}  // namespace vg::backend::cpu
