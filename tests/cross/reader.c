/* What the static reader and the rules of `check` say of files: for a comparison of processors.
 *
 *     reader FILE ...
 *
 * Prints for each file its name without folders, the plugin, the processor, each tool with a sum of
 * its schemas, and each rule that it breaks, but for whether the file is for this machine
 * (elf-foreign), and what follows from that. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <yyjson.h>

#include "base/cleanup.h"
#include "plugin/advice.h"
#include "plugin/descriptor.h"
#include "plugin/imports.h"
#include "plugin/linkage.h"
#include "schema/schema.h"

CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)

/* FNV-1a: where two differ is not told, only that they do. */
static uint64_t sum_of(const char *text) {
    uint64_t sum = UINT64_C(0xcbf29ce484222325);
    for (; text != NULL && *text != '\0'; text++) {
        sum = (sum ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    }
    return sum;
}

static bool check_schema(void *user, const char *schema, size_t length, bool is_result,
                         int64_t *steps, char *reason, size_t room) {
    (void)user;
    (void)is_result;
    (void)steps;
    struct toolrack_error err = {0};
    struct schema *compiled = NULL;
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = yyjson_read(schema, length, 0);
    int code = schema_compile(yyjson_doc_get_root(doc), NULL, &compiled, &err);
    schema_destroy(compiled);
    if (code < 0) {
        (void)snprintf(reason, room, "%s", err.message);
    }
    return code == 0;
}

/* What only a machine of the file's kind can say. */
static bool is_of_machine(const char *rule) {
    return strcmp(rule, "elf-foreign") == 0 || strcmp(rule, "elf-undefined") == 0 ||
           strcmp(rule, "elf-library") == 0 || strcmp(rule, "elf-glibc-missing") == 0 ||
           strcmp(rule, "elf-glibc-new") == 0;
}

static void print_findings(const struct finding *findings, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        if (!is_of_machine(findings[i].rule)) {
            printf("  %s %s %s\n", findings[i].rule,
                   findings[i].tool != NULL ? findings[i].tool : "-", findings[i].cause);
        }
    }
}

static int print_advice(int fd, const char *name, const struct descriptor *desc) {
    CLEANUP(arena_finish) struct arena arena;
    struct findings findings;
    arena_init(&arena, NULL, 0);
    findings_init(&findings, &arena);
    int code = linkage_check(fd, name, &findings);
    code = code < 0 ? code : imports_check(fd, desc, &findings);
    code = code < 0 ? code : advice_check(desc, &findings);
    print_findings(findings.items, findings.count);
    return code;
}

static int print_file(const char *path) {
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    const struct descriptor_options options = {.check_schema = check_schema, .takes_foreign = true};
    CLEANUP(descriptor_unrefp) struct descriptor *desc = NULL;
    CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || descriptor_read(fd, &options, &desc, NULL) < 0) {
        printf("%s: cannot be read\n", name);
        return 1;
    }
    printf("%s: %s %s, %u tools, %s\n", name, desc->plugin != NULL ? desc->plugin->id : "-",
           desc->plugin != NULL ? desc->plugin->version : "-", desc->tool_count,
           desc->machine != NULL ? desc->machine : "-");
    for (uint32_t i = 0; i < desc->tool_count; i++) {
        const struct descriptor_tool *tool = &desc->tools[i];
        printf("  tool %s %s %" PRIx64 " %" PRIx64 " %" PRIx64 "\n", tool->tool->name,
               tool->version, sum_of(tool->schema), sum_of(tool->result_schema),
               sum_of(tool->tool->description));
    }
    print_findings(desc->findings, desc->finding_count);
    return desc->plugin != NULL ? print_advice(fd, name, desc) < 0 : 0;
}

int main(int argc, char **argv) {
    int failures = 0;
    for (int i = 1; i < argc; i++) {
        failures += print_file(argv[i]);
    }
    return failures > 0;
}
