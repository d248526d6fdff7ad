#include "host_register/placement.h"

#include <gtest/gtest.h>
#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace vg::host_register {
namespace {

TEST(PlacementTest, PagesPreferTheNodeThatTheyWerePlacedOn) {
  void* const pages = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  placeOnNode(pages, 4096, currentNode());
  int mode = -1;
  unsigned long nodes[16] = {};
  if (syscall(SYS_get_mempolicy, &mode, nodes, 1024ul, pages, MPOL_F_ADDR)) GTEST_SKIP() << "no memory policies here";
  if (mode == MPOL_DEFAULT) GTEST_SKIP() << "this process may not place memory";
  EXPECT_EQ(mode, MPOL_PREFERRED);
  EXPECT_EQ(nodes[0], 1ul << currentNode());
  munmap(pages, 4096);
}

TEST(PlacementTest, NodesThatAreNotThereChangeNothing) {
  void* const pages = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  placeOnNode(pages, 4096, 1000);
  placeOnNode(pages, 4096, -1);
  placeNearCaller(pages, 4096);
  *static_cast<volatile char*>(pages) = 1;
  EXPECT_FALSE(nodeExists(-1));
  EXPECT_TRUE(nodeExists(currentNode()));
  munmap(pages, 4096);
}

}  // namespace
}  // namespace vg::host_register
