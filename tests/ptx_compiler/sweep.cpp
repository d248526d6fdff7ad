// Compiles every kernel of PTX files for every target and block shape that the machine has, with LLVM's verifier on,
// and prints what is refused. Arguments: [-d dump directory] FILE...
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "ptx_compiler/harness.h"

using namespace vg::ptx;
using namespace vg::ptx::test;

int main(int argc, char** argv) {
  const char* dump = nullptr;
  int first = 1;
  if (argc > 2 && std::string(argv[1]) == "-d") dump = argv[2], first = 3;
  uint32_t compiled = 0, refused = 0, failed = 0;
  for (int a = first; a < argc; ++a) {
    std::ifstream file(argv[a], std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    std::string log;
    auto module = parse(text, &log);
    if (!module.ok()) {
      std::printf("%s: %s", argv[a], log.c_str());
      ++failed;
      continue;
    }
    for (const Function& f : module->functions) {
      if (!f.isEntry || f.isDeclaration) continue;
      for (const Target& target : targets())
        for (const Shape3& block :
             {Shape3{64, 1, 1}, Shape3{33, 1, 1}, Shape3{32, 5, 1}, Shape3{16, 16, 1}, Shape3{8, 8, 1}}) {
          CompiledKernel kernel;
          const auto start = std::chrono::steady_clock::now();
          const int status = kernel.compile(text, f.name, target, block, &log, dump);
          const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
          if (status == CUDA_SUCCESS) {
            ++compiled;
            if (std::getenv("VERBOSE"))
              std::printf("%s %s %ux%u: %zu PTX instructions, %zu bytes, %.1f ms\n", f.name.c_str(), target.name,
                          block.x, block.y, f.body.size(), kernel.blob.code.size(), ms);
          } else {
            status == CUDA_ERROR_NOT_SUPPORTED ? ++refused : ++failed;
            std::printf("%s %s %s %ux%u: %d %s", argv[a], f.name.c_str(), target.name, block.x, block.y, status,
                        log.c_str());
            break;
          }
        }
    }
  }
  std::printf("%u compiled, %u refused, %u failed\n", compiled, refused, failed);
  return failed != 0;
}
