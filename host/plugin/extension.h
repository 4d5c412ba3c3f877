/* extension.h - the host's side of the SDK's extensions: what a plugin gets by
 * tr_host_get_extension(), for one image. */
#pragma once

#include "base/cleanup.h"
#include "plugin/image-host.h"

struct extensions;

/** Its functions pass on what the plugin reports to host->notice; `host` is copied. NULL when out
 * of memory. */
struct extensions *extensions_create(const struct image_host *host, const char *plugin_id);
/** The plugin may use none any more. NULL is ignored. */
void extensions_destroy(struct extensions *extensions);
CLEANUP_DEFINE(struct extensions, extensions_destroy)

/** That of an id; NULL: this host has none. Lives as long as `extensions`. */
const void *extensions_get(struct extensions *extensions, const char *id);
