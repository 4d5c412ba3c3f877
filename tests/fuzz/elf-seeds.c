/* elf-seeds FOLDER: write the seeds of fuzz-elf, small sound plugins of every form. */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>

#include "elf-writer.h"

static tr_status json(struct tr_call *call) {
    return tr_reply_json(call, tr_arguments(call));
}
TR_JSON_TOOL(json,
             ("J", .result_schema = "{}", .version = "1.0.0-a", .deprecated = "d", .purpose = "p",
              .scenarios = "s, t",
              TR_EXAMPLES(TR_EXAMPLE("{\"a\":[1]}", "{}"), TR_EXAMPLE("[", NULL))),
             "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"array\"}}}")

enum mode { OFF, ON };
TR_DEFINE_ENUM(mode, enum mode, (OFF, "off"), (ON, "on"))
struct pair {
    int32_t a;
    enum mode b;
};
TR_DEFINE_STRUCT(pair, struct pair, (TR_I32, a, "a", TR_MINIMUM(-1)), (TR_ENUM(mode), b, "b"))

static struct pair typed(struct tr_call *call, const struct pair *pairs, size_t count,
                         const double *number) {
    (void)call, (void)count, (void)number;
    return pairs[0];
}
TR_TOOL(typed, "T", TR_STRUCT(pair), TR_CALL,
        (TR_ARRAY(TR_STRUCT(pair)), pairs, "p", TR_DEFAULT([ {"a" : 1, "b" : "on"} ]),
         .max_items = 2),
        (TR_OPTIONAL(TR_F64), number, "n", TR_CHOICES(1, 2.5), TR_EXCLUSIVE_MAXIMUM(3)))

static void text(const char *a, const void *b, size_t b_size) {
    (void)a, (void)b, (void)b_size;
}
TR_TOOL(text, "X", TR_VOID, (TR_STRING, a, "a", .min_length = 1, .pattern = "^a", TR_DEFAULT("a")),
        (TR_BYTES, b, "b", TR_DEFAULT("AAA=")))

TR_PLUGIN(("seed", .license = "MIT", TR_CAPABILITIES(TR_READS("/a"))), "1.0.0", json, typed, text)

static int write_seed(const char *folder, const char *name, struct elf_writer *writer,
                      const struct tr_plugin *plugin) {
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    elf_writer_run(writer, plugin);
    FILE *file = fopen(path, "wbe");
    bool sound = file != NULL && fwrite(writer->bytes, 1, writer->length, file) == writer->length;
    sound = file != NULL && fclose(file) == 0 && sound;
    free(writer->bytes);
    if (!sound) {
        perror(path);
    }
    return sound ? 0 : 1;
}

int main(int argc, char **argv) {
    if (argc != 2) {
        (void)fprintf(stderr, "usage: elf-seeds FOLDER\n");
        return 2;
    }
    static const char *const tools[] = {"json", "typed", "text"};
    int failed = 0;
    for (unsigned tool = 0; tool < 3; tool++) {
        for (unsigned form = 0; form < 4; form++) {
            struct tr_plugin one = toolrack_plugin;
            one.tools += tool;
            one.tool_count = 1;
            struct elf_writer writer = {
                    .machine = EM_X86_64, .sysv_hash = (form & 1) != 0, .packed = (form & 2) != 0};
            char name[64];
            (void)snprintf(name, sizeof name, "%s%s%s", tools[tool], form & 1 ? "-sysv" : "",
                           form & 2 ? "-packed" : "");
            failed |= write_seed(argv[1], name, &writer, &one);
        }
    }
    struct elf_writer arm = {.machine = EM_AARCH64};
    failed |= write_seed(argv[1], "aarch64", &arm, &toolrack_plugin);
    return failed;
}
