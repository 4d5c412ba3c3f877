/* The static plugin reader on any bytes: there is a result, and what it says holds. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/name.h"
#include "base/semver.h"
#include "base/utf8.h"
#include "plugin/advice.h"
#include "plugin/descriptor.h"
#include "plugin/elf-dynamic.h"
#include "plugin/imports.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void check(bool holds) {
    if (!holds) {
        abort();
    }
}

static void check_text(const char *text) {
    check(text == NULL || utf8_valid(text, strlen(text)));
}

static void check_type(const struct tr_type *type, unsigned depth);

static void check_params(const struct tr_param *params, uint32_t count, unsigned depth) {
    for (uint32_t i = 0; i < count; i++) {
        check(params[i].type->kind == TR_KIND_CALL || name_valid(params[i].name));
        check_text(params[i].description);
        check_text(params[i].default_json);
        check_type(params[i].type, depth);
    }
}

static void check_type(const struct tr_type *type, unsigned depth) {
    check(depth <= DESCRIPTOR_TYPE_DEPTH_MAX && type->kind <= TR_KIND_CALL);
    check(type->field_count <= DESCRIPTOR_FIELDS_MAX &&
          type->choice_count <= DESCRIPTOR_CHOICES_MAX);
    if (type->item != NULL) {
        check_type(type->item, depth + 1);
    }
    check_params(type->fields, type->field_count, depth + 1);
    for (uint32_t i = 0; i < type->choice_count; i++) {
        check_text(type->choices[i].name);
    }
}

static void check_tool(const struct descriptor_tool *tool) {
    check(name_valid(tool->tool->name) && semver_valid(tool->version));
    check(tool->tool->function == NULL && tool->tool->run == NULL);
    check(tool->tool->permission <= TR_DANGEROUS);
    check(tool->schema != NULL && tool->tool->param_count <= DESCRIPTOR_PARAMS_MAX);
    check_text(tool->schema);
    check_text(tool->result_schema);
    check_text(tool->tool->description);
    check_text(tool->tool->title);
    check_params(tool->tool->params, tool->tool->param_count, 1);
    check(tool->tool->example_count <= DESCRIPTOR_EXAMPLES_MAX);
    for (uint32_t i = 0; i < tool->tool->example_count; i++) {
        const struct tr_example *example = &tool->tool->examples[i];
        check(example->arguments != NULL);
        check_text(example->arguments);
        check_text(example->result);
    }
    if (tool->tool->result != NULL) {
        check_type(tool->tool->result, 1);
    }
}

static void check_findings(const struct descriptor *desc) {
    bool error = false;
    check(desc->finding_count <= FINDINGS_MAX);
    for (uint32_t i = 0; i < desc->finding_count; i++) {
        const struct finding *one = &desc->findings[i];
        error = error || one->severity == FINDING_ERROR;
        check_text(one->cause);
        check(strchr(one->cause, '\n') == NULL && one->cause[0] != '\0' && one->fix[0] != '\0');
    }
    check(desc->plugin != NULL || (error && desc->tool_count == 0));
}

static void check_descriptor(const struct descriptor *desc) {
    check_findings(desc);
    if (desc->plugin != NULL) {
        check(semver_valid(desc->plugin->version));
        check_text(desc->plugin->id);
        check_text(desc->plugin->description);
        check(desc->plugin->capability_count <= DESCRIPTOR_CAPABILITIES_MAX);
        for (uint32_t i = 0; i < desc->plugin->capability_count; i++) {
            check_text(desc->plugin->capabilities[i].value);
        }
    }
    check(desc->tool_count <= DESCRIPTOR_TOOLS_MAX);
    for (uint32_t i = 0; i < desc->tool_count; i++) {
        check_tool(&desc->tools[i]);
    }
}

/* As a library that a plugin needs, and as a plugin that uses symbols. */
static void check_linkage(int fd) {
    static struct elf elf;
    struct findings findings;
    struct arena arena;
    arena_init(&arena, NULL, 0);
    findings_init(&findings, &arena);
    int code = elf_init(&elf, fd, &findings);
    if (code == 0 && elf_read_dynamic(&elf) == 0) {
        uint32_t count = elf_count_symbols(&elf, 1u << 16);
        for (uint32_t i = 0; i < count && elf.steps < 1u << 16; i++) {
            const char *name = elf_undefined(&elf, i);
            check(name == NULL || strlen(name) <= ELF_NAME_MAX);
            (void)elf_defines(&elf, name != NULL ? name : "toolrack_plugin");
        }
        for (uint32_t i = 0; i < elf.dynamic.needed_count; i++) {
            (void)elf_needed(&elf, i);
        }
        (void)elf_run_path(&elf);
    }
    elf_finish(&elf);
    arena_finish(&arena);
}

/* As `check` does, which reads files for the other machine too. */
static void check_advice(int fd) {
    struct descriptor_options options = {.takes_foreign = true};
    struct descriptor *desc = NULL;
    struct findings findings;
    struct arena arena;
    arena_init(&arena, NULL, 0);
    findings_init(&findings, &arena);
    check(descriptor_read(fd, &options, &desc, NULL) == 0);
    if (desc->plugin != NULL) {
        check(advice_check(desc, &findings) == 0 && imports_check(fd, desc, &findings) == 0);
    }
    for (uint32_t i = 0; i < findings.count; i++) {
        check_text(findings.items[i].cause);
        check(strchr(findings.items[i].cause, '\n') == NULL);
    }
    descriptor_unref(desc);
    arena_finish(&arena);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    static int fd = -1; /* one file for all inputs: making one takes longer than reading it */
    if (fd < 0) {
        fd = memfd_create("plugin", MFD_CLOEXEC);
    }
    check(fd >= 0 && ftruncate(fd, (off_t)size) == 0);
    check(pwrite(fd, data, size, 0) == (ssize_t)size);
    struct descriptor *desc = NULL;
    check(descriptor_read(fd, NULL, &desc, NULL) == 0);
    check_descriptor(desc);
    descriptor_unref(desc);
    check_linkage(fd);
    check_advice(fd);
    return 0;
}
