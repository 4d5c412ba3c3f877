/* format.h - values of `format` that can be asserted. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct format {
    const char *name;
    bool (*valid)(const char *text, size_t length);
    const char *example; /**< for messages */
};

/** The format with this name, or NULL when it is not claimed. Static. */
const struct format *format_find(const char *name, size_t length);

/* Parts that formats are made of. */
bool format_is_ipv4(const char *text, size_t length);
bool format_is_ipv6(const char *text, size_t length);
bool format_is_hostname(const char *text, size_t length);
bool format_is_uri(const char *text, size_t length);
bool format_is_uri_reference(const char *text, size_t length);
bool format_is_iri(const char *text, size_t length);
bool format_is_iri_reference(const char *text, size_t length);
bool format_is_uri_template(const char *text, size_t length);
