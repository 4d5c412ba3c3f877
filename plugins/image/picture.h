/* picture.h - one image on libvips: opened within limits, edited, written as bytes.
 *
 * Only the loaders for PNG, JPEG, WebP and GIF are called, each by its name: libvips's own search
 * would also try those of programs and libraries that are not made for what strangers send. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <toolrack/plugin.h>

/* Most pixels of an image, and most memory that it takes when it is decoded. */
#define PICTURE_PIXELS_MAX  ((uint64_t)64 << 20)
#define PICTURE_DECODED_MAX ((uint64_t)256 << 20)
/* Longest side of what is made; also in the schemas. */
#define PICTURE_SIDE_MAX    8192
/* Largest file that is read. */
#define PICTURE_FILE_MAX    ((size_t)64 << 20)
/* Largest file that is made: a reply has it as base64. */
#define PICTURE_RESULT_MAX  ((size_t)16 << 20)

enum picture_format { PICTURE_PNG, PICTURE_JPEG, PICTURE_WEBP, PICTURE_GIF, PICTURE_NONE };

/** "png" and so on, and "image/png" and so on. NONE has neither. */
const char *picture_format_name(enum picture_format format);
const char *picture_format_type(enum picture_format format);
/** The format that a name or the ending of a path has: "jpg", "photo.jpeg". */
enum picture_format picture_format_of(const char *name);

struct picture {
    void *image; /**< VipsImage, owned; NULL: none */
    enum picture_format format;
    uint32_t width; /**< as it is shown: after its orientation */
    uint32_t height;
    uint32_t orientation; /**< as EXIF has it, 1 to 8; 1 where it says nothing */
    uint32_t frames;
    uint32_t channels;
    uint32_t bits; /**< of a channel */
    bool has_alpha;
    bool has_metadata; /**< EXIF, XMP, IPTC or a colour profile */
    const char *color; /**< constant: "rgb", "gray", "cmyk", "other" */
};

enum picture_fit {
    PICTURE_CONTAIN, /**< whole, within the box, with its proportions */
    PICTURE_COVER,   /**< the box is filled, with its proportions; what stands out is cut off */
    PICTURE_FILL     /**< the box is filled, whatever the proportions */
};

/* What becomes of an image, in this order; zero everywhere: nothing. */
struct picture_edit {
    bool crops;
    uint32_t left, top, crop_width, crop_height;
    uint32_t width, height; /**< 0: by the proportions */
    enum picture_fit fit;
    bool never_larger;
    enum picture_format format;
    uint32_t quality; /**< JPEG, WebP: 1 to 100 */
    uint8_t background[3];
    bool keeps_metadata;
};

/** Once before and after all else. @return false with the reason. [plugin] */
bool picture_start(const char **ret_reason);
void picture_stop(void);

/** Look at an image; `data` is borrowed until picture_finish(). A failure fails the call, with
 * `field`. [call-thread] */
bool picture_open(struct tr_call *call, const char *field, const void *data, size_t size,
                  struct picture *ret);
/** Edit it and write it as bytes, to be released with picture_release(). A failure fails the call.
 * `ret_width` and `ret_height`: what it has now. */
bool picture_make(struct tr_call *call, const struct picture *picture,
                  const struct picture_edit *edit, void **ret_data, size_t *ret_size,
                  uint32_t *ret_width, uint32_t *ret_height);
void picture_release(void *data);
void picture_finish(struct picture *picture);
