/* format.h - the values of `format` that can be checked. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct format {
    const char *name;
    bool (*valid)(const char *text, size_t length);
    const char *example; /**< for messages */
};

/** The format with this name, or NULL if it is not supported. Static. */
const struct format *format_find(const char *name, size_t length);

/* Checks shared by several formats. */
bool format_is_ipv4(const char *text, size_t length);
bool format_is_ipv6(const char *text, size_t length);
bool format_is_hostname(const char *text, size_t length);
bool format_is_uri(const char *text, size_t length);
bool format_is_uri_reference(const char *text, size_t length);
bool format_is_iri(const char *text, size_t length);
bool format_is_iri_reference(const char *text, size_t length);
bool format_is_uri_template(const char *text, size_t length);
