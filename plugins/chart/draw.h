/* draw.h - a table as a chart. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <cairo.h>

#include "table.h"

enum chart_kind { CHART_BAR, CHART_LINE, CHART_SCATTER, CHART_HISTOGRAM };

struct chart {
    enum chart_kind kind;
    const char *title; /**< or NULL, as the next two */
    const char *x_label;
    const char *y_label;
    double width; /**< in pixels */
    double height;
    bool stacked; /**< bars of a place one upon the other */
    size_t bins;  /**< of a histogram, about; 0: by the number of values */
    const struct table *table;
};

/** Draw on an empty surface; whether that was done is in the status of `cr`. [call-thread] */
void draw_chart(cairo_t *cr, const struct chart *chart);
