// Pictures of 8-bit samples, read from and written to PNG files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

struct Photo {
  int width = 0, height = 0, channels = 0;  // 1 grey, 3 red-green-blue
  std::vector<uint8_t> samples;             // row by row, channels interleaved

  size_t pixels() const { return size_t(width) * height; }
};

// Both end the program with a message when the file cannot be used.
Photo readPng(const std::string& path);  // always three channels
void writePng(const std::string& path, const Photo& photo);
