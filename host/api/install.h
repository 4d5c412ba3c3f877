/* install.h - packages that came otherwise than by their name. */
#pragma once

#include "package/source.h"
#include "toolrack/install.h"

/** Install a package that came from another host, whose person was asked. What toolrack_install()
 * verifies is verified here.
 * @param looks_only  nothing is installed
 * As that. */
int install_given(struct toolrack *host, const struct source_given *given, bool looks_only,
                  const char *who, struct toolrack_text **ret_report, struct toolrack_error *err);
