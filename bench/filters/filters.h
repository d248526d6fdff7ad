/* Filters of video frames, each as a CUDA kernel that reads through textures (video_filters.cu) and as C
   (plain_filters.c): sizes, and what both are given. Frames are bytes, a plane each, rows without gaps. */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

enum {
  kWidth = 1920,
  kHeight = 1080,
  kSmallWidth = 1280, /* what is scaled up to, and down from, the frame */
  kSmallHeight = 720,
  kLogoWidth = 640,
  kLogoHeight = 360,
  kLogoX = 1200,
  kLogoY = 64,
  kChromaWidth = kWidth / 2,
  kChromaHeight = kHeight / 2
};

typedef unsigned char byte;

/* Bilinear, one read a pixel. */
void plainBilinearUp(const byte* small, byte* out);
/* Bilinear, the mean of four reads a pixel, so that no pixel is left out. */
void plainBilinearDown(const byte* in, byte* out);
/* Bicubic, four by four pixels. */
void plainBicubicUp(const byte* small, byte* out);
/* Every second line from those around it, in its frame and in the ones before and after. */
void plainDeinterlace(const byte* before, const byte* now, const byte* after, byte* out);
/* A logo with transparency into the frame. */
void plainOverlay(const byte* frame, const byte* logo, const byte* alpha, byte* out);
/* How opaque each pixel is, by how far the colours around it are from a key. `colours`: pairs. */
void plainChromaKey(const byte* colours, byte* out);
/* Four bytes a pixel, bilinear up: colours with transparency. */
void plainBilinearColours(const byte* small, byte* out);
/* The mean of nine pixels, of words of 16 bits. */
void plainBlurWords(const unsigned short* in, unsigned short* out);

#ifdef __cplusplus
}
#endif

#define KEY_U 0.33f
#define KEY_V 0.27f
#define KEY_SIMILAR 0.12f
#define KEY_BLEND 0.2f
