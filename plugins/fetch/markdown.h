/* markdown.h - the content of a page as Markdown: headings, paragraphs, lists, quotes, code,
 * tables, links and images with a text. What is not content is left out: scripts, styles, forms,
 * navigation, what is hidden. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum markdown_fault {
    MARKDOWN_OK,
    MARKDOWN_STOPPED, /**< is_stopped() said so */
    MARKDOWN_LIMIT,   /**< the page takes too much memory */
};

/** Convert a page, which is UTF-8. Links are resolved by `url`, the page's own address. The text is
 * the caller's, to be freed; it is set if the result is MARKDOWN_OK. `is_stopped` is asked every
 * few milliseconds. */
enum markdown_fault markdown_of_html(const char *html, size_t length, const char *url,
                                     bool (*is_stopped)(void *user), void *user, char **ret,
                                     size_t *ret_length);
