/* json-pointer.h - the steps of JSON Pointers (RFC 6901): "/" and the key of a member, in which "~"
 * and "/" are escaped. */
#pragma once

#include <stddef.h>

struct arena;

/* Longest JSON Pointer, with its final zero. */
#define JSON_POINTER_MAX 512u

/** What a byte of a key is in a pointer; NULL: itself. [any-thread] */
static inline const char *json_pointer_escape(char byte) {
    return byte == '~' ? "~0" : byte == '/' ? "~1" : NULL;
}

/** The key that a step is, without its slash. What is no escape is a part of the key.
 * @param ret  has room for `length` bytes; may be `step`. No zero is added
 * @return the length of the key. [any-thread] */
size_t json_pointer_unescape(const char *step, size_t length, char *ret);

/** Append a key to `pointer`, which has JSON_POINTER_MAX bytes. A key that does not fit is left
 * out: the pointer then names its parent. buf_add_pointer() has no bound. [any-thread] */
void json_pointer_add(char *pointer, const char *key);
void json_pointer_add_index(char *pointer, size_t index);

/** A pointer with one more key, in an arena; NULL: no memory. [any-thread] */
char *json_pointer_join(struct arena *arena, const char *pointer, const char *key);
