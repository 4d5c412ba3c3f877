/* page.h - HTML parsed by gumbo, within a limit of memory, and until it is stopped. */
#pragma once

#include <gumbo.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>

#define PAGE_MEMORY_MAX ((size_t)256 << 20)

struct page_block;

struct page {
    const GumboOutput *output;
    struct page_block *blocks; /* all that gumbo has allocated */
    size_t memory;
    unsigned allocations;
    bool (*is_stopped)(void *user);
    void *user;
    jmp_buf full;
};

/** Parse a text, which must live as long as the page. False: it takes more than PAGE_MEMORY_MAX, or
 * it was stopped. page_finish() is to be called in any case. */
bool page_init(struct page *page, const char *html, size_t length, bool (*is_stopped)(void *user),
               void *user);
void page_finish(struct page *page);

/** The children of a node, or NULL if it can have none. */
const GumboVector *page_children(const GumboNode *node);

/** The value of an attribute of an element, or NULL. */
const char *page_attribute(const GumboNode *node, const char *name);

/** Walk over a tree without recursion, however deep it is. */
struct page_step {
    const GumboNode *node;
    unsigned next;  /* child */
    unsigned entry; /* for who walks: what it did when it entered */
};
struct page_walk {
    struct page_step *steps;
    size_t depth;
    size_t capacity;
    bool failed; /* no memory */
};

/** Begin at a node; then page_walk_next() enters nodes and leaves them. */
void page_walk_init(struct page_walk *walk, const GumboNode *root);
void page_walk_finish(struct page_walk *walk);

/** The next event: a node that is entered, or one whose children are done, is left. `ret` lives
 * until the next call. False: the walk is over. */
bool page_walk_next(struct page_walk *walk, bool *ret_enters, struct page_step **ret);

/** Of the node that was entered last, pass over the children. */
void page_walk_skip(struct page_walk *walk);
