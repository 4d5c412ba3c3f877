/* metrics.h - the numbers of a host and of its server in the text format of Prometheus (0.0.4). */
#pragma once

#include <yyjson.h>

#include "base/buf.h"

struct serve_counts;

#define METRICS_TYPE "text/plain; version=0.0.4; charset=utf-8"

/** Write them.
 * @param root    of the JSON of toolrack_metrics()
 * @param counts  of the server, or NULL */
void metrics_write(struct buf *out, yyjson_val *root, const struct serve_counts *counts);
