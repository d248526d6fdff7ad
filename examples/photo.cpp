#include "photo.h"

#include <png.h>

#include <cstdio>
#include <cstdlib>

[[noreturn]] static void giveUp(const std::string& path, const char* why) {
  std::fprintf(stderr, "%s: %s\n", path.c_str(), why);
  std::exit(1);
}

Photo readPng(const std::string& path) {
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  if (!png_image_begin_read_from_file(&image, path.c_str())) giveUp(path, image.message);
  image.format = PNG_FORMAT_RGB;
  Photo photo{int(image.width), int(image.height), 3, std::vector<uint8_t>(PNG_IMAGE_SIZE(image))};
  if (!png_image_finish_read(&image, nullptr, photo.samples.data(), 0, nullptr)) giveUp(path, image.message);
  return photo;
}

void writePng(const std::string& path, const Photo& photo) {
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  image.width = photo.width;
  image.height = photo.height;
  image.format = photo.channels == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
  if (!png_image_write_to_file(&image, path.c_str(), 0, photo.samples.data(), 0, nullptr)) giveUp(path, image.message);
}
