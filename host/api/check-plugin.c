/* What is wrong with a plugin file, and what its author can improve. Each part has a list of its
 * own, so that many findings of one do not displace those of another. */
#include <string.h>

#include "api/check.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/ownership.h"
#include "life/generation.h"
#include "plugin/advice.h"
#include "plugin/imports.h"
#include "plugin/linkage.h"

/* The parts of a check that are about a descriptor which could be read. */
enum part { PART_LINKAGE, PART_IMPORTS, PART_SCHEMAS, PART_ADVICE, PART_COUNT };

enum toolrack_severity check_severity(int severity) {
    switch (severity) {
    case FINDING_ERROR: return TOOLRACK_SEVERITY_ERROR;
    case FINDING_WARNING: return TOOLRACK_SEVERITY_WARNING;
    default: return TOOLRACK_SEVERITY_NOTE;
    }
}

static void add(struct toolrack_findings *findings, const struct finding *list, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        findings->items[findings->count++] =
                (struct toolrack_finding){.severity = check_severity(list[i].severity),
                                          .rule = list[i].rule,
                                          .tool = list[i].tool,
                                          .cause = list[i].cause,
                                          .fix = list[i].fix};
    }
}

static int look(enum part part, int fd, const char *file, const struct descriptor *desc,
                struct findings *list) {
    switch (part) {
    case PART_LINKAGE: return linkage_check(fd, file, list);
    case PART_IMPORTS: return imports_check(fd, desc, list);
    case PART_SCHEMAS: return check_schemas(desc, list);
    default: return advice_check(desc, list);
    }
}

/* Only here and not when folders are scanned: a library may be installed later than its plugin, and
 * advice is for authors. */
static int look_closer(int fd, const char *file, const struct descriptor *desc,
                       struct findings parts[PART_COUNT], struct arena *arena) {
    int code = 0;
    for (unsigned i = 0; i < PART_COUNT; i++) {
        findings_init(&parts[i], arena);
        if (code == 0 && desc->plugin != NULL) {
            code = look((enum part)i, fd, file, desc, &parts[i]);
            findings_close(&parts[i]);
        }
    }
    return code;
}

int check_plugin(int fd, const char *file, struct toolrack_findings *findings,
                 struct toolrack_error *err) {
    CLEANUP(descriptor_unrefp) struct descriptor *desc = NULL;
    bool no_memory;
    struct descriptor_options options = tool_descriptor_options(&no_memory);
    options.takes_foreign = true;
    int code = descriptor_read(fd, &options, &desc, err);
    if (code < 0 || no_memory) {
        return code < 0 ? code : error_oom(err);
    }
    struct toolrack_error exposed;
    bool is_exposed = ownership_check(file, &exposed) == TOOLRACK_E_REFUSED;
    struct findings parts[PART_COUNT];
    if (look_closer(fd, file, desc, parts, &findings->arena) < 0) {
        return error_oom(err);
    }
    size_t room = desc->finding_count + 1;
    for (unsigned i = 0; i < PART_COUNT; i++) {
        room += parts[i].count;
    }
    findings->items = arena_alloc(&findings->arena, room * sizeof *findings->items);
    if (findings->items == NULL) {
        return error_oom(err);
    }
    add(findings, desc->findings, desc->finding_count);
    for (unsigned i = 0; i < PART_COUNT; i++) {
        add(findings, parts[i].items, parts[i].count);
    }
    if (is_exposed) { /* also of a file that is checked before it is installed */
        findings->items[findings->count++] = (struct toolrack_finding){
                .severity = TOOLRACK_SEVERITY_WARNING,
                .rule = GENERATION_RULE_EXPOSED,
                .cause = arena_copy(&findings->arena, exposed.message, strlen(exposed.message)),
                .fix = GENERATION_FIX_EXPOSED};
    }
    findings->tool_count = desc->tool_count;
    findings->desc = STEAL(desc);
    return 0;
}
