#include "font.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cairo-ft.h>
#include <ft2build.h>
#include FT_FREETYPE_H

#include "base/utf8.h"

/* The file as it is, in the constant data of the plugin. */
__asm__(".pushsection .rodata\n"
        ".balign 16\n"
        ".globl chart_font_begin\n"
        ".hidden chart_font_begin\n"
        "chart_font_begin:\n"
        ".incbin \"" CHART_FONT "\"\n"
        "chart_font_end:\n"
        ".balign 4\n"
        ".globl chart_font_size\n"
        ".hidden chart_font_size\n"
        "chart_font_size:\n"
        ".4byte chart_font_end - chart_font_begin\n"
        ".popsection\n");
extern const unsigned char chart_font_begin[];
extern const uint32_t chart_font_size;

static FT_Library library;
static FT_Face face;
static cairo_font_face_t *cairo_face;

const char *font_open(const char *path) {
    if (FT_Init_FreeType(&library) != 0) {
        return "FreeType cannot be started";
    }
    FT_Error error = path == NULL ? FT_New_Memory_Face(library, chart_font_begin,
                                                       (FT_Long)chart_font_size, 0, &face)
                                  : FT_New_Face(library, path, 0, &face);
    if (error != 0) {
        font_close();
        return path == NULL ? "the font of the plugin cannot be read"
                            : "it cannot be read, or is no font that FreeType knows";
    }
    cairo_face = cairo_ft_font_face_create_for_ft_face(face, FT_LOAD_NO_HINTING);
    return NULL;
}

void font_close(void) {
    cairo_font_face_destroy(cairo_face);
    cairo_face = NULL;
    /* cairo keeps scaled fonts for later, which have the face; the library frees all faces. */
    (void)FT_Done_FreeType(library);
    library = NULL;
    face = NULL;
}

void font_use(cairo_t *cr) {
    cairo_font_options_t *options = cairo_font_options_create();
    cairo_font_options_set_antialias(options, CAIRO_ANTIALIAS_GRAY);
    cairo_font_options_set_hint_style(options, CAIRO_HINT_STYLE_NONE);
    cairo_font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF);
    cairo_set_font_options(cr, options);
    cairo_font_options_destroy(options);
    cairo_set_font_face(cr, cairo_face);
}

bool font_has(const char *text, unsigned *ret_missing) {
    size_t length = strlen(text);
    while (length > 0) {
        uint32_t point;
        size_t size = utf8_decode(text, length, &point);
        if (size == 0) {
            return true;
        }
        if (point >= 0x20 && FT_Get_Char_Index(face, point) == 0) {
            *ret_missing = point;
            return false;
        }
        text += size;
        length -= size;
    }
    return true;
}
