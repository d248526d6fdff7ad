// <name>_fuzz [ROUNDS [SEED]] or <name>_fuzz FILE...: mutates the target's seeds the same way every time, or runs
// files.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>
#include <sstream>

#include "fuzz/fuzz.h"

namespace {

using Random = std::mt19937_64;

size_t below(Random& random, size_t limit) { return limit ? random() % limit : 0; }

void mutate(std::string& text, const std::vector<std::string>& pieces, const std::string& other, Random& random) {
  const size_t at = below(random, text.size() + 1), length = below(random, text.size() - at + 1);
  switch (random() % 9) {
    case 0:
      if (!text.empty()) text[below(random, text.size())] = static_cast<char>(random());
      break;
    case 1:
      if (!text.empty()) text[below(random, text.size())] ^= static_cast<char>(1u << random() % 8);
      break;
    case 2:
      text.erase(at, std::min<size_t>(length, 1 + random() % 32));
      break;
    case 3:
      text.insert(below(random, text.size() + 1), text.substr(at, std::min<size_t>(length, 200)));
      break;
    case 4:
    case 5:
      if (!pieces.empty()) text.insert(at, pieces[below(random, pieces.size())]);
      break;
    case 6:
      text = text.substr(0, at) + other.substr(below(random, other.size() + 1));
      break;
    case 7:
      text.resize(at);
      break;
    default:
      if (!pieces.empty())
        text.replace(at, std::min<size_t>(length, 1 + random() % 12), pieces[below(random, pieces.size())]);
      break;
  }
}

int runText(const std::string& text) {
  return LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(text.data()), text.size());
}

}  // namespace

int main(int argc, char** argv) {
  char* end = nullptr;
  const unsigned long rounds = argc > 1 ? std::strtoul(argv[1], &end, 10) : 20000;
  if (argc > 1 && *end) {
    for (int k = 1; k < argc; ++k) {
      std::ifstream file(argv[k], std::ios::binary);
      std::stringstream text;
      text << file.rdbuf();
      runText(text.str());
    }
    return 0;
  }
  Random random(argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 1);
  const std::vector<std::string> seeds = vg::fuzz::seeds(), pieces = vg::fuzz::dictionary();
  for (const std::string& seed : seeds) runText(seed);
  double longest = 0;
  for (unsigned long round = 0; round < rounds; ++round) {
    std::string text = seeds[below(random, seeds.size())];
    for (size_t k = 1 + random() % 8; k > 0; --k) mutate(text, pieces, seeds[below(random, seeds.size())], random);
    const auto start = std::chrono::steady_clock::now();
    runText(text);
    longest = std::max(longest, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  std::printf("%lu rounds, longest %.3f s\n", rounds, longest);
  return 0;
}
