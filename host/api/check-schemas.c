/* Schemas that are valid and say something else than was meant, and tools that a format of
 * providers cannot describe. */
#include <string.h>
#include <yyjson.h>

#include "api/check.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "format/definitions.h"
#include "schema/doubtful.h"
#include "schema/keyword.h"

CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)
CLEANUP_DEFINE(yyjson_mut_doc, yyjson_mut_doc_free)

/* Schemas nested deeper are not looked at. */
#define DEPTH_MAX 32u

/* -------------------------------------------------------------------- doubtful */

/* The finding's fix is that of the doubt, not that of the rule. */
static void add_doubt(struct findings *list, const char *tool, const struct doubt *doubt) {
    findings_add(list, FINDING_SCHEMA_DOUBTFUL, tool, "%s (%s)", doubt->cause, doubt->fix);
}

static void look_at_level(struct findings *list, const char *tool, yyjson_mut_val *schema,
                          unsigned depth);

/* The schemas in the value of a keyword. */
static void look_into(struct findings *list, const char *tool, enum shape shape,
                      yyjson_mut_val *value, unsigned depth) {
    size_t at;
    size_t count;
    yyjson_mut_val *key;
    yyjson_mut_val *part;
    bool is_map = shape == SHAPE_SCHEMA_MAP || shape == SHAPE_DEPENDENCIES;
    if (shape == SHAPE_SCHEMA || (shape == SHAPE_ITEMS && yyjson_mut_is_obj(value))) {
        look_at_level(list, tool, value, depth);
    } else if ((shape == SHAPE_SCHEMAS || shape == SHAPE_ITEMS) && yyjson_mut_is_arr(value)) {
        yyjson_mut_arr_foreach(value, at, count, part) {
            look_at_level(list, tool, part, depth);
        }
    } else if (is_map && yyjson_mut_is_obj(value)) {
        yyjson_mut_obj_foreach(value, at, count, key, part) {
            look_at_level(list, tool, part, depth);
        }
    }
}

static void look_at_level(struct findings *list, const char *tool, yyjson_mut_val *schema,
                          unsigned depth) {
    struct doubt doubt;
    size_t at;
    size_t count;
    yyjson_mut_val *key;
    yyjson_mut_val *value;
    if (!yyjson_mut_is_obj(schema) || depth > DEPTH_MAX) {
        return;
    }
    yyjson_mut_obj_foreach(schema, at, count, key, value) {
        if (doubtful_member(key, value, &doubt)) {
            add_doubt(list, tool, &doubt);
        }
        for (unsigned i = 0; i < KEYWORD_COUNT; i++) {
            if (strcmp(keyword_rows[i].name, yyjson_mut_get_str(key)) == 0) {
                look_into(list, tool, keyword_rows[i].shape, value, depth + 1);
                break;
            }
        }
    }
}

static bool look_at_schema(struct findings *list, const struct descriptor_tool *tool) {
    CLEANUP(yyjson_doc_freep)
    yyjson_doc *doc = yyjson_read_opts((char *)(uintptr_t)tool->schema, strlen(tool->schema),
                                       YYJSON_READ_BIGNUM_AS_RAW, NULL, NULL);
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *copy = yyjson_doc_mut_copy(doc, NULL);
    yyjson_mut_val *root = yyjson_mut_doc_get_root(copy);
    struct doubt doubt;
    if (root == NULL) {
        return false; /* no memory: the schema was read before */
    }
    if (doubtful_root(root, &doubt)) {
        add_doubt(list, tool->tool->name, &doubt);
    }
    look_at_level(list, tool->tool->name, root, 0);
    return true;
}

/* ------------------------------------------------------------------- providers */

/* Why a format leaves the tool out, from the report of its definitions; false: it does not. */
static bool is_refused(const struct buf *report, struct buf *ret_why) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    buf_printf(&text, "[%s]", report->length > 0 ? report->data : "");
    CLEANUP(yyjson_doc_freep)
    yyjson_doc *doc = text.failed ? NULL : yyjson_read(text.data, text.length, 0);
    size_t at;
    size_t count;
    yyjson_val *row;
    yyjson_arr_foreach (yyjson_doc_get_root(doc), at, count, row) {
        const char *what = yyjson_get_str(yyjson_obj_get(row, "what"));
        const char *place = yyjson_get_str(yyjson_obj_get(row, "at"));
        if (yyjson_equals_str(yyjson_obj_get(row, "kind"), "refused")) {
            bool is_part = place != NULL && place[0] != '\0';
            buf_printf(ret_why, "%s%s%s", what != NULL ? what : "", is_part ? ", at " : "",
                       is_part ? place : "");
            return true;
        }
    }
    return false;
}

static int look_at_formats(struct findings *list, const struct descriptor_tool *tool) {
    const struct format_tool described = {.name = tool->tool->name,
                                          .title = tool->tool->title,
                                          .description = tool->tool->description,
                                          .deprecated = tool->tool->deprecated,
                                          .schema = tool->schema,
                                          .result_schema = tool->result_schema,
                                          .icons = tool->tool->icons,
                                          .read_only = (tool->tool->flags & TR_READ_ONLY) != 0,
                                          .destructive = (tool->tool->flags & TR_DESTRUCTIVE) != 0,
                                          .idempotent = (tool->tool->flags & TR_IDEMPOTENT) != 0,
                                          .open_world = (tool->tool->flags & TR_OPEN_WORLD) != 0,
                                          .dangerous = tool->tool->permission == TR_DANGEROUS};
    CLEANUP(buf_finish) struct buf names = BUF_INIT;
    CLEANUP(buf_finish) struct buf why = BUF_INIT; /* of the first one */
    for (unsigned i = 0; i < TOOLRACK_FORMAT_COUNT; i++) {
        CLEANUP(buf_finish) struct buf out = BUF_INIT;
        CLEANUP(buf_finish) struct buf report = BUF_INIT;
        CLEANUP(buf_finish) struct buf reason = BUF_INIT;
        if (format_definitions((enum toolrack_format)i, &described, 1, NULL, &out, &report, NULL,
                               NULL) < 0 ||
            report.failed) {
            return TOOLRACK_E_NO_MEMORY;
        }
        if (is_refused(&report, &reason)) {
            buf_printf(&names, "%s%s", names.length > 0 ? ", " : "",
                       toolrack_format_name((enum toolrack_format)i));
            if (why.length == 0) {
                buf_add(&why, reason.data, reason.length);
            }
        }
    }
    if (names.failed || why.failed) {
        return TOOLRACK_E_NO_MEMORY;
    }
    if (names.length > 0) {
        findings_add(list, FINDING_PROVIDER_REFUSED, tool->tool->name,
                     "definitions in the format of %s do not have the tool: %s", names.data,
                     why.length > 0 ? why.data : "it cannot be described");
    }
    return 0;
}

int check_schemas(const struct descriptor *desc, struct findings *list) {
    for (uint32_t i = 0; i < desc->tool_count; i++) {
        const struct descriptor_tool *tool = &desc->tools[i];
        if (!tool->typed && !look_at_schema(list, tool)) {
            return TOOLRACK_E_NO_MEMORY;
        }
        int code = look_at_formats(list, tool);
        if (code < 0) {
            return code;
        }
    }
    return list->failed ? TOOLRACK_E_NO_MEMORY : 0;
}
