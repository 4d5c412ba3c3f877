/* curves.h - how costs grow with a number: as a table, and as curves in an SVG.
 *
 * Both axes are logarithmic: a cost that does not depend on the number is a level line, and one
 * that is in proportion to it rises as the diagonal does. */
#pragma once

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define CURVES_MAX 8u
#define POINTS_MAX 8u

struct curve {
    const char *name;
    double us[POINTS_MAX]; /* NAN: not measured */
};

struct curves {
    const char *title;
    const char *what; /* the number that grows */
    double numbers[POINTS_MAX];
    size_t points;
    struct curve curves[CURVES_MAX];
    size_t count;
};

static inline void curves_print(const struct curves *curves) {
    printf("%-28s", curves->title);
    for (size_t k = 0; k < curves->points; k++) {
        printf("%14.0f", curves->numbers[k]);
    }
    printf("  %s\n", curves->what);
    for (size_t i = 0; i < curves->count; i++) {
        printf("%-28s", curves->curves[i].name);
        for (size_t k = 0; k < curves->points; k++) {
            if (isnan(curves->curves[i].us[k])) {
                printf("%14s", "-");
            } else {
                printf("%14.1f", curves->curves[i].us[k]);
            }
        }
        printf("  us\n");
    }
    (void)fflush(stdout);
}

/* Sizes of one picture, and the decades of its axes: 1 to 10^7 of what grows, 0.1 us to 100 s. */
enum { CURVES_WIDTH = 560, CURVES_HEIGHT = 420, CURVES_LEFT = 60, CURVES_TOP = 40 };
#define CURVES_X(number) (CURVES_LEFT + log10(number) * 40)
#define CURVES_Y(us)     (CURVES_TOP + (8 - log10(us)) * 36)

static inline void curves_draw_axes(FILE *svg, const struct curves *curves) {
    (void)fprintf(svg, "<text x=\"%d\" y=\"20\" font-weight=\"bold\">%s</text>\n", CURVES_LEFT,
                  curves->title);
    for (int decade = 0; decade <= 7; decade++) {
        (void)fprintf(svg,
                      "<path d=\"M%.0f %.0fV%.0f\" stroke=\"#ddd\"/>"
                      "<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"middle\">10^%d</text>\n",
                      CURVES_X(pow(10, decade)), CURVES_Y(1e8), CURVES_Y(0.1),
                      CURVES_X(pow(10, decade)), CURVES_Y(0.1) + 16, decade);
    }
    for (int decade = -1; decade <= 8; decade++) {
        static const char *const units[] = {"0.1 us", "1 us",   "10 us", "100 us", "1 ms",
                                            "10 ms",  "100 ms", "1 s",   "10 s",   "100 s"};
        (void)fprintf(svg,
                      "<path d=\"M%.0f %.0fH%.0f\" stroke=\"#ddd\"/>"
                      "<text x=\"%d\" y=\"%.0f\" text-anchor=\"end\">%s</text>\n",
                      CURVES_X(1), CURVES_Y(pow(10, decade)), CURVES_X(1e7), CURVES_LEFT - 4,
                      CURVES_Y(pow(10, decade)) + 4, units[decade + 1]);
    }
    (void)fprintf(svg, "<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"end\">%s</text>\n", CURVES_X(1e7),
                  CURVES_Y(0.1) + 32, curves->what);
}

static inline void curves_draw(FILE *svg, const struct curves *curves) {
    static const char *const colours[CURVES_MAX] = {"#1f77b4", "#d62728", "#2ca02c", "#9467bd",
                                                    "#ff7f0e", "#8c564b", "#17becf", "#7f7f7f"};
    curves_draw_axes(svg, curves);
    for (size_t i = 0; i < curves->count; i++) {
        const struct curve *curve = &curves->curves[i];
        (void)fprintf(svg, "<polyline fill=\"none\" stroke-width=\"2\" stroke=\"%s\" points=\"",
                      colours[i]);
        for (size_t k = 0; k < curves->points; k++) {
            if (!isnan(curve->us[k])) {
                (void)fprintf(svg, "%.1f,%.1f ", CURVES_X(curves->numbers[k]),
                              CURVES_Y(curve->us[k]));
            }
        }
        (void)fprintf(svg, "\"/>\n<text x=\"%.0f\" y=\"%zu\" fill=\"%s\">%s</text>\n",
                      CURVES_X(1e7) + 10, CURVES_TOP + 18 * i, colours[i], curve->name);
    }
}

/* Write pictures of all, side by side, to a file. */
static inline void curves_write(const char *path, const struct curves *const *all, size_t count) {
    FILE *svg = fopen(path, "w");
    if (svg == NULL) {
        perror(path);
        exit(EXIT_FAILURE);
    }
    (void)fprintf(svg,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
                  "font-family=\"sans-serif\" font-size=\"11\">\n"
                  "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
                  CURVES_WIDTH * (int)count, CURVES_HEIGHT);
    for (size_t i = 0; i < count; i++) {
        (void)fprintf(svg, "<g transform=\"translate(%d,0)\">\n", CURVES_WIDTH * (int)i);
        curves_draw(svg, all[i]);
        (void)fprintf(svg, "</g>\n");
    }
    (void)fprintf(svg, "</svg>\n");
    if (fclose(svg) != 0) {
        perror(path);
        exit(EXIT_FAILURE);
    }
}
