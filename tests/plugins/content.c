/* A plugin whose tools have icons, say how they are waited for, and reply with every kind of
 * content of MCP. */
#include <string.h>

#include <toolrack/plugin.h>

#define ANY TR_SCHEMA({"type" : "object"})

static tr_status everything(struct tr_call *call) {
    static const struct tr_link link = {.size = sizeof link,
                                        .uri = "file:///srv/report.txt",
                                        .name = "report.txt",
                                        .title = "The \"report\"",
                                        .mime_type = "text/plain",
                                        .bytes = 12};
    (void)tr_reply_text(call, "words");
    (void)tr_reply_image(call, "abc", 3, "image/png");
    (void)tr_reply_audio(call, "abc", 3, "audio/wav");
    (void)tr_reply_resource_text(call, "test://text", "text/plain", "inside");
    (void)tr_reply_resource_bytes(call, "test://bytes", NULL, "abc", 3);
    (void)tr_reply_link(call, &link);
    (void)tr_reply_content(call, "{\"type\": \"text\",\n \"text\": \"for you\", \"annotations\": "
                                 "{\"audience\": [\"user\"], \"priority\": 0.5,"
                                 " \"lastModified\": \"2026-11-23T10:00:00Z\"}}");
    return tr_reply_json(call, "{\"n\":1}");
}
TR_JSON_TOOL(everything,
             ("Replies with everything", .flags = TR_TASK_ALWAYS,
              .icons = TR_SCHEMA([
                  {
                      "src" : "https://example.org/a.png",
                      "mimeType" : "image/png",
                      "sizes" : [ "48x48", "96x96" ],
                      "theme" : "dark"
                  },
                  {"src" : "data:image/svg+xml;base64,PHN2Zy8+"}
              ])),
             ANY)

/* Replies with the content block of its argument. */
static tr_status block(struct tr_call *call) {
    return tr_reply_content(call, tr_get_string(call, "block", NULL));
}
TR_JSON_TOOL(block, ("Replies with a block", .flags = TR_TASK_NEVER), ANY)

static tr_status plain(struct tr_call *call) {
    const char *uri = tr_get_string(call, "uri", NULL);
    return tr_reply_link(call, &(struct tr_link){.size = sizeof(struct tr_link),
                                                 .uri = uri,
                                                 .name = tr_get_string(call, "name", "a")});
}
TR_JSON_TOOL(plain, ("Replies with a link", .icons = "[{\"src\":\"http://example.org/a.png\"}]"),
             ANY)

TR_PLUGIN("content", "1.0.0", everything, block, plain)
