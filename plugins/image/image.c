/* image - what an image is, and images made of it: turned upright, cut, scaled, in another format.
 *
 * The reading tools reply with the image as content, for a model that sees. image_write alone
 * writes a file, and so it alone asks a person. */
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <toolrack/plugin.h>

#include "../filesystem/file.h"
#include "../shared/whole.h"
#include "picture.h"

#define QUALITY_DEFAULT   80
#define THUMBNAIL_DEFAULT 512

static tr_status open_image(struct tr_host *host) {
    const char *reason;
    if (!picture_start(&reason)) {
        return tr_host_fail(host, "libvips cannot be started: %s", reason);
    }
    return place_open_roots(host);
}

static void close_image(void) {
    place_close_roots();
    picture_stop();
}

/* ------------------------------------------------------------------ arguments */

/* A color as #rrggbb. The schema has its form. */
static void read_color(struct tr_call *call, uint8_t ret[3]) {
    const char *text = tr_get_string(call, "background", "#ffffff");
    unsigned color[3] = {255, 255, 255};
    if (sscanf(text, "#%2x%2x%2x", &color[0], &color[1], &color[2]) == 3) {
        for (int i = 0; i < 3; i++) {
            ret[i] = (uint8_t)color[i];
        }
    }
}

static enum picture_fit read_fit(struct tr_call *call) {
    const char *fit = tr_get_string(call, "fit", "contain");
    return strcmp(fit, "cover") == 0  ? PICTURE_COVER
           : strcmp(fit, "fill") == 0 ? PICTURE_FILL
                                      : PICTURE_CONTAIN;
}

/* GIF is read only. */
static enum picture_format same_format(enum picture_format format) {
    return format == PICTURE_GIF ? PICTURE_PNG : format;
}

static void read_edit(struct tr_call *call, struct picture_edit *edit) {
    *edit = (struct picture_edit){.crops = tr_kind_of(call, "crop") == TR_JSON_OBJECT,
                                  .left = (uint32_t)tr_get_u64(call, "crop/left", 0),
                                  .top = (uint32_t)tr_get_u64(call, "crop/top", 0),
                                  .crop_width = (uint32_t)tr_get_u64(call, "crop/width", 0),
                                  .crop_height = (uint32_t)tr_get_u64(call, "crop/height", 0),
                                  .width = (uint32_t)tr_get_u64(call, "width", 0),
                                  .height = (uint32_t)tr_get_u64(call, "height", 0),
                                  .fit = read_fit(call),
                                  .format = picture_format_of(tr_get_string(call, "format", "")),
                                  .quality = (uint32_t)tr_get_u64(call, "quality", QUALITY_DEFAULT),
                                  .keeps_metadata = tr_get_bool(call, "keep_metadata", false)};
    memset(edit->background, 255, sizeof edit->background);
    read_color(call, edit->background);
}

/* What a tool does with the opened image. */
typedef tr_status action(struct tr_call *call, const struct picture *picture,
                         struct picture_edit *edit);

static tr_status with_picture(struct tr_call *call, action *act) {
    struct whole whole;
    struct picture picture = {0};
    struct picture_edit edit;
    read_edit(call, &edit);
    tr_status status = TR_FAILED;
    if (whole_read(call, PICTURE_FILE_MAX, &whole) &&
        picture_open(call, whole.field, whole.data, whole.size, &picture)) {
        status = act(call, &picture, &edit);
    }
    picture_finish(&picture);
    whole_finish(&whole);
    return status;
}

/* --------------------------------------------------------------------- reading */

static tr_status tell(struct tr_call *call, const struct picture *picture,
                      struct picture_edit *edit) {
    (void)edit;
    (void)tr_put_object(call, NULL);
    (void)tr_put_string(call, "format", picture_format_name(picture->format));
    (void)tr_put_u64(call, "width", picture->width);
    (void)tr_put_u64(call, "height", picture->height);
    (void)tr_put_u64(call, "frames", picture->frames);
    (void)tr_put_string(call, "color", picture->color);
    (void)tr_put_bool(call, "alpha", picture->has_alpha);
    (void)tr_put_u64(call, "bits", picture->bits);
    (void)tr_put_u64(call, "orientation", picture->orientation);
    (void)tr_put_bool(call, "metadata", picture->has_metadata);
    return tr_put_end(call);
}

static tr_status image_info(struct tr_call *call) {
    return with_picture(call, tell);
}

static tr_status show(struct tr_call *call, const struct picture *picture,
                      struct picture_edit *edit) {
    void *data;
    size_t size;
    uint32_t width;
    uint32_t height;
    edit->format = edit->format == PICTURE_NONE ? same_format(picture->format) : edit->format;
    if (!picture_make(call, picture, edit, &data, &size, &width, &height)) {
        return TR_FAILED;
    }
    tr_status status = tr_reply_image(call, data, size, picture_format_type(edit->format));
    picture_release(data);
    return status == TR_OK ? tr_reply_textf(call, "%s, %u x %u pixels, %zu bytes",
                                            picture_format_name(edit->format), width, height, size)
                           : status;
}

static tr_status image_convert(struct tr_call *call) {
    return with_picture(call, show);
}

static tr_status show_resized(struct tr_call *call, const struct picture *picture,
                              struct picture_edit *edit) {
    if (edit->width == 0 && edit->height == 0) {
        return tr_fail(call, TR_INVALID_ARGUMENTS, "width", "must be given, or height, or both");
    }
    return show(call, picture, edit);
}

static tr_status image_resize(struct tr_call *call) {
    return with_picture(call, show_resized);
}

static tr_status show_part(struct tr_call *call, const struct picture *picture,
                           struct picture_edit *edit) {
    edit->crops = true;
    edit->left = (uint32_t)tr_get_u64(call, "left", 0);
    edit->top = (uint32_t)tr_get_u64(call, "top", 0);
    edit->crop_width = edit->width;
    edit->crop_height = edit->height;
    edit->width = edit->height = 0;
    return show(call, picture, edit);
}

static tr_status image_crop(struct tr_call *call) {
    return with_picture(call, show_part);
}

/* JPEG is small; PNG where there is something to see through, or few colors as in a GIF. */
static tr_status show_thumbnail(struct tr_call *call, const struct picture *picture,
                                struct picture_edit *edit) {
    uint32_t size = (uint32_t)tr_get_u64(call, "size", THUMBNAIL_DEFAULT);
    edit->width = edit->height = size;
    edit->never_larger = true;
    edit->format =
            picture->has_alpha || picture->format == PICTURE_GIF ? PICTURE_PNG : PICTURE_JPEG;
    return show(call, picture, edit);
}

static tr_status image_thumbnail(struct tr_call *call) {
    return with_picture(call, show_thumbnail);
}

/* --------------------------------------------------------------------- writing */

static tr_status write_picture(struct tr_call *call, const struct picture *picture,
                               struct picture_edit *edit, const struct place *place) {
    struct place_fault fault;
    void *data;
    size_t size;
    uint32_t width;
    uint32_t height;
    if (!picture_make(call, picture, edit, &data, &size, &width, &height)) {
        return TR_FAILED;
    }
    bool is_written = file_write(call, place, data, size, &fault);
    picture_release(data);
    if (!is_written) {
        return tr_fail(call, fault.code, "output", "%s", fault.message);
    }
    (void)tr_put_object(call, NULL);
    (void)tr_put_string(call, "path", place->path);
    (void)tr_put_string(call, "format", picture_format_name(edit->format));
    (void)tr_put_u64(call, "width", width);
    (void)tr_put_u64(call, "height", height);
    (void)tr_put_u64(call, "bytes", size);
    return tr_put_end(call);
}

static tr_status write_file(struct tr_call *call, const struct picture *picture,
                            struct picture_edit *edit) {
    const char *output = tr_get_string(call, "output", "");
    struct place place;
    struct place_fault fault;
    edit->format = picture_format_of(output);
    if (edit->format == PICTURE_NONE || edit->format == PICTURE_GIF) {
        return tr_fail(call, TR_INVALID_ARGUMENTS, "output",
                       "must end in .png, .jpg, .jpeg or .webp, which says the format");
    }
    if (!place_find(output, &place, &fault)) {
        return tr_fail(call, fault.code, "output", "%s", fault.message);
    }
    if (place.exists && !tr_get_bool(call, "overwrite", false)) {
        return tr_fail(call, TR_INVALID_ARGUMENTS, "output",
                       "%s exists; choose another name, or set overwrite", place.path);
    }
    return write_picture(call, picture, edit, &place);
}

static tr_status image_write(struct tr_call *call) {
    return with_picture(call, write_file);
}

/* ------------------------------------------------------------------- the table */

/* clang-format off */
/* A dot of one pixel, red and half transparent. */
#define DOT "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP4z8DQAAAEgQGA8wvcoAAAAABJRU5ErkJggg=="

#define TAGS "image,picture,photo"
#define READS (TR_READ_ONLY | TR_IDEMPOTENT)

TR_JSON_TOOL(image_info,
    ("Tell the format, width and height in pixels, colors, frames and orientation of an image, without decoding it.",
     .title = "About an image", .category = "image", .tags = TAGS ",info,size,width,height,format,exif", .flags = READS,
     .result_schema = TR_SCHEMA({"type": "object", "properties": {
         "format": {"type": "string", "enum": ["png", "jpeg", "webp", "gif"]},
         "width": {"type": "integer", "description": "Pixels, as it is shown upright"},
         "height": {"type": "integer", "description": "Pixels, as it is shown upright"},
         "frames": {"type": "integer", "description": "More than 1: an animation"},
         "color": {"type": "string", "enum": ["rgb", "gray", "cmyk", "other"]},
         "alpha": {"type": "boolean", "description": "It has transparency"},
         "bits": {"type": "integer", "description": "Of a channel"},
         "orientation": {"type": "integer", "description": "As EXIF has it, 1 to 8; the other tools turn the image upright"},
         "metadata": {"type": "boolean", "description": "It has EXIF, XMP, IPTC or a color profile"}
     }, "required": ["format", "width", "height", "frames", "color", "alpha", "bits", "orientation", "metadata"]}),
     TR_EXAMPLES(TR_EXAMPLE("{\"data\": \"" DOT "\"}", TR_SCHEMA({"format": "png", "width": 1, "height": 1, "frames": 1, "color": "rgb", "alpha": true, "bits": 8, "orientation": 1, "metadata": false})))),
    TR_SCHEMA({"type": "object", "properties": {
        "path": {"type": "string", "description": "PNG, JPEG, WebP or GIF file: absolute, or relative to a granted folder"},
        "data": {"type": "string", "contentEncoding": "base64", "maxLength": 16777216, "description": "Instead of path: the file as base64"}
    }, "additionalProperties": false}))

TR_JSON_TOOL(image_convert,
    ("Show an image in another format: upright, in sRGB, without metadata. To save it as a file use "
     "image_write.",
     .title = "Convert an image", .category = "image", .tags = TAGS ",convert,png,jpeg,webp", .flags = READS,
     TR_EXAMPLES(TR_EXAMPLE("{\"data\": \"" DOT "\", \"format\": \"jpeg\"}", NULL))),
    TR_SCHEMA({"type": "object", "properties": {
        "path": {"type": "string", "description": "PNG, JPEG, WebP or GIF file: absolute, or relative to a granted folder"},
        "data": {"type": "string", "contentEncoding": "base64", "maxLength": 16777216, "description": "Instead of path: the file as base64"},
        "format": {"type": "string", "enum": ["png", "jpeg", "webp"], "description": "Format of the result"},
        "quality": {"type": "integer", "minimum": 1, "maximum": 100, "default": 80, "description": "Of JPEG and WebP"},
        "background": {"type": "string", "pattern": "^#[0-9a-fA-F]{6}$", "default": "#ffffff", "description": "Color behind transparent parts, in JPEG"},
        "keep_metadata": {"type": "boolean", "default": false, "description": "Keep EXIF, which may tell place and time, XMP, IPTC and the color profile"}
    }, "required": ["format"], "additionalProperties": false}))

TR_JSON_TOOL(image_resize,
    ("Show an image in another size. With one of width and height it keeps its proportions. To save "
     "it as a file use image_write.",
     .title = "Resize an image", .category = "image", .tags = TAGS ",resize,scale", .flags = READS,
     TR_EXAMPLES(TR_EXAMPLE("{\"data\": \"" DOT "\", \"width\": 2}", NULL))),
    TR_SCHEMA({"type": "object", "properties": {
        "path": {"type": "string", "description": "PNG, JPEG, WebP or GIF file: absolute, or relative to a granted folder"},
        "data": {"type": "string", "contentEncoding": "base64", "maxLength": 16777216, "description": "Instead of path: the file as base64"},
        "width": {"type": "integer", "minimum": 1, "maximum": 8192, "description": "Pixels of the result"},
        "height": {"type": "integer", "minimum": 1, "maximum": 8192, "description": "Pixels of the result"},
        "fit": {"type": "string", "enum": ["contain", "cover", "fill"], "default": "contain", "description": "With width and height: contain fits all within them, cover fills them and cuts off what stands out, fill changes the proportions"},
        "format": {"type": "string", "enum": ["png", "jpeg", "webp"], "description": "Format of the result; else that of the image, PNG for GIF"},
        "quality": {"type": "integer", "minimum": 1, "maximum": 100, "default": 80, "description": "Of JPEG and WebP"}
    }, "additionalProperties": false}))

TR_JSON_TOOL(image_crop,
    ("Crop an image: cut out a part of it and show that in full detail. To save it as a file use image_write.",
     .title = "Crop an image", .category = "image", .tags = TAGS ",crop,cut,part,zoom", .flags = READS,
     TR_EXAMPLES(TR_EXAMPLE("{\"data\": \"" DOT "\", \"left\": 0, \"top\": 0, \"width\": 1, \"height\": 1}", NULL))),
    TR_SCHEMA({"type": "object", "properties": {
        "path": {"type": "string", "description": "PNG, JPEG, WebP or GIF file: absolute, or relative to a granted folder"},
        "data": {"type": "string", "contentEncoding": "base64", "maxLength": 16777216, "description": "Instead of path: the file as base64"},
        "left": {"type": "integer", "minimum": 0, "maximum": 1000000, "default": 0, "description": "First column of pixels, from 0, of the upright image"},
        "top": {"type": "integer", "minimum": 0, "maximum": 1000000, "default": 0, "description": "First row of pixels, from 0"},
        "width": {"type": "integer", "minimum": 1, "maximum": 1000000, "description": "Pixels across"},
        "height": {"type": "integer", "minimum": 1, "maximum": 1000000, "description": "Pixels down"},
        "format": {"type": "string", "enum": ["png", "jpeg", "webp"], "description": "Format of the result; else that of the image, PNG for GIF"},
        "quality": {"type": "integer", "minimum": 1, "maximum": 100, "default": 80, "description": "Of JPEG and WebP"}
    }, "required": ["width", "height"], "additionalProperties": false}))

TR_JSON_TOOL(image_thumbnail,
    ("Look at an image: show it small, upright and never enlarged, so that it costs few tokens. Look "
     "at details with image_crop.",
     .title = "Look at an image", .category = "image", .tags = TAGS ",thumbnail,preview,view,look", .flags = READS,
     TR_EXAMPLES(TR_EXAMPLE("{\"data\": \"" DOT "\"}", NULL))),
    TR_SCHEMA({"type": "object", "properties": {
        "path": {"type": "string", "description": "PNG, JPEG, WebP or GIF file: absolute, or relative to a granted folder"},
        "data": {"type": "string", "contentEncoding": "base64", "maxLength": 16777216, "description": "Instead of path: the file as base64"},
        "size": {"type": "integer", "minimum": 16, "maximum": 2048, "default": 512, "description": "Most pixels of the longer side"},
        "quality": {"type": "integer", "minimum": 1, "maximum": 100, "default": 80, "description": "Of JPEG"}
    }, "additionalProperties": false}))

TR_JSON_TOOL(image_write,
    ("Save an image as a file, made of another one: cut, then scaled, in the format that the "
     "ending of output says; upright, in sRGB and without metadata unless they are kept.",
     .title = "Write an image", .category = "image", .tags = TAGS ",save,write,resize,convert,crop",
     .permission = TR_CONFIRM, .flags = TR_DESTRUCTIVE | TR_IDEMPOTENT,
     .result_schema = TR_SCHEMA({"type": "object", "properties": {
         "path": {"type": "string", "description": "The written file"},
         "format": {"type": "string", "enum": ["png", "jpeg", "webp"]},
         "width": {"type": "integer"}, "height": {"type": "integer"},
         "bytes": {"type": "integer", "description": "Length of the file"}
     }, "required": ["path", "format", "width", "height", "bytes"]})),
    TR_SCHEMA({"type": "object", "properties": {
        "path": {"type": "string", "description": "PNG, JPEG, WebP or GIF file: absolute, or relative to a granted folder"},
        "data": {"type": "string", "contentEncoding": "base64", "maxLength": 16777216, "description": "Instead of path: the file as base64"},
        "output": {"type": "string", "minLength": 1, "description": "File to write in a granted folder, ending in .png, .jpg, .jpeg or .webp"},
        "overwrite": {"type": "boolean", "default": false, "description": "Replace output if it exists"},
        "crop": {"type": "object", "description": "The part of the upright image that is taken, in pixels; all of it if left out", "properties": {
            "left": {"type": "integer", "minimum": 0, "maximum": 1000000, "default": 0}, "top": {"type": "integer", "minimum": 0, "maximum": 1000000, "default": 0},
            "width": {"type": "integer", "minimum": 1, "maximum": 1000000}, "height": {"type": "integer", "minimum": 1, "maximum": 1000000}
        }, "required": ["width", "height"], "additionalProperties": false},
        "width": {"type": "integer", "minimum": 1, "maximum": 8192, "description": "Pixels of the result; by the proportions if only height is given"},
        "height": {"type": "integer", "minimum": 1, "maximum": 8192, "description": "Pixels of the result"},
        "fit": {"type": "string", "enum": ["contain", "cover", "fill"], "default": "contain", "description": "With width and height: contain fits all within them, cover fills them and cuts off what stands out, fill changes the proportions"},
        "quality": {"type": "integer", "minimum": 1, "maximum": 100, "default": 80, "description": "Of JPEG and WebP"},
        "background": {"type": "string", "pattern": "^#[0-9a-fA-F]{6}$", "default": "#ffffff", "description": "Color behind transparent parts, in JPEG"},
        "keep_metadata": {"type": "boolean", "default": false, "description": "Keep EXIF, which may tell place and time, XMP, IPTC and the color profile"}
    }, "required": ["output"], "additionalProperties": false}))
/* clang-format on */

TR_PLUGIN(("image", .description = "Looks at images, and makes others of them",
           .vendor = "toolrack", .license = "MIT", .flags = TR_STARTS_THREADS, .open = open_image,
           .close = close_image,
           TR_CAPABILITIES(TR_MAY_READ("${workspace}"), TR_WRITES("${workspace}"))),
          "1.0.0", image_info, image_convert, image_resize, image_crop, image_thumbnail,
          image_write)
