// printf on the device: every kind of argument, strings, the return value, many lanes and blocks.
#include <algorithm>
#include <sstream>
#include <string>

#include "capture.h"
#include "check.h"

__global__ void kinds(int* returned) {
  returned[0] = printf("plain\n");
  returned[1] = printf("%d %u %x %c %5d|%-5d|%05d\n", -7, 7u, 0xbeef, 'z', 42, 42, 42);
  returned[2] = printf("%lld %llu %p\n", -1234567890123ll, 1ull << 63, (void*)nullptr);
  printf("%f %.3f %e %g\n", 1.5, 2.0f / 3, 12345.678, 1e-10);
  printf("%s and %s, 100%%\n", "one", "two");
  printf("%*d\n", 6, 12);
  printf("%.*f %.*s %.*d\n", -2, 1.5, -1, "abc", -3, 7);
}

__global__ void lanes() { printf("block %d lane %d\n", blockIdx.x, threadIdx.x); }

__global__ void someLanes() {
  if (threadIdx.x % 8 == 3) printf("lane %d\n", threadIdx.x);
}

static void expectLines(const std::string& text, std::vector<std::string> expected) {
  std::vector<std::string> actual;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) actual.push_back(line);
  std::sort(actual.begin(), actual.end());
  std::sort(expected.begin(), expected.end());
  if (actual != expected) failAt(__FILE__, __LINE__, "unexpected output", text.c_str());
}

int main() {
  DeviceArray<int> returned(3);
  const std::string text = captureOutput([&] {
    kinds<<<1, 1>>>(returned);
    CHECK_LAUNCH();
  });
  const std::string expected =
      "plain\n-7 7 beef z    42|42   |00042\n-1234567890123 9223372036854775808 (nil)\n1.500000 0.667 1.234568e+04 "
      "1e-10\n"
      "one and two, 100%\n    12\n1.500000 abc 7\n";
  if (text != expected) failAt(__FILE__, __LINE__, "unexpected output", text.c_str());
  EXPECT(returned.host() == (std::vector<int>{0, 7, 3}));

  std::vector<std::string> lines;
  for (int block = 0; block < 3; ++block)
    for (int lane = 0; lane < 40; ++lane)
      lines.push_back("block " + std::to_string(block) + " lane " + std::to_string(lane));
  expectLines(captureOutput([] {
                lanes<<<3, 40>>>();
                CHECK_LAUNCH();
              }),
              lines);
  expectLines(captureOutput([] {
                someLanes<<<1, 32>>>();
                CHECK_LAUNCH();
              }),
              {"lane 3", "lane 11", "lane 19", "lane 27"});
  return passed();
}
