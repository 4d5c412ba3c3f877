/* listing.c - the tools that look at folders: their entries, trees of them, and what matches a
 * pattern. Entries are in the order of their bytes, links are not followed into, and what cannot be
 * read within a tree is left out of a search. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "glob.h"
#include "tool.h"

/* Folders in folders, entries of one folder, and patterns that a call may leave out. */
#define DEPTH_MAX    200u
#define ENTRIES_MAX  200000u
#define PATTERNS_MAX 100u

struct entry {
    char *name;       /* owned; the bytes */
    struct text text; /* the name as UTF-8 */
    bool is_folder;
    bool is_link;
    off_t size;
};

struct entries {
    struct entry *items; /* owned */
    size_t count;
    size_t room;
};

static void entries_finish(struct entries *entries) {
    for (size_t i = 0; i < entries->count; i++) {
        free(entries->items[i].name);
        text_finish(&entries->items[i].text);
    }
    free(entries->items);
    *entries = (struct entries){0};
}

static int by_bytes(const void *one, const void *two) {
    return strcmp(((const struct entry *)one)->name, ((const struct entry *)two)->name);
}

/* As in a `struct dirent`; some file systems do not say it there. */
static unsigned type_of(int folder, const struct dirent *found) {
    struct stat st;
    return found->d_type == DT_UNKNOWN &&
                           fstatat(folder, found->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0
                   ? IFTODT(st.st_mode)
                   : found->d_type;
}

static int add_entry(struct entries *entries, int folder, const struct dirent *found) {
    if (entries->count == ENTRIES_MAX) {
        return EFBIG;
    }
    if (entries->count == entries->room) {
        size_t room = entries->room > 0 ? 2 * entries->room : 64;
        struct entry *items = realloc(entries->items, room * sizeof *items);
        if (items == NULL) {
            return ENOMEM;
        }
        entries->items = items;
        entries->room = room;
    }
    struct entry *entry = &entries->items[entries->count];
    unsigned type = type_of(folder, found);
    *entry = (struct entry){
            .name = strdup(found->d_name), .is_folder = type == DT_DIR, .is_link = type == DT_LNK};
    text_add_utf8(&entry->text, found->d_name, strlen(found->d_name));
    if (entry->name == NULL || entry->text.failed) {
        free(entry->name);
        text_finish(&entry->text);
        return ENOMEM;
    }
    entries->count++;
    return 0;
}

/* Read a folder from a descriptor, which is closed. 0, or an errno. */
static int read_entries(int fd, struct entries *ret) {
    DIR *folder = fdopendir(fd);
    int number = 0;
    if (folder == NULL) {
        number = errno;
        (void)close(fd);
        return number;
    }
    errno = 0;
    for (struct dirent *found; number == 0 && (found = readdir(folder)) != NULL;) {
        if (strcmp(found->d_name, ".") != 0 && strcmp(found->d_name, "..") != 0) {
            number = add_entry(ret, fd, found);
        }
        errno = 0;
    }
    number = number != 0 ? number : errno;
    (void)closedir(folder);
    if (ret->count > 0) {
        qsort(ret->items, ret->count, sizeof *ret->items, by_bytes);
    }
    return number;
}

static tr_status fail_list(struct tr_call *call, const char *path, int number) {
    struct place_fault fault;
    if (number == EFBIG) {
        return tr_fail(call, TR_LIMIT_EXCEEDED, "path",
                       "%.400s has more than %u entries; search_files finds some of them", path,
                       ENTRIES_MAX);
    }
    if (number == EOVERFLOW) {
        return tr_fail(call, TR_LIMIT_EXCEEDED, "path",
                       "more than %u directories are in each other at %.400s; ask for one of them",
                       DEPTH_MAX, path);
    }
    place_say(&fault, "cannot list", path, number);
    return tool_fail(call, "path", &fault);
}

/* The folder that the argument names, open to read; -1: the call has failed. */
static int open_folder(struct tr_call *call, struct place *ret) {
    if (!tool_place(call, "path", ret)) {
        return -1;
    }
    int fd = -1;
    errno = ENOENT;
    if (ret->exists) {
        fd = place_open(ret, O_RDONLY | O_DIRECTORY | O_NONBLOCK);
    }
    if (fd < 0) {
        (void)fail_list(call, ret->path, errno);
    }
    return fd;
}

/* --------------------------------------------------------------- listings */

tr_status list_directory(struct tr_call *call) {
    struct place place;
    struct entries entries = {0};
    struct text text = {0};
    int fd = open_folder(call, &place);
    if (fd < 0) {
        return TR_FAILED;
    }
    int number = read_entries(fd, &entries);
    for (size_t i = 0; i < entries.count; i++) {
        text_add_string(&text, i > 0 ? "\n" : "");
        text_add_string(&text, entries.items[i].is_folder ? "[DIR] " : "[FILE] ");
        text_add_name(&text, entries.items[i].name);
    }
    entries_finish(&entries);
    if (number != 0) {
        text_finish(&text);
        return fail_list(call, place.path, number);
    }
    return tool_reply(call, &text, "search_files finds some of the entries");
}

static int by_size(const void *one, const void *two) {
    off_t first = ((const struct entry *)one)->size;
    off_t second = ((const struct entry *)two)->size;
    return first != second ? (first < second ? 1 : -1) : by_bytes(one, two);
}

/* Where a character comes among those of ASCII in the order of Unicode's collation: marks, digits,
 * letters. Others follow them. */
static unsigned rank(unsigned char c) {
    static const char marks[] = "_-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$";
    const char *mark = c != '\0' ? strchr(marks, c) : NULL;
    bool is_letter = (c | 32U) >= 'a' && (c | 32U) <= 'z';
    return c <= ' '               ? c
           : mark != NULL         ? 33U + (unsigned)(mark - marks)
           : c >= '0' && c <= '9' ? 100U + c
           : is_letter            ? 200U + (c | 32U)
                                  : 300U + c;
}

/* As people sort names: capitals count only where all else is equal, and come last then. */
static int by_name(const void *one, const void *two) {
    const unsigned char *first = (const unsigned char *)((const struct entry *)one)->name;
    const unsigned char *second = (const unsigned char *)((const struct entry *)two)->name;
    int capitals = 0;
    for (;; first++, second++) {
        unsigned first_rank = rank(*first);
        unsigned second_rank = rank(*second);
        if (first_rank != second_rank) {
            return first_rank < second_rank ? -1 : 1;
        }
        if (*first == '\0') {
            return capitals;
        }
        capitals = capitals != 0 || *first == *second ? capitals : *first > *second ? -1 : 1;
    }
}

/* What is at the end of a link counts only if it is in a granted folder. */
static void find_size(const struct place *folder, struct entry *entry) {
    char path[PATH_MAX];
    struct place place;
    struct place_fault fault;
    struct stat st;
    if (snprintf(path, sizeof path, "%s/%s", folder->path, entry->name) >= (int)sizeof path ||
        !place_find(path, &place, &fault) || !place.exists) {
        return;
    }
    int fd = place_open(&place, O_PATH);
    if (fd >= 0 && fstat(fd, &st) == 0) {
        entry->size = st.st_size;
    }
    if (fd >= 0) {
        (void)close(fd);
    }
}

/* "0 B", "1.50 KB". */
static void format_size(off_t size, char ret[32]) {
    static const char *const units[] = {"KB", "MB", "GB", "TB"};
    double value = (double)size;
    size_t unit = 0;
    if (size < 1024) {
        (void)snprintf(ret, 32, "%lld B", size < 0 ? 0 : (long long)size);
        return;
    }
    for (value /= 1024; value >= 1024 && unit + 1 < sizeof units / sizeof *units; unit++) {
        value /= 1024;
    }
    (void)snprintf(ret, 32, "%.2f %s", value, units[unit]);
}

static void add_sized(struct text *text, const struct entry *entry) {
    char size[32];
    text_add_string(text, entry->is_folder ? "[DIR] " : "[FILE] ");
    size_t begin = text->length;
    text_add_name(text, entry->name);
    size_t width = text_utf16_length(text->data + begin, text->length - begin);
    int padding = width < 30 ? (int)(30 - width) : 0;
    format_size(entry->size, size);
    if (entry->is_folder) {
        text_add_format(text, "%*s \n", padding, "");
    } else {
        text_add_format(text, "%*s %10s\n", padding, "", size);
    }
}

tr_status list_directory_with_sizes(struct tr_call *call) {
    struct place place;
    struct entries entries = {0};
    struct text text = {0};
    char size[32];
    size_t folders = 0;
    off_t total = 0;
    bool is_by_size = strcmp(tr_get_string(call, "sortBy", "name"), "size") == 0;
    int fd = open_folder(call, &place);
    if (fd < 0) {
        return TR_FAILED;
    }
    int number = read_entries(fd, &entries);
    for (size_t i = 0; number == 0 && i < entries.count && !tr_cancelled(call); i++) {
        find_size(&place, &entries.items[i]);
        folders += entries.items[i].is_folder;
        total += entries.items[i].is_folder ? 0 : entries.items[i].size;
    }
    if (entries.count > 0) {
        qsort(entries.items, entries.count, sizeof *entries.items, is_by_size ? by_size : by_name);
    }
    for (size_t i = 0; i < entries.count; i++) {
        add_sized(&text, &entries.items[i]);
    }
    format_size(total, size);
    text_add_format(&text, "\nTotal: %zu files, %zu directories\nCombined size: %s",
                    entries.count - folders, folders, size);
    entries_finish(&entries);
    if (number != 0) {
        text_finish(&text);
        return fail_list(call, place.path, number);
    }
    return tool_reply(call, &text, "search_files finds some of the entries");
}

/* ---------------------------------------------------------------- patterns */

struct patterns {
    struct glob *items; /* owned */
    size_t count;
};

static void patterns_finish(struct patterns *patterns) {
    for (size_t i = 0; i < patterns->count; i++) {
        glob_finish(&patterns->items[i]);
    }
    free(patterns->items);
    *patterns = (struct patterns){0};
}

static bool add_pattern(struct tr_call *call, struct patterns *patterns, const char *field,
                        const char *pattern) {
    char message[GLOB_MESSAGE_MAX];
    if (pattern == NULL) {
        (void)tr_fail(call, TR_INVALID_ARGUMENTS, field, "must be a pattern without U+0000");
        return false;
    }
    if (!glob_compile(pattern, &patterns->items[patterns->count++], message)) {
        (void)tr_fail(call, TR_INVALID_ARGUMENTS, field, "%s", message);
        return false;
    }
    return true;
}

/* Those to leave out. In a tree, one without a star also means what has it as a part of its path.
 * False: the call has failed. */
static bool read_patterns(struct tr_call *call, bool is_tree, struct patterns *ret) {
    uint64_t count = tr_count(call, "excludePatterns");
    bool is_read = true;
    ret->items = calloc(count * 3 + 1, sizeof *ret->items);
    if (ret->items == NULL) {
        (void)tr_fail(call, TR_FAILED, NULL, "out of memory");
        return false;
    }
    for (uint64_t i = 0; is_read && i < count; i++) {
        char field[64];
        char more[GLOB_SIZE_MAX + 8];
        (void)snprintf(field, sizeof field, "excludePatterns/%llu", (unsigned long long)i);
        const char *pattern = tr_get_string(call, field, NULL);
        is_read = add_pattern(call, ret, field, pattern);
        if (is_read && is_tree && strchr(pattern, '*') == NULL) {
            (void)snprintf(more, sizeof more, "**/%s", pattern);
            is_read = add_pattern(call, ret, field, more);
            (void)snprintf(more, sizeof more, "**/%.*s/**", (int)GLOB_SIZE_MAX, pattern);
            is_read = is_read && add_pattern(call, ret, field, more);
        }
    }
    return is_read;
}

static bool is_left_out(const struct patterns *patterns, const char *path) {
    for (size_t i = 0; i < patterns->count; i++) {
        if (glob_matches(&patterns->items[i], path)) {
            return true;
        }
    }
    return false;
}

/* ------------------------------------------------------------------- trees */

/* A walk through a tree. Each folder is opened by its path, as the descriptors of all above it
 * would be too many; none of the way may be a link. */
struct tree {
    struct tr_call *call;
    struct place place; /* where it is */
    struct text path;   /* the same, relative to where it began, as UTF-8 */
    struct patterns left_out;
    struct glob pattern; /* of search_files */
    struct text out;
    int number; /* why it ended early; 0: it did not */
};

static void tree_finish(struct tree *tree) {
    text_finish(&tree->path);
    text_finish(&tree->out);
    patterns_finish(&tree->left_out);
    glob_finish(&tree->pattern);
}

/* Lengths of the two paths, to go back to. */
struct mark {
    size_t place;
    size_t path;
};

static struct mark enter(struct tree *tree, const struct entry *entry) {
    struct mark mark = {strlen(tree->place.path), tree->path.length};
    size_t length = strlen(entry->name);
    const char *slash = mark.place == 1 ? "" : "/";
    text_add_string(&tree->path, mark.path > 0 ? "/" : "");
    text_add(&tree->path, entry->text.data, entry->text.length);
    if (mark.place + length + 2 > sizeof tree->place.path) {
        tree->number = ENAMETOOLONG;
    } else {
        (void)stpcpy(stpcpy(tree->place.path + mark.place, slash), entry->name);
    }
    tree->number = tree->number != 0          ? tree->number
                   : tree->path.failed        ? ENOMEM
                   : tr_cancelled(tree->call) ? ECANCELED
                                              : 0;
    return mark;
}

static void leave(struct tree *tree, struct mark mark) {
    tree->place.path[mark.place] = '\0';
    tree->path.length = mark.path;
    tree->path.data[mark.path] = '\0';
}

/* The entries of where it is. 0, or an errno. */
static int read_here(const struct tree *tree, struct entries *ret) {
    int fd = place_open(&tree->place, O_RDONLY | O_DIRECTORY | O_NONBLOCK);
    return fd < 0 ? errno : read_entries(fd, ret);
}

/* The place that the argument names, as the beginning. */
static bool begin(struct tree *tree) {
    int fd = open_folder(tree->call, &tree->place);
    if (fd >= 0) {
        (void)close(fd);
    }
    return fd >= 0;
}

static tr_status end(struct tree *tree, const char *advice) {
    tr_status status = tree->number != 0 && !tree->out.failed
                               ? fail_list(tree->call, tree->place.path, tree->number)
                               : tool_reply(tree->call, &tree->out, advice);
    tree_finish(tree);
    return status;
}

static void add_line(struct text *out, unsigned indent, const char *line) {
    for (unsigned i = 0; i < indent; i++) {
        text_add(out, " ", 1);
    }
    text_add_string(out, line);
}

static void add_tree(struct tree *tree, unsigned depth);

static void add_node(struct tree *tree, const struct entry *entry, unsigned depth) {
    struct text *out = &tree->out;
    unsigned indent = 4 * depth + 2;
    add_line(out, indent, "{\n");
    add_line(out, indent + 2, "\"name\": ");
    text_add_json(out, entry->text.data, entry->text.length);
    text_add_string(out, ",\n");
    add_line(out, indent + 2,
             entry->is_folder ? "\"type\": \"directory\",\n" : "\"type\": \"file\"\n");
    if (entry->is_folder) {
        add_line(out, indent + 2, "\"children\": ");
        add_tree(tree, depth + 1);
        text_add_string(out, "\n");
    }
    add_line(out, indent, "}");
}

/* The array of a folder. */
static void add_tree(struct tree *tree, unsigned depth) {
    struct entries entries = {0};
    bool is_empty = true;
    tree->number = depth > DEPTH_MAX ? EOVERFLOW : read_here(tree, &entries);
    for (size_t i = 0; i < entries.count && tree->number == 0 && !tree->out.failed; i++) {
        struct mark mark = enter(tree, &entries.items[i]);
        if (tree->number == 0 && !is_left_out(&tree->left_out, tree->path.data)) {
            text_add_string(&tree->out, is_empty ? "[\n" : ",\n");
            is_empty = false;
            add_node(tree, &entries.items[i], depth);
        }
        if (tree->number == 0) { /* else the path says where */
            leave(tree, mark);
        }
    }
    if (is_empty) {
        text_add_string(&tree->out, "[]");
    } else {
        text_add_string(&tree->out, "\n");
        add_line(&tree->out, 4 * depth, "]");
    }
    entries_finish(&entries);
}

tr_status directory_tree(struct tr_call *call) {
    struct tree tree = {.call = call};
    if (!begin(&tree) || !read_patterns(call, true, &tree.left_out)) {
        tree_finish(&tree);
        return TR_FAILED;
    }
    add_tree(&tree, 0);
    return end(&tree, "ask for a folder in it, or leave out more with excludePatterns");
}

/* Whether a link leads to something that may be read. */
static bool is_followable(const struct tree *tree) {
    struct place place;
    struct place_fault fault;
    return place_find(tree->place.path, &place, &fault) && place.exists;
}

static void search(struct tree *tree, unsigned depth) {
    struct entries entries = {0};
    if (depth <= DEPTH_MAX) {
        (void)read_here(tree, &entries); /* what may not be read is left out */
    }
    for (size_t i = 0; i < entries.count && tree->number == 0 && !tree->out.failed; i++) {
        const struct entry *entry = &entries.items[i];
        struct mark mark = enter(tree, entry);
        bool is_seen = tree->number == 0 && (!entry->is_link || is_followable(tree)) &&
                       !is_left_out(&tree->left_out, tree->path.data);
        if (is_seen && glob_matches(&tree->pattern, tree->path.data)) {
            text_add_string(&tree->out, tree->out.length > 0 ? "\n" : "");
            text_add_name(&tree->out, tree->place.path);
        }
        if (is_seen && entry->is_folder) {
            search(tree, depth + 1);
        }
        tree->number = tree->number == ENAMETOOLONG ? 0 : tree->number;
        leave(tree, mark);
    }
    entries_finish(&entries);
}

tr_status search_files(struct tr_call *call) {
    struct tree tree = {.call = call};
    char message[GLOB_MESSAGE_MAX];
    const char *pattern = tr_get_string(call, "pattern", NULL);
    if (!begin(&tree) || !read_patterns(call, false, &tree.left_out)) {
        tree_finish(&tree);
        return TR_FAILED;
    }
    if (pattern == NULL || !glob_compile(pattern, &tree.pattern, message)) {
        tree_finish(&tree);
        return tr_fail(call, TR_INVALID_ARGUMENTS, "pattern", "%s",
                       pattern != NULL ? message : "must be a pattern without U+0000");
    }
    search(&tree, 0);
    if (tree.out.length == 0) {
        text_add_string(&tree.out, "No matches found");
    }
    return end(&tree, "search in a folder of it, or for a narrower pattern");
}
