// pack_texts OUTPUT FILE...: the files, each with a null character behind it, as one frame of zstd. A step of the
// build: the command is made with its output.
#include <zstd.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace {

bool append(std::string& text, const char* name) {
  std::ifstream file(name, std::ios::binary);
  text.append(std::istreambuf_iterator<char>(file), {});
  text += '\0';
  return file.is_open() && !file.bad();
}

}  // namespace

int main(int argc, char** argv) {
  std::string text;
  for (int i = 2; i < argc; ++i) {
    if (append(text, argv[i])) continue;
    std::fprintf(stderr, "pack_texts: %s cannot be read\n", argv[i]);
    return 1;
  }
  std::vector<char> packed(ZSTD_compressBound(text.size()));
  const size_t size = ZSTD_compress(packed.data(), packed.size(), text.data(), text.size(), ZSTD_maxCLevel());
  if (argc < 3 || ZSTD_isError(size)) return 1;
  std::ofstream file(argv[1], std::ios::binary);
  return file.write(packed.data(), static_cast<std::streamsize>(size)).flush() ? 0 : 1;
}
