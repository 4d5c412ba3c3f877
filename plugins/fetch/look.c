#include "look.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "page.h"

#define SPACES " \t\r\n\f"

/* What is farther out, in pixels, is off the page; what is moved by its whole width may be a
 * column. */
#define FAR_PX        (-500.0)
#define TINY_PX       2.0
#define FAINT         0.05
#define EM_PX         16.0
/* A background is looked for so many elements upwards: a tree may be very deep. */
#define ANCESTORS_MAX 64u
/* Colours that differ by less in each part look the same. */
#define COLOR_CLOSE   12

/* ------------------------------------------------------------------- values */

struct color {
    bool is_known;
    uint8_t parts[3];
};

/* Without strtod(), which reads by the locale of the host. */
static const char *read_number(const char *text, double *ret) {
    bool is_negative = *text == '-';
    double unit = 1;
    const char *start = text += *text == '-' || *text == '+';
    *ret = 0;
    for (; *text >= '0' && *text <= '9'; text++) {
        *ret = *ret * 10 + (*text - '0');
    }
    if (*text == '.') {
        for (text++; *text >= '0' && *text <= '9'; text++) {
            unit /= 10;
            *ret += unit * (*text - '0');
        }
    }
    *ret = is_negative ? -*ret : *ret;
    return text > start ? text : NULL;
}

/* A length in pixels; of what is in parts of the window, 1 % counts as 5. False: it is none. */
static bool read_length(const char *text, double *ret) {
    const char *unit = read_number(text, ret);
    if (unit == NULL) {
        return false;
    }
    if (strncasecmp(unit, "em", 2) == 0 || strncasecmp(unit, "rem", 3) == 0 ||
        strncasecmp(unit, "ch", 2) == 0) {
        *ret *= EM_PX;
    } else if (*unit == '%' || *unit == 'v' || *unit == 'V') {
        *ret *= 5;
    }
    return true;
}

static bool starts(const char *text, const char *with) {
    return strncasecmp(text, with, strlen(with)) == 0;
}

static int hex_of(char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

static struct color read_hex(const char *digits) {
    struct color color = {.is_known = false};
    size_t count = strspn(digits, "0123456789abcdefABCDEF");
    for (int i = 0; (count == 3 || count == 6) && i < 3; i++) {
        int high = hex_of(count == 3 ? digits[i] : digits[2 * i]);
        int low = hex_of(count == 3 ? digits[i] : digits[2 * i + 1]);
        color.parts[i] = (uint8_t)(high * 16 + low);
        color.is_known = true;
    }
    return color;
}

/* "#fff", "rgb(255, 255, 255)", "white". */
static struct color read_color(const char *text) {
    struct color color = {.is_known = false};
    if (*text == '#') {
        return read_hex(text + 1);
    }
    if (starts(text, "white")) {
        return (struct color){true, {255, 255, 255}};
    }
    if (starts(text, "black")) {
        return (struct color){true, {0, 0, 0}};
    }
    if (starts(text, "rgb")) {
        const char *at = text + strcspn(text, "(;");
        for (int i = 0; i < 3; i++) {
            double part = 0;
            at += strspn(at, SPACES "(,");
            at = read_number(at, &part);
            if (at == NULL || part < 0 || part > 255) {
                return color;
            }
            color.parts[i] = (uint8_t)part;
        }
        color.is_known = true;
    }
    return color;
}

static bool look_same(struct color a, struct color b) {
    bool is_same = a.is_known && b.is_known;
    for (int i = 0; i < 3; i++) {
        int apart = a.parts[i] - b.parts[i];
        is_same = is_same && apart < COLOR_CLOSE && apart > -COLOR_CLOSE;
    }
    return is_same;
}

/* -------------------------------------------------------------------- style */

/* What a style says, as far as it matters here. */
struct look {
    bool is_gone;     /* by one declaration alone */
    bool is_placed;   /* where left, top and so on say */
    bool is_off;      /* they say: off the page */
    bool is_cut;      /* what does not fit into its box is cut off */
    bool is_box_tiny; /* the box has no room */
    struct color color;
    struct color background;
};

/* Whether all numbers of "rect(0, 0, 1px, 1px)" are 1 or less, so that nothing is left. */
static bool clips_all(const char *value) {
    const char *end = value + strcspn(value, ");");
    bool all = starts(value, "rect(");
    for (const char *at = value + strcspn(value, "("); all && at < end; at++) {
        double number;
        const char *next = read_number(at, &number);
        all = next == NULL || number <= 1;
        at = next != NULL ? next - 1 : at;
    }
    return all;
}

static void read_declaration(struct look *look, const char *name, const char *value) {
    double number = 0;
    bool is_length = read_length(value, &number);
    if (strcmp(name, "display") == 0) {
        look->is_gone = look->is_gone || starts(value, "none");
    } else if (strcmp(name, "visibility") == 0) {
        look->is_gone = look->is_gone || starts(value, "hidden") || starts(value, "collapse");
    } else if (strcmp(name, "opacity") == 0) {
        look->is_gone = look->is_gone || (is_length && number < FAINT);
    } else if (strcmp(name, "font-size") == 0) {
        look->is_gone = look->is_gone || (is_length && number < TINY_PX);
    } else if (strcmp(name, "text-indent") == 0 || strcmp(name, "margin-left") == 0 ||
               strcmp(name, "margin-top") == 0) {
        look->is_gone = look->is_gone || (is_length && number < FAR_PX);
    } else if (strcmp(name, "clip") == 0) {
        look->is_gone = look->is_gone || clips_all(value);
    } else if (strcmp(name, "clip-path") == 0) {
        look->is_gone = look->is_gone || starts(value, "inset(50%") ||
                        starts(value, "inset(100%") || starts(value, "circle(0");
    } else if (strcmp(name, "transform") == 0) {
        look->is_gone = look->is_gone || starts(value, "scale(0)");
    } else if (strcmp(name, "position") == 0) {
        look->is_placed = starts(value, "absolute") || starts(value, "fixed");
    } else if (strcmp(name, "left") == 0 || strcmp(name, "top") == 0 ||
               strcmp(name, "right") == 0 || strcmp(name, "bottom") == 0) {
        look->is_off = look->is_off || (is_length && number < FAR_PX);
    } else if (strcmp(name, "overflow") == 0) {
        look->is_cut = starts(value, "hidden") || starts(value, "clip");
    } else if (strcmp(name, "width") == 0 || strcmp(name, "height") == 0 ||
               strcmp(name, "max-width") == 0 || strcmp(name, "max-height") == 0) {
        look->is_box_tiny = look->is_box_tiny || (is_length && number < TINY_PX);
    } else if (strcmp(name, "color") == 0) {
        look->is_gone = look->is_gone || starts(value, "transparent");
        look->color = read_color(value);
    } else if (strcmp(name, "background") == 0 || strcmp(name, "background-color") == 0) {
        look->background = read_color(value);
    }
}

static void read_style(struct look *look, const char *style) {
    for (; *style != '\0'; style += strcspn(style, ";"), style += *style == ';') {
        char name[20];
        style += strspn(style, SPACES);
        size_t length = strcspn(style, SPACES ":;");
        const char *value = style + length + strspn(style + length, SPACES);
        if (*value != ':' || length >= sizeof name) {
            continue;
        }
        for (size_t i = 0; i < length; i++) {
            char c = style[i];
            name[i] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
        }
        name[length] = '\0';
        value++;
        read_declaration(look, name, value + strspn(value, SPACES));
    }
}

/* The background that the nearest element around states. */
static struct color background_around(const GumboNode *node) {
    struct color none = {.is_known = false};
    for (unsigned i = 0; node != NULL && i < ANCESTORS_MAX; i++, node = node->parent) {
        const char *style = page_attribute(node, "style");
        const char *color = page_attribute(node, "bgcolor");
        struct look look = {.background = color != NULL ? read_color(color) : none};
        if (style != NULL) {
            read_style(&look, style);
        }
        if (look.background.is_known) {
            return look.background;
        }
    }
    return none;
}

bool look_hides(const GumboNode *node) {
    struct look look = {.is_gone = false};
    const char *style = page_attribute(node, "style");
    const char *aria = page_attribute(node, "aria-hidden");
    if (page_attribute(node, "hidden") != NULL || (aria != NULL && strcmp(aria, "true") == 0)) {
        return true;
    }
    if (style == NULL) {
        return false;
    }
    read_style(&look, style);
    return look.is_gone || (look.is_placed && look.is_off) || (look.is_cut && look.is_box_tiny) ||
           (look.color.is_known && look_same(look.color, background_around(node)));
}
