/* openapi.h - the routes as an OpenAPI 3.1 document. */
#pragma once

#include "base/buf.h"

void openapi_write(struct buf *out);
