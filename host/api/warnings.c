/* What the log says of tools and grants when they are registered, as it holds now. */
#include "api/host.h"
#include "base/error.h"
#include "registry/document.h"

struct listing {
    yyjson_mut_doc *doc;
    yyjson_mut_val *list;
};

static void add(const struct listing *listing, const char *kind, const char *source,
                const char *text) {
    yyjson_mut_val *row = yyjson_mut_arr_add_obj(listing->doc, listing->list);
    document_add_text(listing->doc, row, "kind", kind);
    document_add_text(listing->doc, row, "source", source);
    document_add_text(listing->doc, row, "text", text);
}

static void add_changed(void *user, const struct snapshot *snapshot) {
    char text[ERROR_MESSAGE_MAX];
    for (size_t i = 0; i < snapshot->count; i++) {
        permit_describe_change(snapshot->tools[i], text);
        if (text[0] != '\0') {
            add(user, "changed", toolrack_tool_plugin(snapshot->tools[i]), text);
        }
    }
}

static void add_idle(void *user, const char *granted, const char *text) {
    (void)granted;
    add(user, "grant", "permission", text);
}

int toolrack_warnings(struct toolrack *host, struct toolrack_text **ret,
                      struct toolrack_error *err) {
    struct listing listing = {0};
    listing.doc = document_begin_list(&listing.list);
    registry_look(host->registry, add_changed, &listing);
    permit_visit_idle(host->permit, add_idle, &listing);
    return document_end(listing.doc, ret, err);
}
