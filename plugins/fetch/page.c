/* gumbo does not check what its allocator returns, and its own way to free a tree recurses as deep
 * as the tree is. So it allocates from a list of blocks: where that is full, a long jump leaves the
 * parser, and the list is freed without looking at the tree. */
#include "page.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define STOP_CHECK 64 /* allocations; between two of a deep tree gumbo may look at all of it */

struct page_block {
    struct page_block *previous;
    struct page_block *next;
    size_t size;
    max_align_t data[];
};

static void *allocate(void *user, size_t size) {
    struct page *page = user;
    bool is_stopped = ++page->allocations % STOP_CHECK == 0 && page->is_stopped(page->user);
    size_t whole = sizeof(struct page_block) + size;
    if (is_stopped || size > PAGE_MEMORY_MAX || whole > PAGE_MEMORY_MAX - page->memory) {
        longjmp(page->full, 1);
    }
    struct page_block *block = malloc(whole);
    if (block == NULL) {
        longjmp(page->full, 1);
    }
    block->size = whole;
    block->previous = NULL;
    block->next = page->blocks;
    if (page->blocks != NULL) {
        page->blocks->previous = block;
    }
    page->blocks = block;
    page->memory += whole;
    return block->data;
}

static void release(void *user, void *data) {
    struct page *page = user;
    if (data == NULL) {
        return;
    }
    struct page_block *block =
            (struct page_block *)(void *)((char *)data - offsetof(struct page_block, data));
    if (block->previous != NULL) {
        block->previous->next = block->next;
    } else {
        page->blocks = block->next;
    }
    if (block->next != NULL) {
        block->next->previous = block->previous;
    }
    page->memory -= block->size;
    free(block);
}

bool page_init(struct page *page, const char *html, size_t length, bool (*is_stopped)(void *user),
               void *user) {
    page->output = NULL;
    page->blocks = NULL;
    page->memory = 0;
    page->allocations = 0;
    page->is_stopped = is_stopped;
    page->user = user;
    if (setjmp(page->full) != 0) {
        page->output = NULL;
        return false;
    }
    GumboOptions options = kGumboDefaultOptions;
    options.allocator = allocate;
    options.deallocator = release;
    options.userdata = page;
    options.max_errors = 0;
    page->output = gumbo_parse_with_options(&options, html, length);
    return page->output != NULL;
}

void page_finish(struct page *page) {
    while (page->blocks != NULL) {
        struct page_block *block = page->blocks;
        page->blocks = block->next;
        free(block);
    }
}

const GumboVector *page_children(const GumboNode *node) {
    return node->type == GUMBO_NODE_DOCUMENT  ? &node->v.document.children
           : node->type == GUMBO_NODE_ELEMENT ? &node->v.element.children
                                              : NULL;
}

const char *page_attribute(const GumboNode *node, const char *name) {
    const GumboAttribute *attribute =
            node->type == GUMBO_NODE_ELEMENT
                    ? gumbo_get_attribute(&node->v.element.attributes, name)
                    : NULL;
    return attribute != NULL ? attribute->value : NULL;
}

static bool push(struct page_walk *walk, const GumboNode *node) {
    if (walk->depth == walk->capacity) {
        size_t capacity = (walk->capacity + 32) * 2;
        struct page_step *steps = realloc(walk->steps, capacity * sizeof *steps);
        if (steps == NULL) {
            walk->failed = true;
            return false;
        }
        walk->steps = steps;
        walk->capacity = capacity;
    }
    walk->steps[walk->depth++] = (struct page_step){.node = node, .next = 0};
    return true;
}

/* The first step is of the root before it is entered: `depth` 1 and `next` UINT_MAX. */
void page_walk_init(struct page_walk *walk, const GumboNode *root) {
    *walk = (struct page_walk){0};
    if (push(walk, root)) {
        walk->steps[0].next = UINT32_MAX;
    }
}

void page_walk_finish(struct page_walk *walk) {
    free(walk->steps);
}

bool page_walk_next(struct page_walk *walk, bool *ret_enters, struct page_step **ret) {
    if (walk->depth == 0 || walk->failed) {
        return false;
    }
    struct page_step *top = &walk->steps[walk->depth - 1];
    if (top->next == UINT32_MAX) { /* the root */
        top->next = 0;
        *ret_enters = true;
        *ret = top;
        return true;
    }
    const GumboVector *children = page_children(top->node);
    if (children != NULL && top->next < children->length) {
        const GumboNode *child = children->data[top->next++];
        *ret_enters = push(walk, child);
        *ret = &walk->steps[walk->depth - 1];
        return *ret_enters;
    }
    *ret_enters = false;
    *ret = top; /* stays until another node is entered */
    walk->depth--;
    return true;
}

void page_walk_skip(struct page_walk *walk) {
    walk->steps[walk->depth - 1].next = UINT32_MAX - 1;
}
