/* Descriptors from files and from memory: what is read, and what is refused by which rule. */
#include <elf.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/utf8.h"
#include "elf-writer.h"
#include "failing-malloc.h"
#include "plugin/descriptor.h"
#include "plugin/imports.h"

#include <cmocka.h> /* after plugin.h: it defines a macro named fail */

#define AUTO_DESC CLEANUP(descriptor_unrefp) struct descriptor *

/* ------------------------------------------------------------- helpers */

static const struct finding *find_rule(const struct descriptor *desc, const char *rule) {
    for (uint32_t i = 0; i < desc->finding_count; i++) {
        if (strcmp(desc->findings[i].rule, rule) == 0) {
            return &desc->findings[i];
        }
    }
    return NULL;
}

static void print_findings(const struct descriptor *desc) {
    for (uint32_t i = 0; i < desc->finding_count; i++) {
        const struct finding *one = &desc->findings[i];
        print_message("# %s [%s] %s: %s\n", finding_severity_name(one->severity), one->rule,
                      one->tool != NULL ? one->tool : "-", one->cause);
    }
}

/* The finding of a rule that must be there. */
static const struct finding *get_rule(const struct descriptor *desc, const char *rule) {
    const struct finding *found = find_rule(desc, rule);
    if (found == NULL) {
        print_message("# expected %s\n", rule);
        print_findings(desc);
        fail();
        abort(); /* never: but the compiler does not know what fail() does */
    }
    return found;
}

static unsigned count_errors(const struct descriptor *desc) {
    unsigned errors = 0;
    for (uint32_t i = 0; i < desc->finding_count; i++) {
        errors += desc->findings[i].severity == FINDING_ERROR;
    }
    return errors;
}

/* What holds of every result, whatever was read. */
static void assert_sane(const struct descriptor *desc) {
    assert_true(desc->plugin != NULL || (desc->tool_count == 0 && count_errors(desc) > 0));
    assert_true(desc->finding_count <= FINDINGS_MAX);
    for (uint32_t i = 0; i < desc->finding_count; i++) {
        const struct finding *one = &desc->findings[i];
        assert_true(utf8_valid(one->cause, strlen(one->cause)));
        assert_null(strchr(one->cause, '\n'));
        assert_true(strlen(one->cause) > 0 && strlen(one->fix) > 0);
    }
}

static struct descriptor *read_bytes(const void *bytes, size_t length) {
    CLEANUP(closep) int fd = elf_writer_fd(bytes, length);
    assert_true(fd >= 0);
    struct descriptor *desc = NULL;
    assert_int_equal(descriptor_read(fd, NULL, &desc, NULL), 0);
    assert_sane(desc);
    return desc;
}

static int open_plugin(const char *name) {
    char path[512];
    (void)snprintf(path, sizeof path, TEST_PLUGINS "/%s.so", name);
    return open(path, O_RDONLY | O_CLOEXEC);
}

static struct descriptor *read_plugin(const char *name) {
    CLEANUP(closep) int fd = open_plugin(name);
    struct descriptor *desc = NULL;
    if (fd < 0 || descriptor_read(fd, NULL, &desc, NULL) < 0) {
        fail_msg("cannot read %s.so", name);
        abort(); /* the compiler does not know that the line above does not return */
    }
    assert_sane(desc);
    return desc;
}

static unsigned char *load_plugin(const char *name, size_t *ret_length) {
    CLEANUP(closep) int fd = open_plugin(name);
    assert_true(fd >= 0);
    struct stat status;
    assert_int_equal(fstat(fd, &status), 0);
    unsigned char *bytes = malloc((size_t)status.st_size);
    assert_non_null(bytes);
    assert_int_equal(read(fd, bytes, (size_t)status.st_size), status.st_size);
    *ret_length = (size_t)status.st_size;
    return bytes;
}

static void assert_sound(const struct descriptor *desc, uint32_t tools) {
    if (desc->plugin == NULL || count_errors(desc) > 0) {
        print_findings(desc);
    }
    assert_non_null(desc->plugin);
    assert_int_equal(count_errors(desc), 0);
    assert_int_equal(desc->tool_count, tools);
}

/* Sanitizers export symbols of their own; nothing else is to be remarked on. */
static void assert_nothing_found(const struct descriptor *desc) {
    unsigned expected = find_rule(desc, "elf-exports") != NULL;
    if (desc->finding_count != expected) {
        print_findings(desc);
    }
    assert_int_equal(desc->finding_count, expected);
}

static void assert_refused(const struct descriptor *desc, const char *rule) {
    if (desc->plugin != NULL || find_rule(desc, rule) == NULL) {
        print_message("# expected %s\n", rule);
        print_findings(desc);
    }
    assert_null(desc->plugin);
    assert_non_null(find_rule(desc, rule));
}

/* -------------------------------------------------------- real plugins */

static void assert_good(const struct descriptor *desc) {
    assert_sound(desc, 2);
    const struct tr_plugin *plugin = desc->plugin;
    assert_string_equal(plugin->id, "org.example.good");
    assert_string_equal(plugin->version, "1.2.3");
    assert_string_equal(plugin->license, "MIT");
    assert_string_equal(plugin->homepage, "https://example.org");
    assert_int_equal(plugin->flags, TR_THREAD_SAFE);
    assert_null(plugin->tools);
    assert_int_equal(plugin->capability_count, 2);
    assert_int_equal(plugin->capabilities[1].kind, TR_CAP_NETWORK);
    assert_string_equal(plugin->capabilities[1].value, "*:443");
    const struct descriptor_tool *add = &desc->tools[0];
    assert_true(add->typed);
    assert_string_equal(add->tool->name, "add");
    assert_string_equal(add->version, "1.2.3");
    assert_null(add->tool->version);
    assert_null(add->tool->function);
    assert_string_equal(add->tool->params[1].description, "second addend");
    assert_int_equal(add->tool->result->kind, TR_KIND_F64);
    assert_string_equal(add->result_schema, "{\"type\":\"number\"}");
    assert_int_equal(add->tool->example_count, 2);
    assert_int_equal(add->tool->example_size, sizeof(struct tr_example));
    assert_string_equal(add->tool->examples[0].arguments, "{\"a\": 1, \"b\": 2}");
    assert_string_equal(add->tool->examples[0].result, "3");
    assert_null(add->tool->examples[1].result);
    const struct descriptor_tool *echo = &desc->tools[1];
    assert_false(echo->typed);
    assert_int_equal(echo->index, 1);
    assert_string_equal(echo->version, "2.1.0");
    assert_string_equal(echo->tool->title, "Echo");
    assert_string_equal(echo->tool->tags, "test,echo");
    assert_int_equal(echo->tool->permission, TR_CONFIRM);
    assert_int_equal(echo->tool->priority, -5);
    assert_int_equal(echo->tool->deadline_ms, 1500);
    assert_int_equal(echo->tool->flags, TR_READ_ONLY | TR_IDEMPOTENT);
    assert_ptr_equal(echo->schema, echo->tool->schema);
    assert_null(echo->tool->examples);
    assert_int_equal(echo->tool->example_count, 0);
}

static void good_is_read_however_it_is_linked(void **state) {
    (void)state;
    static const char *const names[] = {"good", "good-stripped", "good-sysv"};
    for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
        AUTO_DESC desc = read_plugin(names[i]);
        assert_non_null(desc);
        assert_good(desc);
        assert_nothing_found(desc);
    }
    AUTO_DESC nodelete = read_plugin("good-nodelete");
    assert_good(nodelete);
    assert_non_null(find_rule(nodelete, "elf-nodelete"));
    AUTO_DESC stack = read_plugin("good-exec-stack");
    assert_refused(stack, "elf-exec-stack");
}

static void good_is_read_without_section_headers(void **state) {
    (void)state;
    size_t length;
    CLEANUP(freep) unsigned char *bytes = load_plugin("good", &length);
    Elf64_Ehdr *header = (Elf64_Ehdr *)bytes;
    size_t sections = header->e_shoff;
    header->e_shoff = 0;
    header->e_shnum = 0;
    header->e_shstrndx = 0;
    memset(bytes + sections, 0xee, length - sections);
    AUTO_DESC desc = read_bytes(bytes, length);
    assert_good(desc);
    AUTO_DESC shorter = read_bytes(bytes, sections);
    assert_good(shorter);
}

static const char all_types_integers[] =
        "{\"type\":\"object\",\"properties\":{"
        "\"a\":{\"type\":\"integer\",\"description\":\"i8\",\"minimum\":-128,\"maximum\":127},"
        "\"b\":{\"type\":\"integer\",\"description\":\"i16\",\"minimum\":0,\"maximum\":32767},"
        "\"c\":{\"type\":\"integer\",\"description\":\"i32\",\"minimum\":-2147483648,"
        "\"exclusiveMaximum\":100},"
        "\"d\":{\"type\":\"integer\",\"description\":\"i64\",\"default\":-9223372036854775808},"
        "\"e\":{\"type\":\"integer\",\"description\":\"u8\",\"minimum\":0,\"maximum\":255,"
        "\"multipleOf\":5},"
        "\"f\":{\"type\":\"integer\",\"description\":\"u16\",\"enum\":[1,2,65535],\"minimum\":0,"
        "\"maximum\":65535},"
        "\"g\":{\"type\":\"integer\",\"description\":\"u32\",\"minimum\":0,\"maximum\":4294967295},"
        "\"h\":{\"type\":\"integer\",\"description\":\"u64\",\"minimum\":0}},"
        "\"required\":[\"a\",\"b\",\"c\",\"e\",\"f\",\"g\",\"h\"],\"additionalProperties\":false}";
static const char all_types_texts[] =
        "{\"type\":\"object\",\"properties\":{"
        "\"a\":{\"type\":\"string\",\"description\":\"a\",\"minLength\":1,\"maxLength\":9,"
        "\"pattern\":\"^[a-z\\\\d]+$\",\"format\":\"hostname\"},"
        "\"b\":{\"type\":[\"string\",\"null\"],\"description\":\"b\",\"enum\":[\"x\",\"y\",null]},"
        "\"c\":{\"type\":\"string\",\"description\":\"c\",\"contentEncoding\":\"base64\"},"
        "\"d\":{\"description\":\"d\",\"default\":{\"k\":[1,\"a b\"]}},"
        "\"e\":{\"type\":[\"string\",\"null\"],\"description\":\"e\",\"default\":null}},"
        "\"required\":[\"a\",\"c\"],\"additionalProperties\":false}";
#define POINT_MEMBERS                                                                         \
    "\"properties\":{\"x\":{\"type\":\"number\",\"description\":\"abscissa\",\"default\":0}," \
    "\"y\":{\"type\":\"number\",\"description\":\"ordinate\"}},\"required\":[\"y\"],"         \
    "\"additionalProperties\":false}"
#define SHAPE_MEMBERS                                                                           \
    "\"properties\":{"                                                                          \
    "\"name\":{\"type\":\"string\",\"description\":\"its name\",\"minLength\":1},"              \
    "\"center\":{\"type\":\"object\",\"description\":\"where it is\"," POINT_MEMBERS ","        \
    "\"corners\":{\"type\":\"array\",\"description\":\"around it\",\"items\":{\"type\":"        \
    "\"object\"," POINT_MEMBERS ",\"minItems\":3},"                                             \
    "\"hint\":{\"type\":[\"object\",\"null\"],\"description\":\"where to look\"," POINT_MEMBERS \
    ",\"color\":{\"type\":\"string\",\"description\":\"paint\",\"enum\":[\"red\",\"green\","    \
    "\"dark \\\"blue\\\"\"]},"                                                                  \
    "\"filled\":{\"type\":\"boolean\",\"description\":\"inside too\"}},"                        \
    "\"required\":[\"name\",\"center\",\"corners\",\"color\",\"filled\"],"                      \
    "\"additionalProperties\":false}"
static const char all_types_values[] =
        "{\"type\":\"object\",\"properties\":{"
        "\"shape\":{\"type\":\"object\",\"description\":\"a shape\"," SHAPE_MEMBERS ","
        "\"f\":{\"type\":[\"number\",\"null\"],\"description\":\"may be null\"},"
        "\"color\":{\"type\":[\"string\",\"null\"],\"description\":\"may be left out\",\"enum\":["
        "\"red\",\"green\",\"dark \\\"blue\\\"\",null]},"
        "\"list\":{\"type\":\"array\",\"description\":\"numbers\",\"default\":[1,2,3],\"items\":{"
        "\"type\":\"integer\"},\"maxItems\":4,\"uniqueItems\":true},"
        "\"by_pointer\":{\"type\":\"object\",\"description\":\"by pointer\"," SHAPE_MEMBERS ","
        "\"flag\":{\"type\":[\"boolean\",\"null\"],\"description\":\"may be null\"}},"
        "\"required\":[\"shape\",\"f\",\"by_pointer\",\"flag\"],\"additionalProperties\":false}";

static void assert_all_types(const struct descriptor *desc) {
    assert_sound(desc, 4);
    assert_string_equal(desc->tools[0].schema, all_types_integers);
    assert_string_equal(desc->tools[0].result_schema, "{\"type\":\"integer\"}");
    assert_int_equal(desc->tools[0].tool->params[0].type->kind, TR_KIND_CALL);
    assert_string_equal(desc->tools[1].schema, all_types_texts);
    assert_string_equal(desc->tools[1].result_schema, "{\"type\":[\"string\",\"null\"]}");
    assert_string_equal(desc->tools[2].schema, all_types_values);
    assert_string_equal(desc->tools[2].result_schema, "{\"type\":\"object\"," POINT_MEMBERS);
    assert_string_equal(desc->tools[3].schema,
                        "{\"type\":\"object\",\"properties\":{},\"additionalProperties\":false}");
    assert_null(desc->tools[3].result_schema);
}

static void schemas_are_derived_from_types(void **state) {
    (void)state;
    AUTO_DESC desc = read_plugin("all-types");
    assert_all_types(desc);
    assert_nothing_found(desc);
}

static void packed_relocations_are_read(void **state) {
    (void)state;
    if (access(TEST_PLUGINS "/all-types-packed.so", F_OK) < 0) {
        print_message("# the linker does not pack relocations\n");
        return;
    }
    AUTO_DESC desc = read_plugin("all-types-packed");
    assert_all_types(desc);
}

static void symbol_relocations_are_followed(void **state) {
    (void)state;
    AUTO_DESC desc = read_plugin("symbols");
    assert_sound(desc, 1);
    assert_string_equal(desc->tools[0].tool->name, "cosine");
    assert_true(desc->tools[0].typed);
    const struct finding *exports = find_rule(desc, "elf-exports");
    assert_true(exports != NULL && strstr(exports->fix, "--version-script") != NULL);
    bool needs_libm = false;
    for (uint32_t i = 0; i < desc->needed_count; i++) {
        needs_libm = needs_libm || strncmp(desc->needed[i], "libm.so", 7) == 0;
    }
    assert_true(needs_libm);
    AUTO_DESC foreign = read_plugin("foreign-data");
    assert_refused(foreign, "plugin-pointer");
}

static void a_later_sdk_is_read_as_far_as_known(void **state) {
    (void)state;
    AUTO_DESC desc = read_plugin("newer");
    assert_sound(desc, 1);
    assert_int_equal(desc->plugin->abi_minor, TR_ABI_MINOR + 7);
    assert_int_equal(desc->plugin->size, sizeof(struct tr_plugin));
    assert_string_equal(desc->plugin->capabilities[1].value, "B");
    const struct tr_tool *tool = desc->tools[0].tool;
    assert_string_equal(tool->params[1].name, "number");
    assert_string_equal(tool->params[0].type->choices[1].name, "high");
    assert_int_equal(tool->params[0].type->choices[1].value, 2);
    assert_int_equal(tool->example_count, 2);
    assert_int_equal(tool->example_size, sizeof(struct tr_example));
    assert_string_equal(tool->examples[1].arguments, "{\"level\":\"high\",\"number\":2}");
    assert_string_equal(tool->deprecated, "use multiply");
    assert_string_equal(tool->purpose, "Make numbers larger");
    assert_string_equal(tool->scenarios, "cooking, maps");
    assert_string_equal(tool->icons,
                        "[{\"src\":\"https://example.org/a.png\",\"sizes\":[\"48x48\"]}]");
}

static void a_plugin_of_1_0_is_read(void **state) {
    (void)state;
    AUTO_DESC desc = read_plugin("older");
    assert_sound(desc, 2);
    assert_nothing_found(desc);
    assert_int_equal(desc->plugin->abi_minor, 0);
    for (uint32_t i = 0; i < 2; i++) {
        const struct tr_tool *tool = desc->tools[i].tool;
        assert_int_equal(tool->size, sizeof(struct tr_tool));
        assert_null(tool->examples);
        assert_int_equal(tool->example_count, 0);
        assert_null(tool->deprecated);
        assert_null(tool->purpose);
        assert_null(tool->scenarios);
        assert_null(tool->icons);
    }
    assert_string_equal(desc->tools[0].tool->params[1].description, "second addend");
}

static void as_many_tools_as_allowed(void **state) {
    (void)state;
    AUTO_DESC desc = read_plugin("many");
    assert_sound(desc, DESCRIPTOR_TOOLS_MAX);
    assert_string_equal(desc->tools[1023].tool->name, "tool_b777");
    AUTO_DESC more = read_plugin("too-many");
    assert_refused(more, "plugin-table");
    assert_non_null(strstr(get_rule(more, "plugin-table")->cause, "the plugin has 1025 tools"));
}

static void authors_are_told_what_is_missing(void **state) {
    (void)state;
    AUTO_DESC desc = read_plugin("minimal");
    assert_sound(desc, 1);
    assert_non_null(find_rule(desc, "plugin-license"));
    assert_non_null(find_rule(desc, "schema-items"));
    assert_non_null(find_rule(desc, "param-description"));
    assert_string_equal(get_rule(desc, "schema-items")->tool, "run");
    assert_string_equal(get_rule(desc, "schema-choice")->cause,
                        "no value of an enum has the type beside it");
    assert_non_null(find_rule(desc, "schema-nullable"));
    const struct finding *header = get_rule(desc, "schema-header");
    assert_string_equal(header->tool, "run");
    assert_int_equal(header->severity, FINDING_WARNING);
    assert_string_equal(header->cause, "x-mcp-header \"A\": it is at a property whose type is not "
                                       "string, integer or boolean");
}

static void a_tool_without_name_or_description_is_refused(void **state) {
    (void)state;
    AUTO_DESC desc = read_plugin("nameless");
    assert_non_null(desc->plugin);
    assert_int_equal(desc->tool_count, 1);
    assert_string_equal(desc->tools[0].tool->name, "whole");
    unsigned nameless = 0;
    unsigned undescribed = 0;
    for (uint32_t i = 0; i < desc->finding_count; i++) {
        const struct finding *finding = &desc->findings[i];
        if (strcmp(finding->rule, "tool-name") == 0) {
            assert_non_null(strstr(finding->cause, "the tool has no name"));
            nameless++;
        } else if (strcmp(finding->rule, "tool-description") == 0) {
            assert_int_equal(finding->severity, FINDING_ERROR);
            assert_string_equal(finding->cause, "the tool has no description");
            undescribed++;
        }
    }
    assert_int_equal(nameless, 2);
    assert_int_equal(undescribed, 2);
}

/* ------------------------------------------- one message for each fault */

static void each_fault_has_its_own_message(void **state) {
    (void)state;
    size_t length;
    CLEANUP(freep) unsigned char *bytes = load_plugin("good", &length);
    AUTO_DESC truncated = read_bytes(bytes, length / 2);
    assert_refused(truncated, "elf-truncated");
    AUTO_DESC text = read_bytes("#!/bin/sh\necho\n", 15);
    assert_refused(text, "elf-not-elf");
    assert_null(strstr(text->findings[0].cause, "bin/sh")); /* it may be a link to a secret */
    AUTO_DESC without_symbol = read_plugin("no-symbol");
    assert_refused(without_symbol, "elf-no-symbol");
    ((Elf64_Ehdr *)bytes)->e_machine = EM_PPC64;
    AUTO_DESC machine = read_bytes(bytes, length);
    assert_refused(machine, "elf-machine");
    assert_non_null(strstr(machine->findings[0].cause, "POWER"));
    AUTO_DESC abi = read_plugin("wrong-major");
    assert_refused(abi, "abi-major");
    AUTO_DESC later = read_plugin("later-host");
    assert_refused(later, "abi-minor");
    AUTO_DESC empty = read_bytes("", 0);
    assert_refused(empty, "file-empty");
    CLEANUP(closep) int folder = open("/", O_RDONLY | O_CLOEXEC);
    AUTO_DESC directory = NULL;
    assert_int_equal(descriptor_read(folder, NULL, &directory, NULL), 0);
    assert_refused(directory, "file-not-regular");
    CLEANUP(closep) int huge = elf_writer_fd(bytes, length);
    assert_int_equal(ftruncate(huge, (off_t)DESCRIPTOR_FILE_SIZE_MAX + 1), 0);
    AUTO_DESC large = NULL;
    assert_int_equal(descriptor_read(huge, NULL, &large, NULL), 0);
    assert_refused(large, "file-too-large");
    assert_int_equal(ftruncate(huge, (off_t)DESCRIPTOR_FILE_SIZE_MAX), 0);
    AUTO_DESC sparse = NULL;
    assert_int_equal(descriptor_read(huge, NULL, &sparse, NULL), 0);
    assert_refused(sparse, "file-sparse");
    assert_int_equal(ftruncate(huge, (off_t)length + (off_t)DESCRIPTOR_HOLES_MAX), 0);
    AUTO_DESC almost = NULL;
    assert_int_equal(descriptor_read(huge, NULL, &almost, NULL), 0);
    for (uint32_t i = 0; i < almost->finding_count; i++) {
        assert_string_not_equal(almost->findings[i].rule, "file-sparse");
    }
    struct toolrack_error err;
    AUTO_DESC none = NULL;
    assert_int_equal(descriptor_read(-1, NULL, &none, &err), TOOLRACK_E_IO);
    assert_null(none);
}

static void a_bad_tool_is_refused_alone(void **state) {
    (void)state;
    static const struct {
        const char *plugin;
        const char *rule;
        const char *tool;
        const char *left;
    } cases[] = {{"bad-schema", "schema-invalid", "one", "two"},
                 {"bad-name", "tool-name", "#2", "one"},
                 {"same-name", "tool-duplicate", "one", "one"},
                 {"no-entry", "tool-entry", "one", "two"},
                 {"number-as-text", "tool-pointer", "two", "one"},
                 {"number-as-function", "tool-function", "one", "two"}};
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        AUTO_DESC desc = read_plugin(cases[i].plugin);
        assert_non_null(desc);
        assert_non_null(desc->plugin);
        assert_int_equal(desc->tool_count, 1);
        assert_string_equal(desc->tools[0].tool->name, cases[i].left);
        const struct finding *finding = get_rule(desc, cases[i].rule);
        assert_string_equal(finding->tool, cases[i].tool);
        assert_int_equal(finding->severity, FINDING_ERROR);
    }
}

static bool refuse_result(void *user, const char *schema, size_t length, bool is_result,
                          int64_t *steps, char *reason, size_t room) {
    (void)steps;
    ++*(int *)user;
    assert_int_equal(strlen(schema), length);
    (void)snprintf(reason, room, "not liked");
    return !is_result;
}

static void schemas_go_through_the_callers_check(void **state) {
    (void)state;
    int calls = 0;
    struct descriptor_options options = {.check_schema = refuse_result, .user = &calls};
    CLEANUP(closep) int fd = open_plugin("good");
    AUTO_DESC desc = NULL;
    assert_int_equal(descriptor_read(fd, &options, &desc, NULL), 0);
    assert_int_equal(calls, 4);
    assert_non_null(desc->plugin);
    assert_int_equal(desc->tool_count, 0);
    assert_non_null(strstr(get_rule(desc, "schema-result-invalid")->cause, "not liked"));
}

/* ------------------------------------- faults in a descriptor of our own */

/* A plugin in memory, to be spoiled and read from there and from a file made of it. */
struct fixture {
    struct tr_plugin plugin;
    const struct tr_tool *tools[3];
    struct tr_tool typed;
    struct tr_tool json;
    struct tr_param params[3];
    struct tr_type types[3]; /* F64, a struct of two, an array */
    struct tr_param fields[2];
    struct tr_type field_type;
    struct tr_type enum_type;
    struct tr_choice choices[2];
    struct tr_capability capability;
    struct tr_example examples[DESCRIPTOR_EXAMPLES_MAX + 1];
};

static void call_nothing(void) {
}

static tr_status run_nothing(struct tr_call *call) {
    (void)call;
    return TR_OK;
}

static void fixture_types(struct fixture *f) {
    f->field_type = (struct tr_type){.size = sizeof(struct tr_type), .kind = TR_KIND_I32};
    f->enum_type = (struct tr_type){.size = sizeof(struct tr_type),
                                    .kind = TR_KIND_ENUM,
                                    .width = 4,
                                    .choices = f->choices,
                                    .choice_count = 2,
                                    .choice_size = sizeof(struct tr_choice)};
    f->choices[0] = (struct tr_choice){"off", 0};
    f->choices[1] = (struct tr_choice){"on", 1};
    f->fields[0] = (struct tr_param){
            .name = "count", .description = "d", .type = &f->field_type, .offset = 0};
    f->fields[1] = (struct tr_param){
            .name = "mode", .description = "d", .type = &f->enum_type, .offset = 4};
    f->types[0] = (struct tr_type){.size = sizeof(struct tr_type), .kind = TR_KIND_F64};
    f->types[1] = (struct tr_type){.size = sizeof(struct tr_type),
                                   .kind = TR_KIND_STRUCT,
                                   .width = 8,
                                   .fields = f->fields,
                                   .field_count = 2,
                                   .field_size = sizeof(struct tr_param)};
    f->types[2] = (struct tr_type){
            .size = sizeof(struct tr_type), .kind = TR_KIND_ARRAY, .item = &f->types[1]};
    static const char *const names[] = {"number", "pair", "pairs"};
    for (size_t i = 0; i < 3; i++) {
        f->params[i] =
                (struct tr_param){.name = names[i], .description = "d", .type = &f->types[i]};
    }
}

static void fixture_init(struct fixture *f) {
    memset(f, 0, sizeof *f);
    fixture_types(f);
    f->typed = (struct tr_tool){.size = sizeof(struct tr_tool),
                                .name = "typed",
                                .description = "d",
                                .params = f->params,
                                .param_count = 3,
                                .param_size = sizeof(struct tr_param),
                                .result = &f->types[2],
                                .function = call_nothing,
                                .examples = f->examples,
                                .example_count = 2,
                                .example_size = sizeof(struct tr_example)};
    f->examples[0] = (struct tr_example){"{\"number\":1}", "[]"};
    f->examples[1] = (struct tr_example){"{}", NULL};
    f->json = (struct tr_tool){.size = sizeof(struct tr_tool),
                               .name = "json",
                               .description = "d",
                               .schema = "{\"type\":\"object\"}",
                               .run = run_nothing};
    f->tools[0] = &f->typed;
    f->tools[1] = &f->json;
    f->capability = (struct tr_capability){.kind = TR_CAP_SPAWN, .value = "git"};
    f->plugin = (struct tr_plugin){.magic = TR_MAGIC,
                                   .size = sizeof(struct tr_plugin),
                                   .abi_major = TR_ABI_MAJOR,
                                   .id = "fixture",
                                   .version = "1.0.0",
                                   .license = "MIT",
                                   .capabilities = &f->capability,
                                   .capability_count = 1,
                                   .capability_size = sizeof(struct tr_capability),
                                   .tools = f->tools,
                                   .tool_count = 2,
                                   .tool_size = sizeof(struct tr_tool)};
}

static uint16_t machine_here(void) {
#if defined(__x86_64__)
    return EM_X86_64;
#else
    return EM_AARCH64;
#endif
}

static struct descriptor *read_written(struct elf_writer *writer, const struct tr_plugin *plugin) {
    if (writer->machine == 0) {
        writer->machine = machine_here();
    }
    elf_writer_run(writer, plugin);
    struct descriptor *desc = read_bytes(writer->bytes, writer->length);
    free(writer->bytes);
    writer->bytes = NULL;
    return desc;
}

static void own_plugin_is_read_in_every_form(void **state) {
    (void)state;
    struct fixture f;
    fixture_init(&f);
    for (unsigned form = 0; form < 4; form++) {
        struct elf_writer writer = {.sysv_hash = (form & 1) != 0, .packed = (form & 2) != 0};
        AUTO_DESC desc = read_written(&writer, &f.plugin);
        assert_sound(desc, 2);
        assert_int_equal(desc->finding_count, 0);
        assert_null(desc->tools[0].tool->function);
        assert_int_equal(desc->needed_count, 1);
        assert_string_equal(desc->needed[0], "libc.so.6");
    }
    AUTO_DESC copy = NULL;
    assert_int_equal(descriptor_copy(&f.plugin, NULL, &copy, NULL), 0);
    assert_sound(copy, 2);
    assert_ptr_equal(copy->tools[0].tool->function, call_nothing);
    assert_ptr_equal(copy->tools[1].tool->run, run_nothing);
    assert_ptr_not_equal(copy->plugin->id, f.plugin.id);
}

static void the_other_machine_is_read_and_refused(void **state) {
    (void)state;
    struct fixture f;
    fixture_init(&f);
    uint16_t other = machine_here() == EM_X86_64 ? EM_AARCH64 : EM_X86_64;
    f.plugin.id = "not an id"; /* found as well: the file is read to the end */
    struct elf_writer writer = {.machine = other};
    AUTO_DESC desc = read_written(&writer, &f.plugin);
    assert_refused(desc, "elf-machine");
    assert_refused(desc, "plugin-id");
    assert_non_null(strstr(get_rule(desc, "elf-machine")->cause, "AArch64"));
    assert_non_null(strstr(get_rule(desc, "elf-machine")->cause, "x86-64"));
}

/* What is told of the C library that a file for a machine needs: the rule, or NULL. */
static const char *told_of_libc(uint16_t machine, const char *version) {
    struct fixture f;
    fixture_init(&f);
    struct elf_writer writer = {.machine = machine_here()};
    AUTO_DESC desc = read_written(&writer, &f.plugin);
    struct elf_writer needs = {.machine = machine, .libc = version};
    elf_writer_run(&needs, &f.plugin);
    CLEANUP(closep) int fd = elf_writer_fd(needs.bytes, needs.length);
    free(needs.bytes);
    CLEANUP(arena_finish) struct arena arena;
    struct findings findings;
    arena_init(&arena, NULL, 0);
    findings_init(&findings, &arena);
    assert_int_equal(imports_check(fd, desc, &findings), 0);
    assert_true(findings.count <= 1);
    return findings.count == 1 ? findings.items[0].rule : NULL;
}

/* Debian 12 has 2.36. Of this machine's own files it is told as well when it is not here. */
static void a_newer_c_library_than_debians_is_told(void **state) {
    (void)state;
    uint16_t here = machine_here();
    uint16_t other = here == EM_X86_64 ? EM_AARCH64 : EM_X86_64;
    assert_null(told_of_libc(other, "GLIBC_2.36"));
    assert_string_equal(told_of_libc(other, "GLIBC_2.38"), "elf-glibc-new");
    assert_string_equal(told_of_libc(other, "GLIBC_3.0"), "elf-glibc-new");
    assert_null(told_of_libc(other, "GLIBC_PRIVATE"));
    unsigned minor = 0;
    assert_int_equal(sscanf(gnu_get_libc_version(), "2.%u", &minor), 1);
    assert_string_equal(told_of_libc(here, "GLIBC_2.38"),
                        minor < 38 ? "elf-glibc-missing" : "elf-glibc-new");
    assert_string_equal(told_of_libc(here, "GLIBC_2.999"), "elf-glibc-missing");
}

#define FAULTS(X)                                                                 \
    X(magic, "abi-magic", f->plugin.magic++)                                      \
    X(major, "abi-major", f->plugin.abi_major = 0)                                \
    X(minor, "abi-minor", f->plugin.host_minor_min = TR_ABI_MINOR + 1)            \
    X(size_small, "abi-size", f->plugin.size = 64)                                \
    X(size_zero, "abi-size", f->plugin.size = 0)                                  \
    X(size_huge, "abi-size", f->plugin.size = UINT32_MAX)                         \
    X(id_none, "plugin-id", f->plugin.id = NULL)                                  \
    X(id_space, "plugin-id", f->plugin.id = "a b")                                \
    X(id_reserved, "plugin-id-reserved", f->plugin.id = "permission")             \
    X(id_dot, "plugin-id", f->plugin.id = ".a")                                   \
    X(id_control, "plugin-text", f->plugin.id = "a\x1b")                          \
    X(version_control, "plugin-text", f->plugin.version = "1.0.0\n")              \
    X(license_control, "plugin-text", f->plugin.license = "MIT\n")                \
    X(version_none, "plugin-version", f->plugin.version = NULL)                   \
    X(version_bad, "plugin-version", f->plugin.version = "1.0")                   \
    X(utf8, "plugin-text", f->plugin.vendor = "\xff")                             \
    X(control, "plugin-text", f->plugin.vendor = "\x1b[2J")                       \
    X(control_c1, "plugin-text", f->plugin.vendor = "\xc2\x9b")                   \
    X(control_free, "plugin-text", f->plugin.description = "\x1b")                \
    X(capability_kind, "plugin-capability", f->capability.kind = 99)              \
    X(capability_none, "plugin-capability", f->capability.value = NULL)           \
    X(capability_env, "plugin-capability",                                        \
      (f->capability.kind = TR_CAP_ENV, f->capability.value = "LD_PRELOAD"))      \
    X(capability_service, "plugin-capability",                                    \
      (f->capability.kind = TR_CAP_NETWORK, f->capability.value = "*:https"))     \
    X(capability_port, "plugin-capability",                                       \
      (f->capability.kind = TR_CAP_NETWORK, f->capability.value = "example.org")) \
    X(capability_stride, "plugin-table", f->plugin.capability_size = 0)           \
    X(tools_null, "plugin-table", f->plugin.tools = NULL)                         \
    X(tools_size, "plugin-table", f->plugin.tool_size = 0)                        \
    X(tools_hole, "plugin-table", f->tools[1] = NULL)
#define TOOL_FAULTS(X)                                                                             \
    X(tool_size_small, "tool-size", f->typed.size = 8)                                             \
    X(tool_size_huge, "tool-size", f->typed.size = 1 << 20)                                        \
    X(tool_name_none, "tool-name", f->typed.name = NULL)                                           \
    X(tool_name_dot, "tool-name", f->typed.name = "a.b")                                           \
    X(tool_name_line, "tool-text", f->typed.name = "a\nb")                                         \
    X(tool_description_control, "tool-text", f->typed.description = "a\x1b[2J")                    \
    X(tool_description_bytes, "tool-text", f->typed.description = "a\xff")                         \
    X(tool_version, "tool-version", f->typed.version = "one")                                      \
    X(tool_permission, "tool-permission", f->typed.permission = 3)                                 \
    X(tool_both, "tool-entry", f->typed.run = run_nothing)                                         \
    X(tool_none, "tool-entry", f->typed.function = NULL)                                           \
    X(tool_same, "tool-duplicate",                                                                 \
      (f->typed.name = "json", f->tools[0] = &f->json, f->tools[1] = &f->typed))                   \
    X(schema_none, "schema-missing",                                                               \
      (f->tools[0] = &f->json, f->plugin.tool_count = 1, f->json.schema = NULL))                   \
    X(params_null, "param-table", f->typed.params = NULL)                                          \
    X(params_stride, "param-table", f->typed.param_size = 0)                                       \
    X(params_odd, "param-table", f->typed.param_size = sizeof(struct tr_param) + 4)                \
    X(param_name, "param-name", f->params[1].name = "a b")                                         \
    X(param_same, "param-name", f->params[1].name = "number")                                      \
    X(param_type, "type-kind", f->params[1].type = NULL)                                           \
    X(kind_unknown, "type-kind", f->types[0].kind = 99)                                            \
    X(kind_none, "type-kind", f->types[0].kind = TR_KIND_NONE)                                     \
    X(kind_call, "type-kind", f->types[1].kind = TR_KIND_CALL)                                     \
    X(kind_result, "type-kind", (f->types[0].kind = TR_KIND_CALL, f->typed.result = &f->types[0])) \
    X(kind_item, "type-kind", f->types[2].item = NULL)                                             \
    X(type_size, "type-size", f->types[0].size = 4)                                                \
    X(flags_unknown, "type-flags", f->types[0].flags = 8)                                          \
    X(flags_both, "type-flags", f->types[0].flags = TR_TYPE_NULLABLE | TR_TYPE_BY_POINTER)         \
    X(flags_item, "type-flags", f->types[1].flags = TR_TYPE_OPTIONAL)                              \
    X(flags_result, "type-flags", f->types[2].flags = TR_TYPE_OPTIONAL)                            \
    X(cycle_item, "type-depth", f->types[2].item = &f->types[2])                                   \
    X(cycle_field, "type-depth", f->fields[1].type = &f->types[1])                                 \
    X(width_zero, "type-layout", f->types[1].width = 0)                                            \
    X(width_small, "type-layout", f->types[1].width = 4)                                           \
    X(width_large, "type-layout", f->types[1].width = 12)                                          \
    X(width_odd, "type-layout", f->types[1].width = 9)                                             \
    X(offset_odd, "type-layout", f->fields[1].offset = 3)                                          \
    X(offset_huge, "type-layout", f->fields[1].offset = UINT64_MAX - 3)                            \
    X(offset_same, "type-layout", f->fields[1].offset = 0)                                         \
    X(fields_none, "param-table", f->types[1].field_count = 0)                                     \
    X(fields_stride, "param-table", f->types[1].field_size = 1)                                    \
    X(field_same, "param-name", f->fields[1].name = "count")                                       \
    X(enum_width, "type-enum", f->enum_type.width = 3)                                             \
    X(enum_none, "type-enum", f->enum_type.choice_count = 0)                                       \
    X(enum_stride, "type-enum", f->enum_type.choice_size = 0)                                      \
    X(enum_name, "type-enum", f->choices[0].name = NULL)                                           \
    X(enum_same, "type-enum", f->choices[0].name = "on")                                           \
    X(enum_value, "type-enum", f->choices[0].value = INT64_C(1) << 32)                             \
    X(default_json, "param-default", f->params[0].default_json = "1 2")                            \
    X(default_type, "param-default", f->params[0].default_json = "\"1\"")                          \
    X(default_null, "param-default", f->params[0].default_json = "null")                           \
    X(default_bound, "param-default",                                                              \
      (f->params[0].default_json = "1", f->params[0].exclusive_minimum_json = "1"))                \
    X(default_choice, "param-default",                                                             \
      (f->params[0].default_json = "3", f->params[0].choices_json = "[1,2]"))                      \
    X(default_range, "param-default", f->fields[0].default_json = "2147483648")                    \
    X(default_part, "param-default", f->fields[0].default_json = "1.5")                            \
    X(default_enum, "param-default", f->fields[1].default_json = "\"none\"")                       \
    X(default_field, "param-default", f->params[1].default_json = "{\"count\":1}")                 \
    X(default_extra, "param-default",                                                              \
      f->params[1].default_json = "{\"count\":1,\"mode\":\"on\",\"x\":0}")                         \
    X(default_item, "param-default", f->params[2].default_json = "[{}]")                           \
    X(default_items, "param-default",                                                              \
      (f->params[2].default_json = "[]", f->params[2].min_items = 1))                              \
    X(default_unique, "param-default",                                                             \
      (f->params[2].default_json =                                                                 \
               "[{\"count\":1,\"mode\":\"on\"},{\"mode\":\"on\",\"count\":1.0}]",                  \
       f->params[2].flags = TR_PARAM_UNIQUE_ITEMS))                                                \
    X(default_deep, "param-default",                                                               \
      f->params[0].default_json =                                                                  \
              "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[")          \
    X(bound_text, "param-bound", f->params[0].minimum_json = "low")                                \
    X(bound_string, "param-bound", f->params[0].minimum_json = "\"1\"")                            \
    X(bound_two, "param-bound", f->params[0].minimum_json = "1 2")                                 \
    X(bound_part, "param-bound", f->fields[0].minimum_json = "0.5")                                \
    X(bound_range, "param-bound", f->fields[0].maximum_json = "4294967295")                        \
    X(bound_order, "param-bound",                                                                  \
      (f->params[0].minimum_json = "2", f->params[0].maximum_json = "1"))                          \
    X(bound_open, "param-bound",                                                                   \
      (f->params[0].minimum_json = "1", f->params[0].exclusive_maximum_json = "1"))                \
    X(bound_multiple, "param-bound", f->params[0].multiple_of_json = "0")                          \
    X(bound_items, "param-bound", (f->params[2].min_items = 2, f->params[2].max_items = 1))        \
    X(choices_none, "param-choices", f->params[0].choices_json = "[]")                             \
    X(choices_object, "param-choices", f->params[0].choices_json = "{}")                           \
    X(choices_same, "param-choices", f->params[0].choices_json = "[1,2,1.0]")                      \
    X(choices_type, "param-choices", f->params[0].choices_json = "[1,\"2\"]")                      \
    X(examples_null, "example-table", f->typed.examples = NULL)                                    \
    X(examples_many, "example-table", f->typed.example_count = DESCRIPTOR_EXAMPLES_MAX + 1)        \
    X(examples_stride, "example-table", f->typed.example_size = 8)                                 \
    X(examples_odd, "example-table", f->typed.example_size = sizeof(struct tr_example) + 4)        \
    X(example_text, "tool-text", f->examples[0].arguments = "{\"\x01\":1}")                        \
    X(example_bytes, "tool-text", f->examples[1].result = "\"\xff\"")                              \
    X(option_pattern, "param-option", f->params[0].pattern = "a")                                  \
    X(option_length, "param-option", f->params[2].max_length = 1)                                  \
    X(option_minimum, "param-option", f->params[1].minimum_json = "1")                             \
    X(option_unique, "param-option", f->params[0].flags = TR_PARAM_UNIQUE_ITEMS)
#define FAULT_FUNCTION(name, rule, code)          \
    static void fault_##name(struct fixture *f) { \
        code;                                     \
    }
FAULTS(FAULT_FUNCTION)
TOOL_FAULTS(FAULT_FUNCTION)

struct fault {
    const char *name;
    const char *rule;
    void (*spoil)(struct fixture *f);
};

static void assert_same_findings(const struct descriptor *a, const struct descriptor *b) {
    assert_int_equal(a->finding_count, b->finding_count);
    for (uint32_t i = 0; i < a->finding_count; i++) {
        assert_string_equal(a->findings[i].rule, b->findings[i].rule);
    }
}

/* Both sources must come to the same verdict. */
static void run_fault(const struct fault *fault, bool whole) {
    struct fixture f;
    fixture_init(&f);
    fault->spoil(&f);
    AUTO_DESC copy = NULL;
    assert_int_equal(descriptor_copy(&f.plugin, NULL, &copy, NULL), 0);
    assert_sane(copy);
    struct elf_writer writer = {0};
    AUTO_DESC desc = read_written(&writer, &f.plugin);
    if ((desc->plugin == NULL) != whole || find_rule(desc, fault->rule) == NULL) {
        print_message("# %s\n", fault->name);
    }
    const struct finding *finding = get_rule(desc, fault->rule);
    assert_int_equal(finding->severity, FINDING_ERROR);
    assert_int_equal(desc->plugin == NULL, whole);
    assert_int_equal(finding->tool == NULL, whole);
    assert_same_findings(desc, copy);
    /* What is there and invalid is not reported as missing besides. */
    bool is_text = strcmp(fault->rule, "plugin-text") == 0 || strcmp(fault->rule, "tool-text") == 0;
    assert_int_equal(is_text ? desc->finding_count : 1, 1);
}

static void every_fault_has_its_rule(void **state) {
    (void)state;
#define FAULT_ROW(name, rule, code) {#name, rule, fault_##name},
    static const struct fault whole[] = {FAULTS(FAULT_ROW)};
    static const struct fault tools[] = {TOOL_FAULTS(FAULT_ROW)};
    for (size_t i = 0; i < ARRAY_LENGTH(whole); i++) {
        run_fault(&whole[i], true);
    }
    for (size_t i = 0; i < ARRAY_LENGTH(tools); i++) {
        run_fault(&tools[i], false);
    }
}

/* A host is for people to read; a path or program that is not absolute is granted to nobody. */
static void a_capability_that_means_less_is_told(void **state) {
    (void)state;
    static const struct {
        struct tr_capability capability;
        const char *rule;
        int severity;
    } cases[] = {{{TR_CAP_NETWORK, 0, "example.org:443"}, "capability-host", FINDING_NOTE},
                 {{TR_CAP_READ, 0, "~/data"}, "capability-value", FINDING_WARNING},
                 {{TR_CAP_WRITE, 0, "data"}, "capability-value", FINDING_WARNING},
                 {{TR_CAP_SPAWN, 0, "bin/tool"}, "capability-value", FINDING_WARNING},
                 {{TR_CAP_READ, 0, "/srv/x'; touch $HOME/y; : '"},
                  "capability-characters",
                  FINDING_WARNING},
                 {{TR_CAP_READ, 0, "/srv/*.xml"}, "capability-characters", FINDING_WARNING},
                 {{TR_CAP_WRITE, 0, "${data}/$(id)"}, "capability-characters", FINDING_WARNING},
                 {{TR_CAP_SPAWN, 0, "git;sh"}, "capability-characters", FINDING_WARNING},
                 {{TR_CAP_READ, 0, "/srv/a\xe2\x80\x8b"}, "text-hidden", FINDING_WARNING}};
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct fixture f;
        fixture_init(&f);
        f.capability = cases[i].capability;
        AUTO_DESC desc = NULL;
        assert_int_equal(descriptor_copy(&f.plugin, NULL, &desc, NULL), 0);
        assert_non_null(desc->plugin);
        assert_int_equal(get_rule(desc, cases[i].rule)->severity, cases[i].severity);
    }
}

static void an_ordinary_capability_is_told_nothing_of(void **state) {
    (void)state;
    static const struct tr_capability capabilities[] = {
            {TR_CAP_READ, 0, "/srv/My Rates/2026-01 (copy)/\xc3\xa4.xml"},
            {TR_CAP_READ, 0, "${setting:file}"},
            {TR_CAP_WRITE, 0, "${data}/c#/~a+b=c,d@e%f"},
            {TR_CAP_SPAWN, 0, "*"},
            {TR_CAP_NETWORK, 0, "*:443"},
            {TR_CAP_ENV, 0, "API_KEY"}};
    for (size_t i = 0; i < ARRAY_LENGTH(capabilities); i++) {
        struct fixture f;
        fixture_init(&f);
        f.capability = capabilities[i];
        AUTO_DESC desc = NULL;
        assert_int_equal(descriptor_copy(&f.plugin, NULL, &desc, NULL), 0);
        assert_int_equal(desc->finding_count, 0);
    }
}

/* The length of bytes is that of what the base64 stands for, which its padding tells. */
static void lengths_of_bytes_are_counted_without_padding(void **state) {
    (void)state;
    static const struct {
        const char *json;
        uint64_t length; /* UINT64_MAX: it is not base64 */
    } cases[] = {
            {"\"\"", 0},
            {"\"QQ==\"", 1},
            {"\"QUI=\"", 2},
            {"\"QUJD\"", 3},
            {"\"QUJDRA==\"", 4},
            {"\"QQ=\"", UINT64_MAX},
            {"\"Q===\"", UINT64_MAX},
            {"\"QUJ-\"", UINT64_MAX},
            {"1", UINT64_MAX},
    };
    const struct tr_type type = {.size = sizeof type, .kind = TR_KIND_BYTES};
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        for (uint64_t wanted = 1; wanted < 5; wanted++) {
            struct fixture f;
            fixture_init(&f);
            f.params[0] = (struct tr_param){.name = "data",
                                            .description = "d",
                                            .type = &type,
                                            .default_json = cases[i].json,
                                            .min_length = wanted,
                                            .max_length = wanted};
            AUTO_DESC desc = NULL;
            assert_int_equal(descriptor_copy(&f.plugin, NULL, &desc, NULL), 0);
            assert_int_equal(find_rule(desc, "param-default") == NULL, cases[i].length == wanted);
        }
    }
}

/* ------------------------------------------------------------ examples */

/* What is left of the examples of the fixture's typed tool, from both sources, and what was said.
 */
static void assert_examples(struct fixture *f, const struct descriptor_options *options,
                            uint32_t left, const char *rule, const char *cause) {
    AUTO_DESC copy = NULL;
    assert_int_equal(descriptor_copy(&f->plugin, options, &copy, NULL), 0);
    assert_sound(copy, 2);
    assert_int_equal(copy->tools[0].tool->example_count, left);
    assert_true((copy->tools[0].tool->examples == NULL) == (left == 0));
    assert_int_equal(copy->finding_count, rule != NULL);
    if (rule != NULL) {
        const struct finding *finding = get_rule(copy, rule);
        assert_int_equal(finding->severity, FINDING_WARNING);
        assert_string_equal(finding->tool, "typed");
        assert_non_null(strstr(finding->cause, cause));
    }
    if (options == NULL) {
        struct elf_writer writer = {0};
        AUTO_DESC desc = read_written(&writer, &f->plugin);
        assert_sound(desc, 2);
        assert_int_equal(desc->tools[0].tool->example_count, left);
        assert_same_findings(desc, copy);
    }
}

static void a_wrong_example_is_left_out(void **state) {
    (void)state;
    static const struct {
        struct tr_example example;
        const char *rule;
        const char *cause;
    } cases[] = {
            {{NULL, "1"}, "example-arguments", "example 1: its arguments are missing"},
            {{"", NULL}, "example-arguments", "example 1: its arguments cannot be read: it is not"},
            {{"{\"a\":}", NULL}, "example-arguments", "it is not JSON"},
            {{"[1]", NULL}, "example-arguments", "example 1: its arguments are not a JSON object"},
            {{"{}", "one"}, "example-result", "example 1: its result cannot be read: it is not"},
            {{"{}", ""}, "example-result", "it is not JSON"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct fixture f;
        fixture_init(&f);
        f.examples[0] = cases[i].example;
        assert_examples(&f, NULL, 1, cases[i].rule, cases[i].cause);
    }
    struct fixture f;
    fixture_init(&f);
    assert_examples(&f, NULL, 2, NULL, NULL);
    f.typed.example_count = 1;
    f.examples[0].arguments = "null";
    assert_examples(&f, NULL, 0, "example-arguments", "are not a JSON object");
    fixture_init(&f);
    f.examples[1].result =
            "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[";
    assert_examples(&f, NULL, 1, "example-result", "example 2: its result cannot be read: it is n");
}

static void as_many_examples_as_allowed(void **state) {
    (void)state;
    struct tr_example examples[DESCRIPTOR_EXAMPLES_MAX];
    for (size_t i = 0; i < ARRAY_LENGTH(examples); i++) {
        examples[i] = (struct tr_example){"{}", "1"};
    }
    struct fixture f;
    fixture_init(&f);
    f.typed.examples = examples;
    f.typed.example_count = DESCRIPTOR_EXAMPLES_MAX;
    assert_examples(&f, NULL, DESCRIPTOR_EXAMPLES_MAX, NULL, NULL);
}

struct values_seen {
    unsigned calls;
    unsigned values;
    const char *misfit; /* the text that does not fit */
};

static void look_at_values(void *user, const char *schema, size_t length, bool is_result,
                           int64_t *steps, struct descriptor_value *values, size_t count) {
    (void)steps;
    struct values_seen *seen = user;
    seen->calls++;
    assert_int_equal(strlen(schema), length);
    assert_true(strstr(schema, is_result ? "\"array\"" : "\"number\"") != NULL);
    for (size_t i = 0; i < count; i++) {
        seen->values++;
        assert_true(values[i].fits);
        values[i].fits = strcmp(values[i].json, seen->misfit) != 0;
        (void)snprintf(values[i].reason, sizeof values[i].reason, "not liked");
    }
}

static void examples_go_through_the_callers_check(void **state) {
    (void)state;
    struct values_seen seen = {.misfit = "none"};
    struct descriptor_options options = {.check_values = look_at_values, .user = &seen};
    struct fixture f;
    fixture_init(&f);
    assert_examples(&f, &options, 2, NULL, NULL);
    assert_int_equal(seen.calls, 2);
    assert_int_equal(seen.values, 3);
    /* What does not fit as arguments is not looked at as a result. */
    seen = (struct values_seen){.misfit = "{\"number\":1}"};
    assert_examples(&f, &options, 1, "example-arguments",
                    "example 1: its arguments do not fit the tool's schema: not liked");
    assert_int_equal(seen.calls, 1);
    seen = (struct values_seen){.misfit = "[]"};
    assert_examples(&f, &options, 1, "example-result",
                    "example 1: its result does not fit the tool's schema: not liked");
}

/* -------------------------------------------------------- large and odd */

/* Nested structs that point to one another: 2^16 paths lead through them. */
static void wide_cycles_end_at_once(void **state) {
    (void)state;
    struct fixture f;
    fixture_init(&f);
    f.fields[0].type = &f.types[1];
    f.fields[1].type = &f.types[1];
    AUTO_DESC desc = NULL;
    assert_int_equal(descriptor_copy(&f.plugin, NULL, &desc, NULL), 0);
    assert_non_null(find_rule(desc, "type-depth"));
    assert_true(desc->finding_count < 10);
}

/* Sixteen levels of structs of 16 fields, no cycle: more than any memory. */
static void too_large_descriptors_are_refused(void **state) {
    (void)state;
    static struct tr_param fields[15][16];
    static struct tr_type types[16];
    types[15] = (struct tr_type){.size = sizeof(struct tr_type), .kind = TR_KIND_U8};
    for (size_t level = 15; level-- > 0;) {
        types[level] = (struct tr_type){.size = sizeof(struct tr_type),
                                        .kind = TR_KIND_STRUCT,
                                        .flags = TR_TYPE_BY_POINTER,
                                        .width = 128,
                                        .fields = fields[level],
                                        .field_count = 16,
                                        .field_size = sizeof(struct tr_param)};
        for (size_t i = 0; i < 16; i++) {
            static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h",
                                                "i", "j", "k", "l", "m", "n", "o", "p"};
            fields[level][i] = (struct tr_param){.name = names[i],
                                                 .description = "d",
                                                 .type = &types[level + 1],
                                                 .offset = level == 14 ? i : 8 * i};
        }
    }
    struct fixture f;
    fixture_init(&f);
    f.params[0].type = &types[0];
    AUTO_DESC desc = NULL;
    assert_int_equal(descriptor_copy(&f.plugin, NULL, &desc, NULL), 0);
    assert_refused(desc, "plugin-memory");
}

static void findings_are_counted_beyond_their_limit(void **state) {
    (void)state;
    struct arena arena;
    struct findings list;
    arena_init(&arena, NULL, 0);
    findings_init(&list, &arena);
    for (int i = 0; i < 100; i++) {
        findings_add(&list, FINDING_ELF_EXPORTS, NULL, "note %d", i);
    }
    findings_add(&list, FINDING_ELF_HEADER, NULL, "an \xff\x1b[m %s error\n", "\xc3\xa9\xc2\x9b");
    findings_close(&list);
    assert_int_equal(list.count, FINDINGS_MAX);
    assert_int_equal(list.errors, 1);
    assert_int_equal(list.left_out, 38);
    assert_string_equal(list.items[FINDINGS_MAX - 2].rule, "elf-header");
    assert_string_equal(list.items[FINDINGS_MAX - 2].cause, "an ? [m \xc3\xa9?? error ");
    assert_string_equal(list.items[FINDINGS_MAX - 1].rule, "left-out");
    arena_finish(&arena);
}

static void rules_have_ids_of_their_own(void **state) {
    (void)state;
    const char *id;
    const char *other;
    const char *fix;
    int severity;
    for (int i = 0; i < FINDING_RULE_COUNT; i++) {
        assert_true(finding_rule_get(i, &id, &severity, &fix));
        assert_true(strlen(fix) > 0 && fix[strlen(fix) - 1] != '.');
        for (int j = 0; j < i; j++) {
            assert_true(finding_rule_get(j, &other, &severity, &fix));
            assert_string_not_equal(id, other);
        }
    }
    assert_false(finding_rule_get(FINDING_RULE_COUNT, &id, &severity, &fix));
    assert_false(finding_rule_get(-1, &id, &severity, &fix));
}

static void references_are_counted(void **state) {
    (void)state;
    struct fixture f;
    fixture_init(&f);
    struct descriptor *desc = NULL;
    assert_int_equal(descriptor_copy(&f.plugin, NULL, &desc, NULL), 0);
    assert_ptr_equal(descriptor_ref(desc), desc);
    descriptor_unref(desc);
    assert_string_equal(desc->plugin->id, "fixture");
    descriptor_unref(desc);
    descriptor_unref(NULL);
}

/* --------------------------------------------------- hostile files */

static void truncated_anywhere(void **state) {
    (void)state;
    size_t length;
    CLEANUP(freep) unsigned char *bytes = load_plugin("good", &length);
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)bytes;
    size_t cuts[] = {1,
                     3,
                     4,
                     15,
                     16,
                     sizeof *header - 1,
                     sizeof *header,
                     header->e_phoff + sizeof(Elf64_Phdr),
                     header->e_phoff + header->e_phnum * sizeof(Elf64_Phdr) - 1,
                     header->e_phoff + header->e_phnum * sizeof(Elf64_Phdr),
                     header->e_shoff - 1,
                     header->e_shoff,
                     length - 1};
    for (size_t i = 0; i < ARRAY_LENGTH(cuts); i++) {
        AUTO_DESC desc = read_bytes(bytes, cuts[i]);
        assert_refused(desc, "elf-truncated");
    }
    for (size_t cut = 4096; cut < length; cut += 4096) {
        AUTO_DESC desc = read_bytes(bytes, cut);
        assert_refused(desc, "elf-truncated");
    }
}

/* A file of our own with words changed: the headers are known, so any can be wrong. */
struct hostile {
    struct elf_writer writer;
    struct fixture fixture;
};

static Elf64_Phdr *header_of(struct hostile *h, size_t index) {
    return (Elf64_Phdr *)(h->writer.bytes + sizeof(Elf64_Ehdr)) + index;
}

static Elf64_Dyn *dynamic_of(struct hostile *h, int64_t tag) {
    Elf64_Dyn *entry = (Elf64_Dyn *)(h->writer.bytes + h->writer.dynamic);
    while (entry->d_tag != tag) {
        entry++;
    }
    return entry;
}

static Elf64_Sym *symbol_of(struct hostile *h) {
    return (Elf64_Sym *)(h->writer.bytes + h->writer.symbols) + 1;
}

static uint32_t *hash_of(struct hostile *h) {
    return (uint32_t *)(h->writer.bytes + h->writer.hash);
}

static Elf64_Rela *relocation_of(struct hostile *h, size_t offset) {
    Elf64_Rela *rela = (Elf64_Rela *)(h->writer.bytes + h->writer.relocations);
    while (rela->r_offset != h->writer.plugin + offset) {
        rela++;
    }
    return rela;
}

static struct tr_plugin *plugin_of(struct hostile *h) {
    return (struct tr_plugin *)(h->writer.bytes + h->writer.plugin);
}

static uint64_t *packed_of(struct hostile *h) {
    return (uint64_t *)(h->writer.bytes + h->writer.relocations);
}

#define ID offsetof(struct tr_plugin, id)
#define HOSTILES(X)                                                                              \
    X(class32, "elf-class", h->writer.bytes[EI_CLASS] = ELFCLASS32)                              \
    X(big_endian, "elf-class", h->writer.bytes[EI_DATA] = ELFDATA2MSB)                           \
    X(ident_version, "elf-header", h->writer.bytes[EI_VERSION] = 2)                              \
    X(program, "elf-type", ((Elf64_Ehdr *)h->writer.bytes)->e_type = ET_EXEC)                    \
    X(object, "elf-type", ((Elf64_Ehdr *)h->writer.bytes)->e_type = ET_REL)                      \
    X(entry_size, "elf-header", ((Elf64_Ehdr *)h->writer.bytes)->e_phentsize = 57)               \
    X(no_headers, "elf-header", ((Elf64_Ehdr *)h->writer.bytes)->e_phnum = 0)                    \
    X(many_headers, "elf-header", ((Elf64_Ehdr *)h->writer.bytes)->e_phnum = 0xffff)             \
    X(headers_far, "elf-truncated", ((Elf64_Ehdr *)h->writer.bytes)->e_phoff = UINT64_MAX - 8)   \
    X(sections_far, "elf-truncated",                                                             \
      (((Elf64_Ehdr *)h->writer.bytes)->e_shoff = UINT64_MAX,                                    \
       ((Elf64_Ehdr *)h->writer.bytes)->e_shnum = 1,                                             \
       ((Elf64_Ehdr *)h->writer.bytes)->e_shentsize = 64))                                       \
    X(nothing_to_load, "elf-header", header_of(h, 0)->p_type = PT_NOTE)                          \
    X(segment_far, "elf-truncated", header_of(h, 0)->p_offset = UINT64_MAX - 0xfff)              \
    X(segment_long, "elf-truncated", (header_of(h, 0)->p_filesz++, header_of(h, 0)->p_memsz++))  \
    X(segment_wrap, "elf-segment", header_of(h, 0)->p_memsz = UINT64_MAX)                        \
    X(segment_high, "elf-segment", header_of(h, 0)->p_vaddr = UINT64_C(1) << 60)                 \
    X(segment_small, "elf-segment", header_of(h, 0)->p_memsz--)                                  \
    X(segment_align, "elf-segment", header_of(h, 0)->p_align = 0x1001)                           \
    X(segment_align_wrap, "elf-segment", header_of(h, 0)->p_align = 0)                           \
    X(segment_congruence, "elf-segment", header_of(h, 0)->p_vaddr = 8)                           \
    X(overlap, "elf-segment", *header_of(h, 2) = *header_of(h, 0))                               \
    X(stack, "elf-exec-stack", header_of(h, 2)->p_flags = PF_R | PF_W | PF_X)                    \
    X(no_dynamic, "elf-dynamic", header_of(h, 1)->p_type = PT_NOTE)                              \
    X(dynamic_far, "elf-dynamic", header_of(h, 1)->p_vaddr = UINT64_MAX - 16)                    \
    X(dynamic_long, "elf-dynamic", header_of(h, 1)->p_filesz = UINT64_MAX)                       \
    X(dynamic_empty, "elf-dynamic", header_of(h, 1)->p_filesz = 0)                               \
    X(dynamic_endless, "elf-dynamic", dynamic_of(h, DT_NULL)->d_tag = DT_DEBUG)                  \
    X(strings_none, "elf-dynamic", dynamic_of(h, DT_STRTAB)->d_tag = DT_DEBUG)                   \
    X(strings_long, "elf-dynamic", dynamic_of(h, DT_STRSZ)->d_un.d_val = UINT64_MAX)             \
    X(symbols_far, "elf-dynamic", dynamic_of(h, DT_SYMTAB)->d_un.d_ptr = UINT64_MAX - 23)        \
    X(symbol_size, "elf-dynamic", dynamic_of(h, DT_SYMENT)->d_un.d_val = 16)                     \
    X(rela_size, "elf-dynamic", dynamic_of(h, DT_RELASZ)->d_un.d_val += 1)                       \
    X(rela_long, "elf-dynamic", dynamic_of(h, DT_RELASZ)->d_un.d_val = UINT64_MAX / 24 * 24)     \
    X(rela_far, "elf-dynamic", dynamic_of(h, DT_RELA)->d_un.d_ptr = UINT64_MAX - 8)              \
    X(rela_entry, "elf-dynamic", dynamic_of(h, DT_RELAENT)->d_un.d_val = 0)                      \
    X(rel, "elf-dynamic", dynamic_of(h, DT_NEEDED)->d_tag = DT_REL)                              \
    X(text_relocations, "elf-text-relocation", dynamic_of(h, DT_NEEDED)->d_tag = DT_TEXTREL)     \
    X(text_flag, "elf-text-relocation",                                                          \
      (dynamic_of(h, DT_NEEDED)->d_un.d_val = DF_TEXTREL,                                        \
       dynamic_of(h, DT_NEEDED)->d_tag = DT_FLAGS))                                              \
    X(pie, "elf-type",                                                                           \
      (dynamic_of(h, DT_NEEDED)->d_un.d_val = DF_1_PIE,                                          \
       dynamic_of(h, DT_NEEDED)->d_tag = DT_FLAGS_1))                                            \
    X(no_hash, "elf-no-symbol", dynamic_of(h, DT_GNU_HASH)->d_tag = DT_DEBUG)                    \
    X(hash_far, "elf-no-symbol", dynamic_of(h, DT_GNU_HASH)->d_un.d_ptr = UINT64_MAX - 7)        \
    X(buckets_none, "elf-no-symbol", hash_of(h)[0] = 0)                                          \
    X(buckets_many, "elf-no-symbol", hash_of(h)[0] = UINT32_MAX)                                 \
    X(bloom_many, "elf-no-symbol", hash_of(h)[2] = UINT32_MAX)                                   \
    X(bucket_zero, "elf-no-symbol", hash_of(h)[6] = 0)                                           \
    X(bucket_far, "elf-no-symbol", hash_of(h)[6] = UINT32_MAX)                                   \
    X(bucket_below, "elf-no-symbol", hash_of(h)[1] = 7)                                          \
    X(chain_other, "elf-no-symbol", hash_of(h)[7] ^= 0x100)                                      \
    X(name_far, "elf-no-symbol", symbol_of(h)->st_name = UINT32_MAX)                             \
    X(name_end, "elf-no-symbol", symbol_of(h)->st_name = 25)                                     \
    X(undefined, "elf-symbol", symbol_of(h)->st_shndx = SHN_UNDEF)                               \
    X(absolute, "elf-symbol", symbol_of(h)->st_shndx = SHN_ABS)                                  \
    X(function, "elf-symbol", symbol_of(h)->st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC))       \
    X(local, "elf-symbol", symbol_of(h)->st_info = ELF64_ST_INFO(STB_LOCAL, STT_OBJECT))         \
    X(outside, "elf-symbol", symbol_of(h)->st_value = 1 << 20)                                   \
    X(outside_wrap, "elf-symbol", symbol_of(h)->st_value = UINT64_MAX - 7)                       \
    X(symbol_long, "elf-symbol", symbol_of(h)->st_size = UINT64_MAX)                             \
    X(symbol_small, "abi-size", symbol_of(h)->st_size = 8)                                       \
    X(symbol_odd, "elf-symbol", (symbol_of(h)->st_value += 4, symbol_of(h)->st_size = 0))        \
    X(tools_many, "plugin-table", plugin_of(h)->tool_count = 1u << 31)                           \
    X(capabilities_many, "plugin-table", plugin_of(h)->capability_count = UINT32_MAX)            \
    X(tools_out, "plugin-pointer", plugin_of(h)->tool_count = 1000)                              \
    X(not_relocated, "plugin-pointer", relocation_of(h, ID)->r_info = 0)                         \
    X(pointer_far, "plugin-pointer", relocation_of(h, ID)->r_addend = -8)                        \
    X(pointer_end, "plugin-pointer", relocation_of(h, ID)->r_addend = (int64_t)h->writer.length) \
    X(no_end, "plugin-text",                                                                     \
      (relocation_of(h, ID)->r_addend = (int64_t)h->writer.length - 1,                           \
       h->writer.bytes[h->writer.length - 1] = 'x'))                                             \
    X(function_out, "plugin-function",                                                           \
      relocation_of(h, offsetof(struct tr_plugin, open))->r_addend = 1 << 20)                    \
    X(into_number, "elf-relocation", relocation_of(h, ID)->r_offset = h->writer.plugin)          \
    X(into_flags, "elf-relocation",                                                              \
      relocation_of(h, ID)->r_offset =                                                           \
              h->writer.plugin + offsetof(struct tr_plugin, host_minor_min) - 4)                 \
    X(across, "elf-relocation", relocation_of(h, ID)->r_offset += 4)                             \
    X(from_before, "elf-relocation", relocation_of(h, ID)->r_offset = h->writer.plugin - 4)      \
    X(other_kind, "elf-relocation", relocation_of(h, ID)->r_info = 0x12345678)                   \
    X(symbol_far, "elf-relocation", relocation_of(h, ID)->r_info = ELF64_R_INFO(0xffffffff, 1))  \
    X(symbol_foreign, "plugin-pointer",                                                          \
      (relocation_of(h, ID)->r_info =                                                            \
               ELF64_R_INFO(0, h->writer.machine == EM_X86_64 ? R_X86_64_64 : R_AARCH64_ABS64)))
#define HOSTILES_PACKED(X)                                                   \
    X(packed_bitmap_first, "elf-relocation", packed_of(h)[0] |= 1)           \
    X(packed_falls, "elf-relocation", packed_of(h)[2] = packed_of(h)[0])     \
    X(packed_far, "elf-relocation", packed_of(h)[2] = UINT64_MAX - 1)        \
    X(packed_number, "elf-relocation", packed_of(h)[0] -= 16)                \
    X(packed_size, "elf-dynamic", dynamic_of(h, DT_RELRSZ)->d_un.d_val -= 4) \
    X(packed_entry, "elf-dynamic", dynamic_of(h, DT_RELRENT)->d_un.d_val = 24)
#define HOSTILES_SYSV(X)                                              \
    X(sysv_buckets_none, "elf-no-symbol", hash_of(h)[0] = 0)          \
    X(sysv_buckets_many, "elf-no-symbol", hash_of(h)[0] = UINT32_MAX) \
    X(sysv_chains_many, "elf-no-symbol", hash_of(h)[1] = UINT32_MAX)  \
    X(sysv_circle, "elf-no-symbol", (symbol_of(h)->st_name = 2, hash_of(h)[4] = 1))
#define HOSTILE_FUNCTION(name, rule, code)          \
    static void hostile_##name(struct hostile *h) { \
        code;                                       \
    }
HOSTILES(HOSTILE_FUNCTION)
HOSTILES_PACKED(HOSTILE_FUNCTION)
HOSTILES_SYSV(HOSTILE_FUNCTION)

static tr_status open_nothing(struct tr_host *host) {
    (void)host;
    return TR_OK;
}

struct hostility {
    const char *name;
    const char *rule;
    void (*spoil)(struct hostile *h);
};

static void run_hostility(const struct hostility *hostility, bool sysv, bool packed) {
    struct hostile h = {.writer = {.machine = machine_here(), .sysv_hash = sysv, .packed = packed}};
    fixture_init(&h.fixture);
    h.fixture.plugin.open = open_nothing;
    elf_writer_run(&h.writer, &h.fixture.plugin);
    hostility->spoil(&h);
    AUTO_DESC desc = read_bytes(h.writer.bytes, h.writer.length);
    free(h.writer.bytes);
    if (desc->plugin != NULL || find_rule(desc, hostility->rule) == NULL) {
        print_message("# %s\n", hostility->name);
    }
    assert_refused(desc, hostility->rule);
}

static void hostile_headers_are_refused(void **state) {
    (void)state;
#define HOSTILE_ROW(name, rule, code) {#name, rule, hostile_##name},
    static const struct hostility plain[] = {HOSTILES(HOSTILE_ROW)};
    static const struct hostility packed[] = {HOSTILES_PACKED(HOSTILE_ROW)};
    static const struct hostility sysv[] = {HOSTILES_SYSV(HOSTILE_ROW)};
    for (size_t i = 0; i < ARRAY_LENGTH(plain); i++) {
        run_hostility(&plain[i], false, false);
    }
    for (size_t i = 0; i < ARRAY_LENGTH(packed); i++) {
        run_hostility(&packed[i], false, true);
    }
    for (size_t i = 0; i < ARRAY_LENGTH(sysv); i++) {
        run_hostility(&sysv[i], true, false);
    }
}

/* Every byte of a file with each of these done to it: there is always a result. */
static void flip_bytes(const unsigned char *bytes, size_t length, size_t step) {
    CLEANUP(closep) int fd = elf_writer_fd(bytes, length);
    static const unsigned char flips[] = {0x01, 0x80, 0xff};
    for (size_t i = 0; i < length; i += step) {
        unsigned char flipped = bytes[i] ^ flips[i / step % ARRAY_LENGTH(flips)];
        assert_int_equal(pwrite(fd, &flipped, 1, (off_t)i), 1);
        AUTO_DESC desc = NULL;
        assert_int_equal(descriptor_read(fd, NULL, &desc, NULL), 0);
        assert_sane(desc);
        assert_int_equal(pwrite(fd, bytes + i, 1, (off_t)i), 1);
    }
}

static void flipped_bytes_never_harm(void **state) {
    (void)state;
    size_t length;
    CLEANUP(freep) unsigned char *bytes = load_plugin("good-stripped", &length);
    flip_bytes(bytes, length, 1);
    CLEANUP(freep) unsigned char *rich = load_plugin("all-types", &length);
    flip_bytes(rich, length, 7); /* most of it is for debuggers */
    struct fixture f;
    fixture_init(&f);
    for (unsigned form = 0; form < 4; form++) {
        struct elf_writer writer = {
                .machine = machine_here(), .sysv_hash = (form & 1) != 0, .packed = (form & 2) != 0};
        elf_writer_run(&writer, &f.plugin);
        flip_bytes(writer.bytes, writer.length, 1);
        free(writer.bytes);
    }
}

/* A large file is read in chunks; holes in a memfd cost nothing. */
static void large_files_are_read_in_pieces(void **state) {
    (void)state;
    struct fixture f;
    fixture_init(&f);
    struct elf_writer writer = {.machine = machine_here()};
    elf_writer_run(&writer, &f.plugin);
    size_t large = 200u * 1024 * 1024;
    Elf64_Phdr *load = (Elf64_Phdr *)(writer.bytes + sizeof(Elf64_Ehdr));
    load->p_filesz = large;
    load->p_memsz = large;
    CLEANUP(closep) int fd = elf_writer_fd(writer.bytes, writer.length);
    free(writer.bytes);
    assert_int_equal(posix_fallocate(fd, 0, (off_t)large), 0); /* no holes */
    AUTO_DESC desc = NULL;
    assert_int_equal(descriptor_read(fd, NULL, &desc, NULL), 0);
    assert_sound(desc, 2);
}

static void no_allocation_is_taken_for_granted(void **state) {
    (void)state;
    CLEANUP(closep) int fd = open_plugin("all-types");
    unsigned n = 0;
    bool hit;
    do {
        struct toolrack_error err;
        struct descriptor *desc = NULL;
        failing_malloc_set(++n);
        int code = descriptor_read(fd, NULL, &desc, &err);
        hit = failing_malloc_hit();
        failing_malloc_set(0);
        assert_int_equal(code, hit ? TOOLRACK_E_NO_MEMORY : 0);
        assert_int_equal(desc == NULL, hit);
        descriptor_unref(desc);
    } while (hit);
    assert_true(n > 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(good_is_read_however_it_is_linked),
            cmocka_unit_test(good_is_read_without_section_headers),
            cmocka_unit_test(schemas_are_derived_from_types),
            cmocka_unit_test(packed_relocations_are_read),
            cmocka_unit_test(symbol_relocations_are_followed),
            cmocka_unit_test(a_later_sdk_is_read_as_far_as_known),
            cmocka_unit_test(a_plugin_of_1_0_is_read),
            cmocka_unit_test(as_many_tools_as_allowed),
            cmocka_unit_test(authors_are_told_what_is_missing),
            cmocka_unit_test(a_tool_without_name_or_description_is_refused),
            cmocka_unit_test(each_fault_has_its_own_message),
            cmocka_unit_test(a_bad_tool_is_refused_alone),
            cmocka_unit_test(schemas_go_through_the_callers_check),
            cmocka_unit_test(own_plugin_is_read_in_every_form),
            cmocka_unit_test(the_other_machine_is_read_and_refused),
            cmocka_unit_test(a_newer_c_library_than_debians_is_told),
            cmocka_unit_test(every_fault_has_its_rule),
            cmocka_unit_test(a_capability_that_means_less_is_told),
            cmocka_unit_test(an_ordinary_capability_is_told_nothing_of),
            cmocka_unit_test(lengths_of_bytes_are_counted_without_padding),
            cmocka_unit_test(a_wrong_example_is_left_out),
            cmocka_unit_test(as_many_examples_as_allowed),
            cmocka_unit_test(examples_go_through_the_callers_check),
            cmocka_unit_test(wide_cycles_end_at_once),
            cmocka_unit_test(too_large_descriptors_are_refused),
            cmocka_unit_test(findings_are_counted_beyond_their_limit),
            cmocka_unit_test(rules_have_ids_of_their_own),
            cmocka_unit_test(references_are_counted),
            cmocka_unit_test(truncated_anywhere),
            cmocka_unit_test(hostile_headers_are_refused),
            cmocka_unit_test(flipped_bytes_never_harm),
            cmocka_unit_test(large_files_are_read_in_pieces),
            cmocka_unit_test(no_allocation_is_taken_for_granted),
    };
    return cmocka_run_group_tests_name("descriptor", tests, NULL, NULL);
}
