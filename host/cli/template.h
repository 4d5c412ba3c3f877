/* template.h - the folder of a new plugin, made from the files of plugin-sdk/template/, which the
 * build packs into the command.
 *
 * The files are those of a plugin called "hello". In texts and paths `hello_` becomes the plugin's
 * name as the beginning of an identifier, any other `hello` its id, and `@year@` this year. The
 * lines between one with `@if WORD@` and one with `@end@` are left out where WORD does not apply,
 * those behind `@else@` where it does; the lines with these marks are left out always. Words: `c`,
 * `c++`, `rust`; `meson`, what is built by it; `typed` or `json`, the kind of its tool;
 * `resources`. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/* Longest beginning of an identifier that is made from an id: tools are named after it. */
#define TEMPLATE_PREFIX_MAX 40

struct template_file {
    const char *set;  /**< "common", or a language */
    const char *path; /**< in the new folder */
    const char *data; /**< without a final zero */
    size_t size;
    bool is_program;
    bool is_verbatim; /**< written as it is */
};

extern const struct template_file template_files[];
extern const size_t template_file_count;

/** What a person wants. */
struct template_choice {
    const char *id;       /**< a valid id of a plugin */
    const char *language; /**< "c", "c++" or "rust" */
    bool has_json_tool;
    bool has_resources;
};

/** Whether there is a template in that language. */
bool template_has_language(const char *language);

/** Whether a file is part of the choice. */
bool template_applies(const struct template_choice *choice, const struct template_file *file);

/** The beginning of the plugin's identifiers: the last part of the id, or all of it. */
void template_prefix(const char *id, char ret[static TEMPLATE_PREFIX_MAX + 1]);

/** Append the path of a file; the text of a file. Out of memory marks `out` failed. */
void template_path(const struct template_choice *choice, const struct template_file *file,
                   struct buf *out);
void template_text(const struct template_choice *choice, const struct template_file *file,
                   struct buf *out);

/** Write the folder `choice->id` into the working folder: under another name first, so that it is
 * there whole or not at all, if no signal ends the process meanwhile.
 * @return 0; TOOLRACK_E_EXISTS for a folder that is not empty, or another file; TOOLRACK_E_IO;
 *         TOOLRACK_E_NO_MEMORY. */
int template_write(const struct template_choice *choice, struct toolrack_error *err);
