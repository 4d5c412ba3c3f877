#include "plugin/advice.h"

#include <string.h>
#include <yyjson.h>

#include "base/ascii.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/text.h"

CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)

/* Longest word that is compared with a list. */
#define WORD_MAX      32u
/* More tools than OpenAI takes in one request. */
#define TOOLS_GOOD    128u
#define SHOWN(string) FINDING_SHOWN_MAX, (string)

static bool is_among(const char *const *words, size_t count, const char *word) {
    for (size_t i = 0; i < count; i++) {
        if (strcmp(words[i], word) == 0) {
            return true;
        }
    }
    return false;
}

/* ---------------------------------------------------------------- descriptions */

/* Words of which a description may consist without saying anything. */
static const char *const fillers[] = {
        "a",      "an",     "and",  "calls",    "call",   "description", "do",      "does", "for",
        "foo",    "bar",    "func", "function", "helper", "is",          "it",      "its",  "makes",
        "method", "of",     "or",   "perform",  "plugin", "run",         "runs",    "some", "stuff",
        "test",   "that",   "the",  "thing",    "things", "this",        "to",      "tool", "use",
        "used",   "useful", "uses", "utility",  "which",  "with",        "whatever"};
static const char *const unfinished[] = {"TODO", "FIXME", "TBD", "XXX", "Lorem ipsum"};

/* The next word of ASCII letters and digits, in lower case; NULL: there is none. */
static const char *next_word(const char *at, char ret[static WORD_MAX]) {
    size_t length = 0;
    while (*at != '\0' && !ascii_is_alnum(*at)) {
        at++;
    }
    for (; ascii_is_alnum(*at); at++) {
        if (length < WORD_MAX - 1) {
            ret[length++] = ascii_lower(*at);
        }
    }
    ret[length] = '\0';
    return length > 0 ? at : NULL;
}

/* Whether a word is in the name, be it in the plural there or here: "adds" in "add_two". */
static bool is_of_name(const char *word, const char *name) {
    char stem[WORD_MAX];
    size_t length = strlen(word);
    memcpy(stem, word, length + 1);
    if (length > 3 && stem[length - 1] == 's') {
        stem[length - 1] = '\0';
    }
    return strcasestr(name, stem) != NULL;
}

static bool is_unfinished(const char *text) {
    for (size_t i = 0; i < ARRAY_LENGTH(unfinished); i++) {
        if (strncmp(text, unfinished[i], strlen(unfinished[i])) == 0) {
            return true;
        }
    }
    return false;
}

/* Of a text in another script than ASCII's nothing is known: it may have no spaces. */
static bool is_ascii(const char *text) {
    while (*text != '\0' && (unsigned char)*text < 0x80) {
        text++;
    }
    return *text == '\0';
}

/* Whether a text has no word beside those of the name and those that say nothing. */
static bool repeats_name(const char *text, const char *name) {
    char word[WORD_MAX];
    for (const char *at = text; (at = next_word(at, word)) != NULL;) {
        if (!is_among(fillers, ARRAY_LENGTH(fillers), word) && !is_of_name(word, name)) {
            return false;
        }
    }
    return true;
}

static bool is_one_word(const char *text) {
    char word[WORD_MAX];
    const char *rest = next_word(text, word);
    return rest == NULL || (next_word(rest, word) == NULL && strlen(text) < WORD_MAX);
}

static void check_description(const struct tr_tool *tool, struct findings *findings) {
    const char *why = is_unfinished(tool->description)              ? "is unfinished"
                      : !is_ascii(tool->description)                ? NULL
                      : repeats_name(tool->description, tool->name) ? "says no more than its name"
                      : is_one_word(tool->description)              ? "is one word"
                                                                    : NULL;
    if (why != NULL) {
        findings_add(findings, FINDING_DESCRIPTION_VAGUE, tool->name,
                     "the tool's description %s: \"%.*s\"", why, SHOWN(tool->description));
    }
}

/* ----------------------------------------------------------------------- names */

static bool is_generic(const char *name) {
    static const char *const names[] = {"action",  "call", "do",       "example", "exec",
                                        "execute", "foo",  "bar",      "func",    "main",
                                        "process", "run",  "function", "test",    "tool"};
    char lower[WORD_MAX];
    const char *rest = next_word(name, lower);
    return rest != NULL && *rest == '\0' && is_among(names, ARRAY_LENGTH(names), lower);
}

/* Whether names are the same but for case, '_' and '-', and not entirely. */
static bool is_near(const char *a, const char *b) {
    const char *x = a;
    const char *y = b;
    while (*x != '\0' || *y != '\0') {
        if (*x == '_' || *x == '-') {
            x++;
        } else if (*y == '_' || *y == '-') {
            y++;
        } else if (ascii_lower(*x++) != ascii_lower(*y++)) {
            return false;
        }
    }
    return strcmp(a, b) != 0;
}

/* A tool beside those before it; the versions of one tool have one name. */
static void compare(const struct descriptor *desc, uint32_t index, struct findings *findings) {
    const struct tr_tool *tool = desc->tools[index].tool;
    bool is_same = false;
    bool has_near = false;
    for (uint32_t i = 0; i < index && !(is_same && has_near); i++) {
        const struct tr_tool *other = desc->tools[i].tool;
        if (strcmp(tool->name, other->name) == 0) {
            continue;
        }
        if (!is_same && strcmp(tool->description, other->description) == 0) {
            is_same = true;
            findings_add(findings, FINDING_DESCRIPTION_SAME, tool->name,
                         "the tool's description is that of %s", other->name);
        }
        if (!has_near && is_near(tool->name, other->name)) {
            has_near = true;
            findings_add(findings, FINDING_NAME_NEAR, tool->name,
                         "the tool's name is nearly that of %s", other->name);
        }
    }
}

/* ------------------------------------------------------------------ parameters */

static bool is_secret_name(const char *name) {
    static const char *const names[] = {"password",    "passwd",      "passphrase",  "secret",
                                        "apikey",      "secretkey",   "accesstoken", "authtoken",
                                        "privatekey",  "bearertoken", "credential",  "credentials",
                                        "clientsecret"};
    char plain[WORD_MAX];
    size_t length = 0;
    for (const char *at = name; *at != '\0'; at++) {
        if (length == WORD_MAX - 1) {
            return false;
        }
        if (*at != '_' && *at != '-') {
            plain[length++] = ascii_lower(*at);
        }
    }
    plain[length] = '\0';
    return is_among(names, ARRAY_LENGTH(names), plain);
}

static bool is_masked(yyjson_val *property) {
    return yyjson_equals_str(yyjson_obj_get(property, "format"), "password") ||
           yyjson_is_true(yyjson_obj_get(property, "writeOnly"));
}

/* "path" of "path", "The path." of "path", but "the path to read" is more. */
static bool is_only_name(const char *text, const char *name) {
    char word[WORD_MAX];
    char lower[WORD_MAX];
    const char *at = text;
    const char *of_name = name;
    while ((of_name = next_word(of_name, lower)) != NULL) {
        do {
            at = next_word(at, word);
        } while (at != NULL && (strcmp(word, "the") == 0 || strcmp(word, "a") == 0) &&
                 strcmp(word, lower) != 0);
        if (at == NULL || strcmp(word, lower) != 0) {
            return false;
        }
    }
    return is_ascii(at) && next_word(at, word) == NULL;
}

static void check_properties(const struct descriptor_tool *tool, struct findings *findings) {
    CLEANUP(yyjson_doc_freep)
    yyjson_doc *doc = yyjson_read_opts((char *)(uintptr_t)tool->schema, strlen(tool->schema),
                                       YYJSON_READ_BIGNUM_AS_RAW, NULL, NULL);
    yyjson_val *properties = yyjson_obj_get(yyjson_doc_get_root(doc), "properties");
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *property;
    json_obj_foreach (properties, at, count, key, property) {
        const char *name = yyjson_get_str(key);
        const char *text = yyjson_get_str(yyjson_obj_get(property, "description"));
        yyjson_val *type = yyjson_obj_get(property, "type");
        if (text != NULL && is_only_name(text, name)) {
            findings_add(findings, FINDING_PARAM_VAGUE, tool->tool->name,
                         "the description of parameter %.*s is its name", SHOWN(name));
        }
        if (json_has_text(type, "string") && is_secret_name(name) && !is_masked(property)) {
            findings_add(findings, FINDING_PARAM_SECRET, tool->tool->name,
                         "parameter %.*s is named like a secret and is not marked as one",
                         SHOWN(name));
        }
    }
}

/* ----------------------------------------------------------------------- hints */

static void check_hints(const struct tr_tool *tool, struct findings *findings) {
    if ((tool->flags & TR_DESTRUCTIVE) == 0) {
        return;
    }
    if ((tool->flags & TR_READ_ONLY) != 0) {
        findings_add(findings, FINDING_HINTS_CONTRADICT, tool->name,
                     "the tool is TR_READ_ONLY and TR_DESTRUCTIVE");
    } else if (tool->permission == TR_SAFE) {
        findings_add(findings, FINDING_PERMISSION_DESTRUCTIVE, tool->name,
                     "the tool is TR_DESTRUCTIVE, and has the permission TR_SAFE: it runs without "
                     "asking anybody");
    }
}

/* A tool that may write or start programs, and of which nothing says so. */
static const struct descriptor_tool *find_unmarked(const struct descriptor *desc) {
    const struct descriptor_tool *found = NULL;
    for (uint32_t i = 0; i < desc->tool_count; i++) {
        const struct tr_tool *tool = desc->tools[i].tool;
        if (tool->permission != TR_SAFE || (tool->flags & TR_DESTRUCTIVE) != 0) {
            return NULL;
        }
        if (found == NULL && (tool->flags & TR_READ_ONLY) == 0) {
            found = &desc->tools[i];
        }
    }
    return found;
}

/* ----------------------------------------------------------------- the plugin */

static bool is_wide(const struct tr_capability *capability) {
    const char *value = capability->value;
    switch (capability->kind) {
    case TR_CAP_READ:
    case TR_CAP_WRITE:
        return strcmp(value, "/") == 0 || strcmp(value, "/home") == 0 ||
               strcmp(value, "/etc") == 0 || strcmp(value, "${home}") == 0;
    case TR_CAP_NETWORK: return strcmp(value, "*") == 0 || strcmp(value, "*:*") == 0;
    case TR_CAP_SPAWN: return strcmp(value, "*") == 0;
    default: return false;
    }
}

static void check_plugin(const struct descriptor *desc, struct findings *findings) {
    static const char *const kinds[] = {[TR_CAP_READ] = "TR_READS",
                                        [TR_CAP_WRITE] = "TR_WRITES",
                                        [TR_CAP_NETWORK] = "TR_CONNECTS",
                                        [TR_CAP_SPAWN] = "TR_SPAWNS"};
    const char *changing = NULL; /* what it may do that changes something */
    for (uint32_t i = 0; i < desc->plugin->capability_count; i++) {
        const struct tr_capability *one = &desc->plugin->capabilities[i];
        if (is_wide(one)) {
            findings_add(findings, FINDING_CAPABILITY_WIDE, NULL,
                         "%s(\"%.*s\") is nearly everything of its kind", kinds[one->kind],
                         SHOWN(one->value));
        }
        if (one->kind == TR_CAP_WRITE || one->kind == TR_CAP_SPAWN) {
            changing = one->kind == TR_CAP_WRITE ? "writes files" : "starts programs";
        }
    }
    const struct descriptor_tool *unmarked = changing != NULL ? find_unmarked(desc) : NULL;
    if (unmarked != NULL) {
        findings_add(findings, FINDING_PERMISSION_SAFE, NULL,
                     "the plugin %s, and all of its tools are TR_SAFE, such as %s, which is not "
                     "TR_READ_ONLY",
                     changing, unmarked->tool->name);
    }
    if (desc->tool_count > TOOLS_GOOD) {
        findings_add(findings, FINDING_TOOLS_MANY, NULL,
                     "the plugin has %u tools; providers take %u in a request, and models choose "
                     "worse among many",
                     desc->tool_count, TOOLS_GOOD);
    }
}

int advice_check(const struct descriptor *desc, struct findings *findings) {
    check_plugin(desc, findings);
    for (uint32_t i = 0; i < desc->tool_count; i++) {
        const struct tr_tool *tool = desc->tools[i].tool;
        check_description(tool, findings);
        compare(desc, i, findings);
        if (is_generic(tool->name)) {
            findings_add(findings, FINDING_NAME_GENERIC, tool->name,
                         "the tool's name could be that of any tool");
        }
        check_properties(&desc->tools[i], findings);
        check_hints(tool, findings);
    }
    /* Last: of a plugin with many tools, these may be too many to be shown. */
    for (uint32_t i = 0; i < desc->tool_count; i++) {
        if (desc->tools[i].tool->example_count == 0) {
            findings_add(findings, FINDING_EXAMPLE_MISSING, desc->tools[i].tool->name,
                         "the tool has no example");
        }
    }
    return findings->failed ? TOOLRACK_E_NO_MEMORY : 0;
}
