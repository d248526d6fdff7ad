// Catches what the process (and the device) writes to standard output while `work` runs.
#pragma once

#include <unistd.h>

#include <cstdio>
#include <string>

template <class Work>
std::string captureOutput(Work work) {
  std::fflush(stdout);
  std::FILE* file = std::tmpfile();
  const int saved = dup(STDOUT_FILENO);
  dup2(fileno(file), STDOUT_FILENO);
  work();
  std::fflush(stdout);
  dup2(saved, STDOUT_FILENO);
  close(saved);
  std::string text(size_t(std::ftell(file) < 0 ? 0 : lseek(fileno(file), 0, SEEK_END)), '\0');
  lseek(fileno(file), 0, SEEK_SET);
  if (read(fileno(file), text.data(), text.size()) != ssize_t(text.size())) text.clear();
  std::fclose(file);
  return text;
}
