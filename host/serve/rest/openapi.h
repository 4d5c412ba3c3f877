/* openapi.h - the routes as an OpenAPI 3.1 document. */
#pragma once

#include "base/buf.h"
#include "serve/front.h"

/** @param metrics  who is given the metrics */
void openapi_write(struct buf *out, enum front_class metrics);
