#include "permit/pin.h"

#include <assert.h>
#include <sodium.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"

static_assert(STORE_SHA256_SIZE == crypto_hash_sha256_BYTES, "what libsodium makes");

/* -------------------------------------------------------------------- make */

/* Longer examples are pinned by their hash: a tool has many of them. */
#define EXAMPLES_SIZE_MAX (64u * 1024u)

static const char *keep_hash(const struct buf *text, size_t count, struct arena *arena) {
    unsigned char hash[STORE_SHA256_SIZE];
    char digits[2 * sizeof hash + 1];
    (void)crypto_hash_sha256(hash, (const unsigned char *)text->data, text->length);
    (void)sodium_bin2hex(digits, sizeof digits, hash, sizeof hash);
    return arena_printf(arena, "%zu examples of %zu bytes, SHA-256 %s", count, text->length,
                        digits);
}

/* A JSON array, as `toolrack show --json` has it; "" without any. NULL: out of memory. */
static const char *list_examples(const struct tr_tool *tool, struct arena *arena) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    if (tool->example_count == 0) {
        return "";
    }
    for (uint32_t i = 0; i < tool->example_count; i++) {
        const struct tr_example *example = &tool->examples[i];
        buf_printf(&text, "%s{\"arguments\":", i == 0 ? "[" : ",");
        buf_add_text(&text, example->arguments);
        if (example->result != NULL) {
            buf_add_text(&text, ",\"result\":");
            buf_add_text(&text, example->result);
        }
        buf_add_char(&text, '}');
    }
    buf_add_char(&text, ']');
    if (text.failed) {
        return NULL;
    }
    return text.length > EXAMPLES_SIZE_MAX ? keep_hash(&text, tool->example_count, arena)
                                           : arena_copy(arena, text.data, text.length);
}

static const char *or_empty(const char *text) {
    return text != NULL ? text : "";
}

/* What stands beside the tool's name: a tool without icons has the title alone, as in pins that
 * were made before tools had icons. NULL: out of memory. */
static const char *title_of(const struct tr_tool *tool, struct arena *arena) {
    return tool->icons == NULL
                   ? or_empty(tool->title)
                   : arena_printf(arena, "%s\nicons: %s", or_empty(tool->title), tool->icons);
}

/* A plan that is a tool is no other than its text says, and the texts of the plans that it calls:
 * whoever agreed to it has not agreed to another plan with the same inputs. NULL: out of memory. */
static const char *schema_of(const struct descriptor_tool *spec, const struct run_service *service,
                             struct arena *arena) {
    const char *schema = or_empty(spec->schema);
    struct run_described described;
    if (service == NULL || service->describe == NULL) {
        return schema;
    }
    return service->describe(service->user, arena, &described)
                   ? arena_printf(arena, "%s\n%s", schema, described.content)
                   : NULL;
}

/* NULL: out of memory. */
static const char *text_of(const struct descriptor_tool *spec, const struct run_service *service,
                           enum pin_text which, struct arena *arena) {
    const struct tr_tool *tool = spec->tool;
    switch (which) {
    case PIN_TEXT_DESCRIPTION: return or_empty(tool->description);
    case PIN_TEXT_SCHEMA: return schema_of(spec, service, arena);
    case PIN_TEXT_TITLE: return title_of(tool, arena);
    case PIN_TEXT_DEPRECATED: return or_empty(tool->deprecated);
    case PIN_TEXT_RESULT: return or_empty(spec->result_schema);
    case PIN_TEXT_PURPOSE: return or_empty(tool->purpose);
    case PIN_TEXT_SCENARIOS: return or_empty(tool->scenarios);
    case PIN_TEXT_CATEGORY: return or_empty(tool->category);
    case PIN_TEXT_TAGS: return or_empty(tool->tags);
    case PIN_TEXT_EXAMPLES: return list_examples(tool, arena);
    case PIN_TEXT_COUNT: break;
    }
    return "";
}

/* With the terminating zero, so that no two different lists give the same bytes. */
static void add_string(crypto_hash_sha256_state *hash, const char *string) {
    (void)crypto_hash_sha256_update(hash, (const unsigned char *)string, strlen(string) + 1);
}

/* Of the name and the first texts. */
static void make_hash(const struct store_pin *pin, size_t count,
                      unsigned char ret[STORE_SHA256_SIZE]) {
    crypto_hash_sha256_state hash;
    (void)crypto_hash_sha256_init(&hash);
    add_string(&hash, pin->tool);
    for (size_t i = 0; i < count; i++) {
        add_string(&hash, pin->texts[i]);
    }
    (void)crypto_hash_sha256_final(&hash, ret);
}

/* @param service  what runs in place of a plugin's function; NULL: nothing */
static bool fill_texts(const struct descriptor_tool *spec, const struct run_service *service,
                       struct arena *arena, struct store_pin *pin) {
    for (size_t i = 0; i < PIN_TEXT_COUNT; i++) {
        pin->texts[i] = text_of(spec, service, (enum pin_text)i, arena);
        if (pin->texts[i] == NULL) {
            return false;
        }
    }
    make_hash(pin, PIN_TEXT_COUNT, pin->sha256);
    return true;
}

bool pin_hash(const struct descriptor_tool *spec, struct arena *arena,
              unsigned char ret[STORE_SHA256_SIZE]) {
    struct store_pin pin = {.tool = spec->tool->name};
    if (!fill_texts(spec, NULL, arena, &pin)) {
        return false;
    }
    memcpy(ret, pin.sha256, sizeof pin.sha256);
    return true;
}

bool pin_make(const struct registration *reg, struct arena *arena, struct store_pin *ret) {
    *ret = (struct store_pin){.plugin = reg->plugin->identity_text,
                              .tool = reg->spec->tool->name,
                              .version = reg->spec->version,
                              .permission = (int)reg->spec->tool->permission,
                              .flags = reg->spec->tool->flags & PIN_FLAGS,
                              .capabilities = reg->plugin->capabilities};
    return fill_texts(reg->spec, &reg->plugin->service, arena, ret);
}

/* ----------------------------------------------------------------- compare */

/* What a tool promises, and what it warns of. */
#define PIN_PROMISES (TR_READ_ONLY | TR_IDEMPOTENT)
#define PIN_WARNINGS (PIN_FLAGS & ~(unsigned)PIN_PROMISES)

bool pin_has_line(const char *lines, const char *line, size_t length) {
    for (const char *at = lines; at != NULL; at = strchr(at, '\n')) {
        at += *at == '\n';
        if (strncmp(at, line, length) == 0 && (at[length] == '\0' || at[length] == '\n')) {
            return true;
        }
    }
    return false;
}

/* Whether all lines of `now` are among those of `approved`. */
static bool asks_no_more(const char *now, const char *approved) {
    while (*now != '\0') {
        size_t length = strcspn(now, "\n");
        if (!pin_has_line(approved, now, length)) {
            return false;
        }
        now += length + (now[length] == '\n');
    }
    return true;
}

/* What asks for less care than was approved, or for more rights, or states a higher permission; the
 * reverse is no change. */
static unsigned compare_care(const struct store_pin *pin, const struct store_pin *now) {
    if (pin->permission < 0) {
        return 0; /* a pin of schema 3 */
    }
    bool promises = ((now->flags & ~pin->flags & PIN_PROMISES) |
                     (pin->flags & ~now->flags & PIN_WARNINGS)) != 0;
    return (now->permission != pin->permission ? REGISTRATION_PERMISSION : 0u) |
           (promises ? REGISTRATION_FLAGS : 0u) |
           (pin->capabilities != NULL && !asks_no_more(now->capabilities, pin->capabilities)
                    ? REGISTRATION_CAPABILITIES
                    : 0u);
}

static bool has_same_texts(const struct store_pin *pin, const struct store_pin *now) {
    unsigned char of_fewer[STORE_SHA256_SIZE];
    const unsigned char *hash = now->sha256;
    size_t count = 0;
    while (count < PIN_TEXT_COUNT && pin->texts[count] != NULL) {
        count++;
    }
    if (count < PIN_TEXT_COUNT) { /* a pin of an earlier release: its hash is of what it has */
        make_hash(now, count, of_fewer);
        hash = of_fewer;
    }
    return memcmp(pin->sha256, hash, STORE_SHA256_SIZE) == 0;
}

static unsigned compare_texts(const struct store_pin *pin, const struct store_pin *now) {
    unsigned changed = 0;
    for (size_t i = 0; i < PIN_TEXT_COUNT && pin->texts[i] != NULL; i++) {
        changed |= strcmp(pin->texts[i], now->texts[i]) != 0 ? REGISTRATION_TEXT(i) : 0u;
    }
    /* The hash differs, but the pin's texts do not show how: report the main ones as changed. */
    return changed != 0
                   ? changed
                   : REGISTRATION_TEXT(PIN_TEXT_DESCRIPTION) | REGISTRATION_TEXT(PIN_TEXT_SCHEMA);
}

unsigned pin_compare(const struct store_pin *pin, const struct store_pin *now, bool *ret_equal) {
    *ret_equal = has_same_texts(pin, now);
    return (*ret_equal ? 0u : compare_texts(pin, now)) | compare_care(pin, now);
}
