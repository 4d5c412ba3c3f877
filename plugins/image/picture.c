/* A decoded image is held whole in memory where it must be turned, and goes through in strips
 * elsewhere. libvips's cache, its threads but one and its temporary files are off. */
#include "picture.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <vips/vips.h>

static const struct {
    const char *name;
    const char *type;
} formats[] = {
        [PICTURE_PNG] = {"png", "image/png"},
        [PICTURE_JPEG] = {"jpeg", "image/jpeg"},
        [PICTURE_WEBP] = {"webp", "image/webp"},
        [PICTURE_GIF] = {"gif", "image/gif"},
};

const char *picture_format_name(enum picture_format format) {
    return format < PICTURE_NONE ? formats[format].name : "none";
}

const char *picture_format_type(enum picture_format format) {
    return format < PICTURE_NONE ? formats[format].type : "application/octet-stream";
}

enum picture_format picture_format_of(const char *name) {
    const char *dot = strrchr(name, '.');
    const char *ending = dot != NULL ? dot + 1 : name;
    for (int i = PICTURE_PNG; i < PICTURE_NONE; i++) {
        if (strcasecmp(ending, formats[i].name) == 0) {
            return (enum picture_format)i;
        }
    }
    return strcasecmp(ending, "jpg") == 0 ? PICTURE_JPEG : PICTURE_NONE;
}

/* --------------------------------------------------------------------- libvips */

bool picture_start(const char **ret_reason) {
    bool has_home = getenv("VIPSHOME") != NULL;
    if (VIPS_INIT("toolrack-image") != 0) {
        *ret_reason = vips_error_buffer();
        return false;
    }
    if (!has_home) {
        (void)unsetenv("VIPSHOME"); /* libvips says there where it was found; nothing reads it */
    }
    vips_block_untrusted_set(TRUE);
    vips_concurrency_set(1);
    vips_cache_set_max(0);
    return true;
}

/* libvips cannot be started again in a process, and stays in memory: so only its threads end. */
void picture_stop(void) {
    vips_thread_shutdown();
}

static bool fail_vips(struct tr_call *call, tr_status code, const char *field, const char *what) {
    char reason[400];
    (void)snprintf(reason, sizeof reason, "%s", vips_error_buffer());
    vips_error_clear();
    reason[strcspn(reason, "\n")] = '\0';
    (void)tr_fail(call, code, field, "%s%s%s", what, reason[0] != '\0' ? ": " : "", reason);
    return false;
}

/* Called for each strip. */
static void on_progress(VipsImage *image, VipsProgress *progress, struct tr_call *call) {
    tr_progress(call, progress->percent, 100, NULL);
    if (tr_cancelled(call)) {
        vips_image_set_kill(image, TRUE);
    }
}

/* --------------------------------------------------------------------- opening */

static bool begins(const unsigned char *data, size_t size, size_t at, const char *bytes,
                   size_t length) {
    return size >= at + length && memcmp(data + at, bytes, length) == 0;
}

static enum picture_format recognize(const unsigned char *data, size_t size) {
    return begins(data, size, 0, "\x89PNG\r\n\x1a\n", 8)                          ? PICTURE_PNG
           : begins(data, size, 0, "\xff\xd8\xff", 3)                             ? PICTURE_JPEG
           : begins(data, size, 0, "RIFF", 4) && begins(data, size, 8, "WEBP", 4) ? PICTURE_WEBP
           : begins(data, size, 0, "GIF87a", 6) || begins(data, size, 0, "GIF89a", 6)
                   ? PICTURE_GIF
                   : PICTURE_NONE;
}

/* The header; pixels are decoded as they are asked for. */
static VipsImage *load(enum picture_format format, const void *data, size_t size) {
    VipsImage *image = NULL;
    void *bytes = (void *)(uintptr_t)data; /* only read */
    const VipsAccess access = VIPS_ACCESS_SEQUENTIAL;
    const VipsFailOn fail_on = VIPS_FAIL_ON_TRUNCATED;
    int failed = 0;
    switch (format) {
    case PICTURE_PNG:
        failed = vips_pngload_buffer(bytes, size, &image, "access", access, "fail_on", fail_on,
                                     NULL);
        break;
    case PICTURE_JPEG:
        failed = vips_jpegload_buffer(bytes, size, &image, "access", access, "fail_on", fail_on,
                                      NULL);
        break;
    case PICTURE_WEBP:
        failed = vips_webpload_buffer(bytes, size, &image, "access", access, "fail_on", fail_on,
                                      NULL);
        break;
    case PICTURE_GIF:
        failed = vips_gifload_buffer(bytes, size, &image, "access", access, "fail_on", fail_on,
                                     NULL);
        break;
    case PICTURE_NONE: break;
    }
    return failed == 0 ? image : NULL;
}

static const char *name_color(const VipsImage *image) {
    switch (vips_image_get_interpretation(image)) {
    case VIPS_INTERPRETATION_sRGB:
    case VIPS_INTERPRETATION_RGB:
    case VIPS_INTERPRETATION_RGB16: return "rgb";
    case VIPS_INTERPRETATION_B_W:
    case VIPS_INTERPRETATION_GREY16: return "gray";
    case VIPS_INTERPRETATION_CMYK: return "cmyk";
    default: return "other";
    }
}

static bool has_metadata(const VipsImage *image) {
    static const char *const names[] = {VIPS_META_EXIF_NAME, VIPS_META_XMP_NAME,
                                        VIPS_META_IPTC_NAME, VIPS_META_ICC_NAME};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (vips_image_get_typeof(image, names[i]) != 0) {
            return true;
        }
    }
    return false;
}

static bool check_size(struct tr_call *call, const char *field, const VipsImage *image) {
    uint64_t pixels = (uint64_t)image->Xsize * (uint64_t)image->Ysize;
    uint64_t bytes = (uint64_t)image->Bands * vips_format_sizeof(image->BandFmt);
    if (pixels > PICTURE_PIXELS_MAX || pixels * bytes > PICTURE_DECODED_MAX) {
        (void)tr_fail(call, TR_LIMIT_EXCEEDED, field,
                      "the image has %d x %d pixels of %u bytes; at most %u million pixels and %u "
                      "MiB are decoded",
                      image->Xsize, image->Ysize, (unsigned)bytes,
                      (unsigned)(PICTURE_PIXELS_MAX >> 20), (unsigned)(PICTURE_DECODED_MAX >> 20));
        return false;
    }
    return true;
}

bool picture_open(struct tr_call *call, const char *field, const void *data, size_t size,
                  struct picture *ret) {
    *ret = (struct picture){.format = recognize(data, size)};
    if (ret->format == PICTURE_NONE) {
        (void)tr_fail(call, TR_INVALID_ARGUMENTS, field,
                      "is no PNG, JPEG, WebP or GIF, whatever its name says; convert it to one of "
                      "these first");
        return false;
    }
    VipsImage *image = load(ret->format, data, size);
    if (image == NULL) {
        return fail_vips(call, TR_INVALID_ARGUMENTS, field,
                         "the image cannot be read, and may be damaged or cut off");
    }
    ret->image = image;
    if (!check_size(call, field, image)) {
        return false;
    }
    ret->orientation = (uint32_t)vips_image_get_orientation(image);
    bool turned = ret->orientation >= 5;
    ret->width = (uint32_t)(turned ? image->Ysize : image->Xsize);
    ret->height = (uint32_t)(turned ? image->Xsize : image->Ysize);
    ret->frames = (uint32_t)vips_image_get_n_pages(image);
    ret->channels = (uint32_t)image->Bands;
    ret->bits = (uint32_t)(8 * vips_format_sizeof(image->BandFmt));
    ret->has_alpha = vips_image_hasalpha(image);
    ret->has_metadata = has_metadata(image);
    ret->color = name_color(image);
    return true;
}

void picture_finish(struct picture *picture) {
    if (picture->image != NULL) {
        g_object_unref(picture->image);
    }
    *picture = (struct picture){0};
}

/* --------------------------------------------------------------------- editing */

/* An image on its way: each step takes the one before and gives another. */
struct editing {
    struct tr_call *call;
    const struct picture_edit *edit;
    VipsImage *image; /* owned */
    bool failed;
};

/* Take what the step gave, which leaves `next` empty. */
static void step(struct editing *editing, int failed, VipsImage **next) {
    if (failed != 0 || *next == NULL) {
        editing->failed = true;
        return;
    }
    g_object_unref(editing->image);
    editing->image = *next;
    *next = NULL;
}

/* Upright. Turning reads the image in another order than it comes, so it is decoded first. */
static void turn(struct editing *editing) {
    VipsImage *next = NULL;
    if (vips_image_get_orientation(editing->image) <= 1) {
        return;
    }
    next = vips_image_copy_memory(editing->image);
    step(editing, 0, &next);
    if (!editing->failed) {
        step(editing, vips_autorot(editing->image, &next, NULL), &next);
    }
}

/* 8 bits, red, green and blue or gray: what every reader shows alike. A profile that cannot be
 * used is left out. */
static void normalize_colors(struct editing *editing) {
    VipsImage *next = NULL;
    VipsInterpretation space = vips_image_get_interpretation(editing->image);
    bool has_profile = vips_image_get_typeof(editing->image, VIPS_META_ICC_NAME) != 0;
    if (has_profile && space != VIPS_INTERPRETATION_B_W &&
        vips_icc_transform(editing->image, &next, "srgb", "embedded", TRUE, NULL) == 0) {
        step(editing, 0, &next);
        return;
    }
    vips_error_clear();
    if (space == VIPS_INTERPRETATION_sRGB || space == VIPS_INTERPRETATION_B_W) {
        return;
    }
    VipsInterpretation wanted = space == VIPS_INTERPRETATION_GREY16 ? VIPS_INTERPRETATION_B_W
                                                                    : VIPS_INTERPRETATION_sRGB;
    step(editing, vips_colourspace(editing->image, &next, wanted, NULL), &next);
}

static void cut(struct editing *editing, int left, int top, int width, int height) {
    VipsImage *next = NULL;
    step(editing, vips_extract_area(editing->image, &next, left, top, width, height, NULL), &next);
}

static uint32_t scaled(uint32_t side, double scale) {
    double length = (double)side * scale + 0.5;
    return length < 1 ? 1 : (uint32_t)length;
}

/* What it is scaled to, in both directions; the box that stays of it is `ret_box`. */
static void find_scale(const VipsImage *image, const struct picture_edit *edit, double ret[2],
                       uint32_t ret_box[2]) {
    uint32_t width = (uint32_t)image->Xsize;
    uint32_t height = (uint32_t)image->Ysize;
    double across = edit->width != 0 ? (double)edit->width / width : 0;
    double down = edit->height != 0 ? (double)edit->height / height : 0;
    across = across > 0 ? across : down;
    down = down > 0 ? down : across;
    double less = across < down ? across : down;
    double more = across < down ? down : across;
    double scale = edit->fit == PICTURE_COVER ? more : less;
    ret[0] = edit->fit == PICTURE_FILL ? across : scale;
    ret[1] = edit->fit == PICTURE_FILL ? down : scale;
    if (edit->never_larger && (ret[0] > 1 || ret[1] > 1)) {
        ret[0] = ret[1] = 1;
    }
    ret_box[0] = scaled(width, ret[0]);
    ret_box[1] = scaled(height, ret[1]);
    if (edit->fit == PICTURE_COVER && edit->width != 0 && edit->width < ret_box[0]) {
        ret_box[0] = edit->width;
    }
    if (edit->fit == PICTURE_COVER && edit->height != 0 && edit->height < ret_box[1]) {
        ret_box[1] = edit->height;
    }
}

/* Transparent edges would get the color of what is not seen, so it is multiplied in meanwhile. */
static void scale(struct editing *editing, const double by[2]) {
    bool has_alpha = vips_image_hasalpha(editing->image);
    VipsImage *next = NULL;
    VipsBandFormat format = editing->image->BandFmt;
    if (has_alpha) {
        step(editing, vips_premultiply(editing->image, &next, NULL), &next);
    }
    if (!editing->failed) {
        step(editing, vips_resize(editing->image, &next, by[0], "vscale", by[1], NULL), &next);
    }
    if (!editing->failed && has_alpha) {
        step(editing, vips_unpremultiply(editing->image, &next, NULL), &next);
        if (!editing->failed) {
            step(editing, vips_cast(editing->image, &next, format, NULL), &next);
        }
    }
}

static bool resize(struct editing *editing) {
    double by[2];
    uint32_t box[2];
    if (editing->edit->width == 0 && editing->edit->height == 0) {
        return true;
    }
    find_scale(editing->image, editing->edit, by, box);
    double whole[2] = {editing->image->Xsize * by[0], editing->image->Ysize * by[1]};
    if (whole[0] > PICTURE_SIDE_MAX || whole[1] > PICTURE_SIDE_MAX ||
        whole[0] * whole[1] > (double)PICTURE_PIXELS_MAX) {
        (void)tr_fail(editing->call, TR_LIMIT_EXCEEDED, NULL,
                      "the result would have %.0f x %.0f pixels; at most %d a side and %u million "
                      "are made",
                      whole[0], whole[1], PICTURE_SIDE_MAX, (unsigned)(PICTURE_PIXELS_MAX >> 20));
        return false;
    }
    scale(editing, by);
    if (!editing->failed &&
        ((uint32_t)editing->image->Xsize > box[0] || (uint32_t)editing->image->Ysize > box[1])) {
        int width = (int)box[0] < editing->image->Xsize ? (int)box[0] : editing->image->Xsize;
        int height = (int)box[1] < editing->image->Ysize ? (int)box[1] : editing->image->Ysize;
        cut(editing, (editing->image->Xsize - width) / 2, (editing->image->Ysize - height) / 2,
            width, height);
    }
    return true;
}

/* JPEG knows no transparency. */
static void flatten(struct editing *editing) {
    const uint8_t *color = editing->edit->background;
    VipsImage *next = NULL;
    if (editing->edit->format != PICTURE_JPEG || !vips_image_hasalpha(editing->image)) {
        return;
    }
    bool is_gray = editing->image->Bands < 3;
    VipsArrayDouble *background = vips_array_double_newv(
            is_gray ? 1 : 3, is_gray ? (color[0] + color[1] + color[2]) / 3.0 : (double)color[0],
            (double)color[1], (double)color[2]);
    step(editing, vips_flatten(editing->image, &next, "background", background, NULL), &next);
    vips_area_unref(VIPS_AREA(background));
}

static int save(const struct editing *editing, void **ret_data, size_t *ret_size) {
    const struct picture_edit *edit = editing->edit;
    gboolean strip = !edit->keeps_metadata;
    int quality = (int)edit->quality;
    switch (edit->format) {
    case PICTURE_JPEG:
        return vips_jpegsave_buffer(editing->image, ret_data, ret_size, "Q", quality, "strip",
                                    strip, "optimize_coding", TRUE, NULL);
    case PICTURE_WEBP:
        return vips_webpsave_buffer(editing->image, ret_data, ret_size, "Q", quality, "strip",
                                    strip, NULL);
    default: return vips_pngsave_buffer(editing->image, ret_data, ret_size, "strip", strip, NULL);
    }
}

static bool crop(struct editing *editing) {
    const struct picture_edit *edit = editing->edit;
    uint32_t width = (uint32_t)editing->image->Xsize;
    uint32_t height = (uint32_t)editing->image->Ysize;
    if (!edit->crops) {
        return true;
    }
    if (edit->left >= width || edit->crop_width > width - edit->left || edit->top >= height ||
        edit->crop_height > height - edit->top) {
        (void)tr_fail(editing->call, TR_INVALID_ARGUMENTS, NULL,
                      "the part of %u x %u pixels at %u, %u is not within the image, which has %u "
                      "x %u",
                      edit->crop_width, edit->crop_height, edit->left, edit->top, width, height);
        return false;
    }
    cut(editing, (int)edit->left, (int)edit->top, (int)edit->crop_width, (int)edit->crop_height);
    return true;
}

/* All steps; false: the call has failed. */
static bool edit_all(struct editing *editing) {
    turn(editing);
    if (!editing->failed && !crop(editing)) {
        return false;
    }
    if (!editing->failed && !editing->edit->keeps_metadata) {
        normalize_colors(editing);
    }
    if (!editing->failed && !resize(editing)) {
        return false;
    }
    if (!editing->failed) {
        flatten(editing);
    }
    return !editing->failed ||
           fail_vips(editing->call, TR_FAILED, NULL, "the image cannot be edited");
}

static bool write_out(struct editing *editing, void **ret_data, size_t *ret_size) {
    vips_image_set_progress(editing->image, TRUE);
    (void)g_signal_connect(editing->image, "eval", G_CALLBACK(on_progress), editing->call);
    if (save(editing, ret_data, ret_size) != 0) {
        if (tr_cancelled(editing->call)) {
            vips_error_clear();
            (void)tr_fail(editing->call, TR_CANCELLED, NULL, "cancelled");
            return false;
        }
        return fail_vips(editing->call, TR_FAILED, NULL, "the image cannot be decoded or written");
    }
    if (*ret_size > PICTURE_RESULT_MAX) {
        (void)tr_fail(editing->call, TR_LIMIT_EXCEEDED, NULL,
                      "the result has %zu bytes, more than %zu; make it smaller, or a JPEG or WebP",
                      *ret_size, PICTURE_RESULT_MAX);
        picture_release(*ret_data);
        return false;
    }
    return true;
}

bool picture_make(struct tr_call *call, const struct picture *picture,
                  const struct picture_edit *edit, void **ret_data, size_t *ret_size,
                  uint32_t *ret_width, uint32_t *ret_height) {
    struct editing editing = {.call = call, .edit = edit, .image = g_object_ref(picture->image)};
    bool is_made = edit_all(&editing) && write_out(&editing, ret_data, ret_size);
    *ret_width = (uint32_t)editing.image->Xsize;
    *ret_height = (uint32_t)editing.image->Ysize;
    g_object_unref(editing.image);
    return is_made;
}

void picture_release(void *data) {
    g_free(data);
}
