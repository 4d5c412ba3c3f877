#include "plugin/missing.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/arena.h"
#include "base/command.h"
#include "plugin/capability.h"
#include "toolrack/plugin.h"

struct missing {
    const char *plugin_id; /* this and the items are in the arena */
    struct missing_capability *items;
    size_t count;
    const char *text;
    struct arena arena;
};

/* --------------------------------------------------------------- what a message says */

static bool is_of_name(char character) {
    return isalnum((unsigned char)character) ||
           (character != '\0' && strchr("_-./", character) != NULL);
}

/* Whether a name begins here, or the host of a URL. */
static bool begins_name(const char *message, const char *at) {
    return at == message || !is_of_name(at[-1]) || (at[-1] == '/' && at[0] != '/');
}

/* Whether what follows a name ends it. A sentence may end there too. */
static bool ends_name(const char *rest) {
    return !is_of_name(rest[0]) || (rest[0] == '.' && !is_of_name(rest[1]));
}

/* Whether a message has a name as a whole; with `is_folder`, also a path below it. */
static bool has_name(const char *message, const char *name, bool is_folder) {
    size_t length = strlen(name);
    for (const char *at = message; length > 0 && (at = strstr(at, name)) != NULL; at++) {
        bool is_below = is_folder && (at[length] == '/' || name[length - 1] == '/');
        if (begins_name(message, at) && (is_below || ends_name(at + length))) {
            return true;
        }
    }
    return false;
}

/* Whether it has the host of "api.example.com:443". */
static bool has_host(const char *message, const char *value) {
    char host[256];
    size_t length = strcspn(value, ":");
    if (value[length] != ':' || length >= sizeof host) {
        return false;
    }
    memcpy(host, value, length);
    host[length] = '\0';
    return has_name(message, host, true);
}

static bool is_named(const struct missing_capability *item, const char *message) {
    const char *value = item->value;
    const char *slash = strrchr(value, '/');
    switch (item->kind) {
    case TR_CAP_READ:
    case TR_CAP_WRITE:
        return has_name(message, value, true) ||
               (item->path != NULL && has_name(message, item->path, true));
    case TR_CAP_NETWORK: return has_host(message, value);
    case TR_CAP_SPAWN:
        return has_name(message, value, false) ||
               (slash != NULL && has_name(message, slash + 1, false)) ||
               (item->path != NULL && has_name(message, item->path, true));
    default: return has_name(message, value, false);
    }
}

/* Whether it has an absolute path: then a file that it does not name is not why. */
static bool has_path(const char *message) {
    for (const char *at = message; (at = strchr(at, '/')) != NULL; at++) {
        if ((at == message || (!is_of_name(at[-1]) && at[-1] != ':')) && is_of_name(at[1])) {
            return true;
        }
    }
    return false;
}

/* Whether a message has whole words, in upper or lower case. */
static const char *find_words(const char *message, const char *words) {
    size_t length = strlen(words);
    for (const char *at = message; (at = strcasestr(at, words)) != NULL; at++) {
        if ((at == message || !isalnum((unsigned char)at[-1])) &&
            !isalnum((unsigned char)at[length])) {
            return at;
        }
    }
    return NULL;
}

/* -------------------------------------------------------------------- its cause */

/* What a message says of the cause. */
enum cause {
    CAUSE_DENIED = 1u,
    CAUSE_ABSENT = 2u,      /* a mount namespace hides files */
    CAUSE_READ_ONLY = 4u,   /* or makes them so */
    CAUSE_UNREACHABLE = 8u, /* so do names and addresses to a worker without the network */
    CAUSE_OTHER = 16u,      /* no grant would help */
};

static unsigned cause_of_number(int number) {
    switch (number) {
    case EACCES:
    case EPERM: return CAUSE_DENIED;
    case ENOENT: return CAUSE_ABSENT;
    case EROFS: return CAUSE_READ_ONLY;
    case ENETUNREACH:
    case ENETDOWN:
    case EAFNOSUPPORT:
    case EPROTONOSUPPORT: return CAUSE_UNREACHABLE;
    default: return CAUSE_OTHER;
    }
}

#define ERROR_NUMBERS 134 /* of Linux */

/* By the names and the descriptions of error numbers, and by what libraries say in their place. */
static unsigned causes_of(const char *message) {
    static const struct {
        const char *words;
        unsigned cause;
    } others[] = {
            {"access denied", CAUSE_DENIED},
            {"access is denied", CAUSE_DENIED},
            {"no such file", CAUSE_ABSENT},
            {"name resolution", CAUSE_UNREACHABLE},
            {"name or service not known", CAUSE_UNREACHABLE},
            {"resolve host", CAUSE_UNREACHABLE},
            {"resolve hostname", CAUSE_UNREACHABLE},
            {"address family not supported", CAUSE_UNREACHABLE},
            {"timed out", CAUSE_OTHER},
            {"connection reset", CAUSE_OTHER},
    };
    unsigned causes = 0;
    for (int number = 1; number < ERROR_NUMBERS; number++) {
        const char *name = strerrorname_np(number);
        const char *words = strerrordesc_np(number);
        if (name != NULL &&
            (has_name(message, name, false) || find_words(message, words) != NULL)) {
            causes |= cause_of_number(number);
        }
    }
    for (size_t i = 0; i < ARRAY_LENGTH(others); i++) {
        causes |= find_words(message, others[i].words) != NULL ? others[i].cause : 0;
    }
    return causes;
}

/* What the kernel says to a worker that lacks a capability of a kind. */
static unsigned causes_of_kind(uint32_t kind) {
    switch (kind) {
    case TR_CAP_READ:
    case TR_CAP_SPAWN: return CAUSE_DENIED | CAUSE_ABSENT;
    case TR_CAP_WRITE: return CAUSE_DENIED | CAUSE_ABSENT | CAUSE_READ_ONLY;
    case TR_CAP_NETWORK: return CAUSE_DENIED | CAUSE_UNREACHABLE;
    default: return 0;
    }
}

/* Whether it has "cannot open" or "open failed" for one of some verbs. */
static bool tells_of_failed(const char *message, const char *verb) {
    static const char *const before[] = {"cannot",   "can't",     "can not",  "could not",
                                         "couldn't", "failed to", "unable to"};
    size_t length = strlen(verb);
    for (const char *at = message; (at = find_words(at, verb)) != NULL; at++) {
        const char *rest = at + length + strspn(at + length, "() ");
        for (size_t i = 0; i < ARRAY_LENGTH(before); i++) {
            size_t words = strlen(before[i]);
            if ((size_t)(at - message) > words && at[-1] == ' ' &&
                strncasecmp(at - 1 - words, before[i], words) == 0) {
                return true;
            }
        }
        if (strncasecmp(rest, "failed", strlen("failed")) == 0) {
            return true;
        }
    }
    return false;
}

/* Whether it says that something of a kind failed. */
static bool is_about(uint32_t kind, const char *message) {
    static const char *const files[] = {"open", "read",   "write", "access",
                                        "stat", "create", "load",  NULL};
    static const char *const network[] = {
            "connect",         "resolve",    "reach",  "open a socket",
            "create a socket", "connection", "socket", NULL};
    static const char *const programs[] = {"exec", "execute", "execve", "spawn",
                                           "fork", "run",     "start",  NULL};
    static const char *const none[] = {NULL};
    const char *const *verbs = kind == TR_CAP_NETWORK ? network
                               : kind == TR_CAP_SPAWN ? programs
                               : kind == TR_CAP_ENV   ? none
                                                      : files;
    for (; *verbs != NULL; verbs++) {
        if (tells_of_failed(message, *verbs)) {
            return true;
        }
    }
    bool is_file = kind == TR_CAP_READ || kind == TR_CAP_WRITE;
    if (is_file && find_words(message, "no folder is granted") != NULL) {
        return true;
    }
    if (kind == TR_CAP_WRITE && find_words(message, "for reading only") != NULL) {
        return true;
    }
    return kind == TR_CAP_ENV && find_words(message, "environment variable") != NULL;
}

/* How well a message fits a capability; all but FIT_SURE are guesses. */
enum fit { FIT_NOT, FIT_CAUSE, FIT_KIND, FIT_NAME, FIT_SURE };

static enum fit fit_of(const struct missing_capability *item, const char *message,
                       unsigned causes) {
    unsigned possible = causes & causes_of_kind(item->kind);
    bool is_file = item->kind != TR_CAP_NETWORK && item->kind != TR_CAP_ENV;
    if (causes != 0 && possible == 0) {
        return FIT_NOT;
    }
    if (is_named(item, message)) {
        return possible != 0 ? FIT_SURE : FIT_NAME;
    }
    /* The loader names a library without its folder, beside the plugin's file. */
    bool is_library = find_words(message, "cannot open shared object file") != NULL;
    if (is_file && has_path(message) && !is_library) {
        return FIT_NOT;
    }
    return is_about(item->kind, message) ? FIT_KIND : possible != 0 ? FIT_CAUSE : FIT_NOT;
}

/* --------------------------------------------------------------------- in words */

/* A choice of the items, of which each is allowed by a command or refused whatever is allowed. */
struct choice {
    struct buf names;    /* of those that can be allowed */
    struct buf items;    /* as words of a command */
    bool has_no_command; /* one of them cannot be a word of it */
    size_t count;
    struct buf refused;
    size_t refused_count;
};

static void choice_finish(struct choice *choice) {
    buf_finish(&choice->names);
    buf_finish(&choice->items);
    buf_finish(&choice->refused);
}

static void choose(struct choice *choice, const struct missing_capability *item) {
    const char *kind = capability_kind_name(item->kind);
    if (item->refusal != NULL) {
        buf_printf(&choice->refused, "%sits plugin declares %s:%s, which is refused: %s",
                   choice->refused_count > 0 ? "; " : "", kind, item->value, item->refusal);
        choice->refused_count++;
        return;
    }
    buf_printf(&choice->names, "%s%s:%s", choice->count > 0 ? ", " : "", kind, item->value);
    choice->has_no_command =
            !command_add_word(&choice->items, item->allowance) || choice->has_no_command;
    choice->count++;
}

static void add_command(const struct choice *choice, const char *plugin_id, struct buf *out) {
    size_t begin = out->length;
    buf_add_text(out, ": ");
    if (choice->has_no_command || !command_begin(out, "allow") ||
        !command_add_word(out, plugin_id)) {
        buf_truncate(out, begin);
        buf_printf(out, ": %s", COMMAND("help", "allow"));
    } else {
        buf_add(out, choice->items.data, choice->items.length);
    }
}

static void describe(const struct choice *choice, const char *plugin_id, bool is_sure,
                     struct buf *out) {
    const char *names = choice->count > 0 ? choice->names.data : "";
    bool is_one = choice->count + choice->refused_count == 1;
    if (choice->names.failed || choice->items.failed || choice->refused.failed) {
        out->failed = true;
        return;
    }
    if (!is_sure && (is_one || choice->count == 0)) {
        buf_add_text(out, "this may be why: ");
    }
    if (choice->count > 0 && (is_sure || is_one)) {
        buf_printf(out, "its plugin declares %s, which %s not allowed", names,
                   choice->count == 1 ? "is" : "are");
    } else if (choice->count > 0) {
        buf_printf(out,
                   "one of these may be missing, which its plugin declares and which are not "
                   "allowed: %s",
                   names);
    }
    if (choice->count > 0) {
        add_command(choice, plugin_id, out);
    }
    if (choice->refused_count > 0) {
        buf_printf(out, "%s%s", choice->count > 0 ? "; " : "", choice->refused.data);
    }
}

void missing_explain(const struct missing *missing, const char *message, struct buf *out) {
    CLEANUP(choice_finish)
    struct choice choice = {.names = BUF_INIT, .items = BUF_INIT, .refused = BUF_INIT};
    unsigned causes = causes_of(message);
    enum fit best = FIT_NOT;
    for (size_t i = 0; i < missing->count; i++) {
        enum fit fit = fit_of(&missing->items[i], message, causes);
        best = fit > best ? fit : best;
    }
    for (size_t i = 0; best > FIT_NOT && i < missing->count; i++) {
        if (fit_of(&missing->items[i], message, causes) == best) {
            choose(&choice, &missing->items[i]);
        }
    }
    if (best > FIT_NOT) {
        describe(&choice, missing->plugin_id, best == FIT_SURE, out);
    }
}

static bool is_needed(const struct missing_capability *item, bool read_only) {
    return item->is_needed && !(read_only && item->is_for_change);
}

bool missing_is_needed(const struct missing *missing, bool read_only) {
    for (size_t i = 0; missing != NULL && i < missing->count; i++) {
        if (is_needed(&missing->items[i], read_only)) {
            return true;
        }
    }
    return false;
}

void missing_needs(const struct missing *missing, bool read_only, struct buf *out) {
    unsigned told = 0;
    for (size_t i = 0; missing != NULL && i < missing->count; i++) {
        const struct missing_capability *item = &missing->items[i];
        unsigned bit = 1u << (item->kind % 32);
        if (is_needed(item, read_only) && (told & bit) == 0) {
            buf_printf(out, "%s%s", told != 0 ? ", " : "", capability_kind_name(item->kind));
            told |= bit;
        }
    }
}

void missing_explain_needs(const struct missing *missing, bool read_only, struct buf *out) {
    CLEANUP(choice_finish)
    struct choice choice = {.names = BUF_INIT, .items = BUF_INIT, .refused = BUF_INIT};
    for (size_t i = 0; missing != NULL && i < missing->count; i++) {
        if (is_needed(&missing->items[i], read_only)) {
            choose(&choice, &missing->items[i]);
        }
    }
    if (choice.count + choice.refused_count > 0) {
        describe(&choice, missing->plugin_id, true, out);
    }
}

const char *missing_text(const struct missing *missing) {
    return missing != NULL ? missing->text : NULL;
}

/* ------------------------------------------------------------------------- life */

static const char *copy(struct arena *arena, const char *text) {
    return arena_copy(arena, text, strlen(text));
}

static bool copy_all(struct missing *missing, const char *plugin_id,
                     const struct missing_capability *items, size_t count) {
    struct arena *arena = &missing->arena;
    missing->plugin_id = copy(arena, plugin_id);
    missing->items = arena_zalloc(arena, (count + 1) * sizeof *missing->items);
    for (size_t i = 0; missing->items != NULL && i < count; i++) {
        struct missing_capability *kept = &missing->items[i];
        *kept = (struct missing_capability){.kind = items[i].kind,
                                            .value = copy(arena, items[i].value),
                                            .allowance = copy(arena, items[i].allowance),
                                            .is_needed = items[i].is_needed,
                                            .is_for_change = items[i].is_for_change};
        kept->path = items[i].path != NULL ? copy(arena, items[i].path) : NULL;
        kept->refusal = items[i].refusal != NULL ? copy(arena, items[i].refusal) : NULL;
        if (kept->value == NULL || kept->allowance == NULL ||
            (items[i].path != NULL && kept->path == NULL) ||
            (items[i].refusal != NULL && kept->refusal == NULL)) {
            return false;
        }
    }
    missing->count = count;
    return missing->plugin_id != NULL && missing->items != NULL;
}

struct missing *missing_create(const char *plugin_id, const struct missing_capability *items,
                               size_t count) {
    CLEANUP(missing_freep) struct missing *missing = calloc(1, sizeof *missing);
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    if (missing == NULL) {
        return NULL;
    }
    arena_init(&missing->arena, NULL, 0);
    if (!copy_all(missing, plugin_id, items, count)) {
        return NULL;
    }
    CLEANUP(choice_finish)
    struct choice all = {.names = BUF_INIT, .items = BUF_INIT, .refused = BUF_INIT};
    for (size_t i = 0; i < count; i++) {
        choose(&all, &missing->items[i]);
    }
    describe(&all, plugin_id, true, &text);
    missing->text = text.failed ? NULL : copy(&missing->arena, text.data);
    return missing->text != NULL ? STEAL(missing) : NULL;
}

void missing_free(struct missing *missing) {
    if (missing != NULL) {
        arena_finish(&missing->arena);
        free(missing);
    }
}
