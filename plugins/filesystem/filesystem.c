/* filesystem - files and folders in the folders that an administrator grants.
 *
 * Names, arguments and results of the tools are those of the MCP reference server `filesystem`;
 * what differs is in tests/reference/differences.json, with its reason. Paths are confined by
 * place.h. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "diff.h"
#include "edit.h"
#include "file.h"
#include "tool.h"

#define ADVICE_PART "read_text_file with head or tail gives a part of a text"

/* -------------------------------------------------------------------- reading */

/* The last `count` pieces between line ends: after one that ends the text there is an empty piece.
 */
static void cut_tail(struct text *text, uint64_t count) {
    const char *at = text->data + text->length;
    for (; text->length > 0 && at > text->data; at--) {
        if (at[-1] == '\n' && --count == 0) {
            break;
        }
    }
    if (text->length > 0) {
        text->length -= (size_t)(at - text->data);
        memmove(text->data, at, text->length + 1);
    }
}

static tr_status read_text_file(struct tr_call *call) {
    struct place place;
    struct place_fault fault;
    struct text bytes = {0};
    uint64_t head = tr_get_u64(call, "head", 0);
    uint64_t tail = tr_get_u64(call, "tail", 0);
    if (!tool_place(call, "path", &place)) {
        return TR_FAILED;
    }
    if (head != 0 && tail != 0) {
        return tr_fail(call, TR_INVALID_ARGUMENTS, "tail",
                       "cannot be given together with head; make two calls");
    }
    bool is_read = head != 0   ? file_read_head(call, &place, head, &bytes, &fault)
                   : tail != 0 ? file_read_tail(call, &place, tail, &bytes, &fault)
                               : file_read(call, &place, &bytes, &fault);
    if (!is_read) {
        text_finish(&bytes);
        return tool_fail(call, NULL, &fault);
    }
    if (tail != 0) {
        text_normalize_lines(&bytes);
        cut_tail(&bytes, tail);
    } else if (head != 0 && bytes.length > 0 && bytes.data[bytes.length - 1] == '\n') {
        bytes.length--;
    }
    text_make_utf8(&bytes);
    return tool_reply(call, &bytes, ADVICE_PART);
}

/* The old name. */
static tr_status read_file(struct tr_call *call) {
    return read_text_file(call);
}

static const char *media_type(const char *name) {
    static const struct {
        const char *ending;
        const char *type;
    } types[] = {{".png", "image/png"},     {".jpg", "image/jpeg"},  {".jpeg", "image/jpeg"},
                 {".gif", "image/gif"},     {".webp", "image/webp"}, {".bmp", "image/bmp"},
                 {".svg", "image/svg+xml"}, {".mp3", "audio/mpeg"},  {".wav", "audio/wav"},
                 {".ogg", "audio/ogg"},     {".flac", "audio/flac"}};
    const char *ending = strrchr(name, '.');
    for (size_t i = 0; ending != NULL && ending > name && i < sizeof types / sizeof *types; i++) {
        if (strcasecmp(ending, types[i].ending) == 0) {
            return types[i].type;
        }
    }
    return "application/octet-stream";
}

/* A file: URL as node writes it. */
static void add_url(struct text *url, const char *path) {
    text_add_string(url, "file://");
    for (; *path != '\0'; path++) {
        bool stays = (*path >= '&' && *path <= ';') || (*path >= '@' && *path <= 'Z') ||
                     (*path >= 'a' && *path <= 'z') || strchr("!$=_", *path) != NULL;
        if (stays) {
            text_add(url, path, 1);
        } else {
            text_add_format(url, "%%%02X", (unsigned char)*path);
        }
    }
}

static tr_status reply_media(struct tr_call *call, const char *path, const char *type,
                             const struct text *bytes) {
    struct text base64 = {0};
    struct text url = {0};
    const void *data = bytes->length > 0 ? bytes->data : "";
    bool is_image = strncmp(type, "image/", 6) == 0;
    bool is_audio = strncmp(type, "audio/", 6) == 0;
    text_add_base64(&base64, data, bytes->length);
    add_url(&url, path);
    if (base64.failed || url.failed) {
        tr_status failed = tool_fail_text(call, &base64, "read it in parts by another way");
        text_finish(&base64);
        text_finish(&url);
        return failed;
    }
    tr_status status = is_image ? tr_reply_image(call, data, bytes->length, type)
                       : is_audio
                               ? tr_reply_audio(call, data, bytes->length, type)
                               : tr_reply_resource_bytes(call, url.data, type, data, bytes->length);
    if (status == TR_OK) {
        (void)tr_put_object(call, NULL);
        (void)tr_put_array(call, "content");
        (void)tr_put_object(call, NULL);
        (void)tr_put_string(call, "type", is_image ? "image" : is_audio ? "audio" : "resource");
        if (is_image || is_audio) {
            (void)call->api->put_string(call, "data", base64.data, base64.length);
            (void)tr_put_string(call, "mimeType", type);
        } else {
            (void)tr_put_object(call, "resource");
            (void)tr_put_string(call, "uri", url.data);
            (void)tr_put_string(call, "mimeType", type);
            (void)call->api->put_string(call, "blob", base64.data, base64.length);
            (void)tr_put_end(call);
        }
        (void)tr_put_end(call);
        (void)tr_put_end(call);
        status = tr_put_end(call);
    }
    text_finish(&base64);
    text_finish(&url);
    return status;
}

static tr_status read_media_file(struct tr_call *call) {
    struct place place;
    struct place_fault fault;
    struct text bytes = {0};
    if (!tool_place(call, "path", &place)) {
        return TR_FAILED;
    }
    bool is_read = file_read(call, &place, &bytes, &fault);
    tr_status status =
            is_read ? reply_media(call, place.path, media_type(place_name(&place)), &bytes)
                    : tool_fail(call, NULL, &fault);
    text_finish(&bytes);
    return status;
}

/* One file of read_multiple_files: what it has, or why it could not be read. */
static void add_file(struct tr_call *call, struct text *out, const char *given) {
    struct place place;
    struct place_fault fault = {.message = "must be a path without U+0000"};
    struct text bytes = {0};
    bool is_read = given != NULL && place_find(given, &place, &fault) &&
                   file_read(call, &place, &bytes, &fault);
    text_add_string(out, given != NULL ? given : "");
    text_add_string(out, is_read ? ":\n" : ": Error - ");
    if (is_read) {
        text_add_utf8(out, bytes.data, bytes.length);
        text_add(out, "\n", 1);
    } else {
        text_add_utf8(out, fault.message, strlen(fault.message));
    }
    text_finish(&bytes);
}

static tr_status read_multiple_files(struct tr_call *call) {
    struct text text = {0};
    uint64_t count = tr_count(call, "paths");
    for (uint64_t i = 0; i < count && !text.failed && !tr_cancelled(call); i++) {
        char field[32];
        (void)snprintf(field, sizeof field, "paths/%" PRIu64, i);
        text_add_string(&text, i > 0 ? "\n---\n" : "");
        add_file(call, &text, tr_get_string(call, field, NULL));
    }
    return tool_reply(call, &text, "read fewer files at once");
}

/* -------------------------------------------------------------------- writing */

/* A text of few fixed words and an argument. */
static tr_status reply_done(struct tr_call *call, const char *done, const char *field,
                            const char *more, const char *more_field) {
    struct text text = {0};
    text_add_string(&text, done);
    (void)tool_text(call, field, &text);
    if (more != NULL) {
        text_add_string(&text, more);
        (void)tool_text(call, more_field, &text);
    }
    return tool_reply(call, &text, "");
}

static tr_status write_file(struct tr_call *call) {
    struct place place;
    struct place_fault fault;
    const char *content = "";
    uint64_t length = 0;
    if (!tool_place(call, "path", &place)) {
        return TR_FAILED;
    }
    (void)call->api->get_string(call, "content", &content, &length);
    return file_write(call, &place, content, length, &fault)
                   ? reply_done(call, "Successfully wrote to ", "path", NULL, NULL)
                   : tool_fail(call, NULL, &fault);
}

/* One of "edits". */
static bool apply(struct tr_call *call, uint64_t index, struct text *text) {
    struct text old_text = {0};
    struct text new_text = {0};
    char field[48];
    (void)snprintf(field, sizeof field, "edits/%" PRIu64 "/newText", index);
    (void)tool_text(call, field, &new_text);
    (void)snprintf(field, sizeof field, "edits/%" PRIu64 "/oldText", index);
    (void)tool_text(call, field, &old_text);
    text_normalize_lines(&old_text);
    text_normalize_lines(&new_text);
    bool is_done = edit_apply(text, &old_text, &new_text);
    if (!is_done && text->failed) {
        (void)tool_fail_text(call, text, "edit a smaller file");
    } else if (!is_done) {
        (void)tr_fail(
                call, TR_INVALID_ARGUMENTS, field,
                "Could not find exact match for edit: the file has no such text; read it, and "
                "give the text as it is there");
    }
    text_finish(&old_text);
    text_finish(&new_text);
    return is_done;
}

/* The diff in a Markdown fence that is longer than any in it. */
static bool add_fenced(struct text *out, const struct text *diff) {
    size_t fence = 3;
    size_t run = 0;
    for (size_t i = 0; i < diff->length; i++) {
        run = diff->data[i] == '`' ? run + 1 : 0;
        fence = run >= fence ? run + 1 : fence;
    }
    for (size_t i = 0; i < fence; i++) {
        text_add(out, "`", 1);
    }
    text_add_string(out, "diff\n");
    text_add(out, diff->data, diff->length);
    for (size_t i = 0; i < fence; i++) {
        text_add(out, "`", 1);
    }
    text_add_string(out, "\n\n");
    out->failed = out->failed || diff->failed;
    out->too_long = out->too_long || diff->too_long;
    return !out->failed;
}

/* Without the CR of line ends, as a diff for people: the reference server's. */
static bool describe_edit(const struct place *place, struct text *before, struct text *after,
                          struct text *out) {
    struct text name = {0};
    struct text diff = {0};
    text_add_utf8(&name, place->path, strlen(place->path));
    text_normalize_lines(before);
    text_normalize_lines(after);
    bool is_made = !name.failed &&
                   diff_add(&diff, name.data, before->length > 0 ? before->data : "",
                            before->length, after->length > 0 ? after->data : "", after->length) &&
                   add_fenced(out, &diff);
    out->failed = out->failed || !is_made;
    text_finish(&name);
    text_finish(&diff);
    return is_made;
}

/* Read what is to be edited. A file that is not UTF-8 is refused: it would be written with U+FFFD
 * for each byte that is none, wherever the edits are. */
static bool read_for_edit(struct tr_call *call, const struct place *place, struct text *ret) {
    struct place_fault fault;
    size_t at;
    if (!file_read(call, place, ret, &fault)) {
        (void)tool_fail(call, NULL, &fault);
        return false;
    }
    if (!text_is_utf8(ret, &at)) {
        (void)tr_fail(call, TR_INVALID_ARGUMENTS, "path",
                      "cannot edit %s: it is not UTF-8 (at byte %zu), and an edit would change "
                      "bytes that are no part of it; convert the file to UTF-8 first",
                      place->path, at);
        return false;
    }
    return true;
}

static tr_status edit_file(struct tr_call *call) {
    struct place place;
    struct place_fault fault;
    struct text before = {0};
    struct text after = {0};
    struct text made = {0}; /* what is written */
    struct text out = {0};
    uint64_t count = tr_count(call, "edits");
    tr_status status = TR_FAILED;
    if (!tool_place(call, "path", &place)) {
        return TR_FAILED;
    }
    bool is_good = read_for_edit(call, &place, &before);
    text_add(&after, before.length > 0 ? before.data : "", before.length);
    for (uint64_t i = 0; is_good && i < count; i++) {
        is_good = apply(call, i, &after);
    }
    text_add(&made, after.length > 0 ? after.data : "", after.length);
    is_good = is_good && describe_edit(&place, &before, &after, &out);
    if (is_good && !tr_get_bool(call, "dryRun", false) &&
        !file_write(call, &place, made.length > 0 ? made.data : "", made.length, &fault)) {
        is_good = false;
        status = tool_fail(call, NULL, &fault);
    }
    if (is_good || out.failed) {
        status = tool_reply(call, &out, "make fewer changes at once");
    }
    text_finish(&before);
    text_finish(&after);
    text_finish(&made);
    text_finish(&out);
    return status;
}

static tr_status create_directory(struct tr_call *call) {
    struct place place;
    struct place_fault fault;
    if (!tool_place(call, "path", &place)) {
        return TR_FAILED;
    }
    return file_make_folder(&place, &fault)
                   ? reply_done(call, "Successfully created directory ", "path", NULL, NULL)
                   : tool_fail(call, NULL, &fault);
}

static tr_status move_file(struct tr_call *call) {
    struct place from;
    struct place to;
    struct place_fault fault;
    if (!tool_place(call, "source", &from) || !tool_place(call, "destination", &to)) {
        return TR_FAILED;
    }
    if (to.exists) {
        return tr_fail(call, TR_FAILED, NULL, "Destination already exists: %s; choose another name",
                       to.path);
    }
    return file_move(&from, &to, &fault)
                   ? reply_done(call, "Successfully moved ", "source", " to ", "destination")
                   : tool_fail(call, NULL, &fault);
}

/* ---------------------------------------------------------------------- facts */

/* As ECMAScript writes a date, in UTC. */
static void add_time(struct text *text, const char *label, int64_t seconds) {
    static const char *const days[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    static const char *const months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                         "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    time_t time = (time_t)seconds;
    struct tm tm;
    if (gmtime_r(&time, &tm) == NULL) {
        text_add_format(text, "%s: Invalid Date\n", label);
        return;
    }
    text_add_format(text,
                    "%s: %s %s %02d %04d %02d:%02d:%02d GMT+0000 (Coordinated Universal Time)\n",
                    label, days[tm.tm_wday], months[tm.tm_mon], tm.tm_mday, tm.tm_year + 1900,
                    tm.tm_hour, tm.tm_min, tm.tm_sec);
}

static tr_status get_file_info(struct tr_call *call) {
    struct place place;
    struct place_fault fault;
    struct statx st;
    struct text text = {0};
    if (!tool_place(call, "path", &place)) {
        return TR_FAILED;
    }
    int fd = -1;
    errno = ENOENT;
    if (place.exists) {
        fd = place_open(&place, O_PATH);
    }
    if (fd < 0 || statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_BTIME, &st) < 0) {
        place_say(&fault, "cannot look at", place.path, errno);
        if (fd >= 0) {
            (void)close(fd);
        }
        return tool_fail(call, NULL, &fault);
    }
    (void)close(fd);
    bool has_birth = (st.stx_mask & STATX_BTIME) != 0;
    text_add_format(&text, "size: %llu\n", (unsigned long long)st.stx_size);
    add_time(&text, "created", has_birth ? st.stx_btime.tv_sec : st.stx_ctime.tv_sec);
    add_time(&text, "modified", st.stx_mtime.tv_sec);
    add_time(&text, "accessed", st.stx_atime.tv_sec);
    text_add_format(&text, "isDirectory: %s\nisFile: %s\npermissions: %03o",
                    S_ISDIR(st.stx_mode) ? "true" : "false",
                    S_ISREG(st.stx_mode) ? "true" : "false", st.stx_mode & 0777U);
    return tool_reply(call, &text, "");
}

static tr_status list_allowed_directories(struct tr_call *call) {
    struct text text = {0};
    text_add_string(&text, "Allowed directories:");
    for (size_t i = 0; i < place_root_count(); i++) {
        text_add(&text, "\n", 1);
        text_add_utf8(&text, place_root(i)->path, strlen(place_root(i)->path));
    }
    return tool_reply(call, &text, "");
}

/* ---------------------------------------------------------------------- plugin */

#define READS (TR_READ_ONLY | TR_IDEMPOTENT)

/* clang-format off */
#define RESULT_CONTENT TR_SCHEMA({"type": "object", \
    "properties": {"content": {"type": "string"}}, "required": ["content"]})

TR_JSON_TOOL(read_file,
    ("Read a text file; read_text_file does the same. Only within the allowed directories.",
     .title = "Read File (Deprecated)", .category = "files", .tags = "file,read,text",
     .flags = READS, .result_schema = RESULT_CONTENT,
     .deprecated = "use read_text_file"),
    TR_SCHEMA({"type": "object", "properties": {
        "path": {"type": "string", "description": "The file: absolute, or relative to an allowed directory"},
        "tail": {"type": "integer", "minimum": 0, "description": "Only so many lines from the end"},
        "head": {"type": "integer", "minimum": 0, "description": "Only so many lines from the beginning"}
    }, "required": ["path"]}))

TR_JSON_TOOL(read_text_file,
    ("Read a text file whole, or only its first (head) or last (tail) lines. Bytes that are "
     "not UTF-8 are shown as U+FFFD. Only within the allowed directories.",
     .title = "Read Text File", .category = "files", .tags = "file,read,text,head,tail,cat",
     .flags = READS, .result_schema = RESULT_CONTENT),
    TR_SCHEMA({"type": "object", "properties": {
        "path": {"type": "string", "description": "The file: absolute, or relative to an allowed directory"},
        "tail": {"type": "integer", "minimum": 0, "description": "Only so many lines from the end"},
        "head": {"type": "integer", "minimum": 0, "description": "Only so many lines from the beginning"}
    }, "required": ["path"]}))

TR_JSON_TOOL(read_media_file,
    ("Read an image, audio or any other media file as base64, with the media type that its "
     "ending says. Only within the allowed directories.",
     .title = "Read Media File", .category = "files", .tags = "file,read,image,audio,sound,media,base64,binary",
     .flags = READS,
     .result_schema = TR_SCHEMA({"type": "object", "properties": {"content": {"type": "array", "items": {
         "type": "object", "properties": {
             "type": {"type": "string", "enum": ["image", "audio", "resource"]},
             "data": {"type": "string"}, "mimeType": {"type": "string"},
             "resource": {"type": "object", "properties": {
                 "uri": {"type": "string"}, "mimeType": {"type": "string"}, "blob": {"type": "string"}
             }, "required": ["uri", "blob"]}
         }, "required": ["type"]}}}, "required": ["content"]})),
    TR_SCHEMA({"type": "object", "properties": {
        "path": {"type": "string", "description": "The file: absolute, or relative to an allowed directory"}
    }, "required": ["path"]}))

TR_JSON_TOOL(read_multiple_files,
    ("Read several text files in one call. Each is given under its path; of one that cannot "
     "be read the reason is given, and the others are read all the same. Only within the "
     "allowed directories.",
     .title = "Read Multiple Files", .category = "files", .tags = "file,read,text,several",
     .flags = READS, .result_schema = RESULT_CONTENT),
    TR_SCHEMA({"type": "object", "properties": {
        "paths": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 1000,
                  "description": "The files: absolute, or relative to an allowed directory"}
    }, "required": ["paths"]}))

TR_JSON_TOOL(write_file,
    ("Write a text to a file: a new one, or in place of all that the file has, without "
     "asking. Only within the allowed directories.",
     .title = "Write File", .category = "files", .tags = "file,write,create,save,overwrite",
     .flags = TR_DESTRUCTIVE | TR_IDEMPOTENT, .permission = TR_CONFIRM, .result_schema = RESULT_CONTENT),
    TR_SCHEMA({"type": "object", "properties": {
        "path": {"type": "string", "description": "The file: absolute, or relative to an allowed directory"},
        "content": {"type": "string", "description": "All that the file is to have"}
    }, "required": ["path", "content"]}))

TR_JSON_TOOL(edit_file,
    ("Replace parts of a text file, one after the other, and return what changed as a "
     "unified diff. A text that is not there exactly is found by its lines with other white "
     "space around them. Only within the allowed directories.",
     .title = "Edit File", .category = "files", .tags = "file,edit,replace,patch,diff",
     .flags = TR_DESTRUCTIVE, .permission = TR_CONFIRM, .result_schema = RESULT_CONTENT),
    TR_SCHEMA({"type": "object", "properties": {
        "path": {"type": "string", "description": "The file: absolute, or relative to an allowed directory"},
        "edits": {"type": "array", "description": "What to replace, in this order", "items": {"type": "object", "properties": {
            "oldText": {"type": "string", "description": "What is replaced, where it is first"},
            "newText": {"type": "string", "description": "What comes in its place"}
        }, "required": ["oldText", "newText"]}},
        "dryRun": {"type": "boolean", "default": false, "description": "Only return the diff, and change nothing"}
    }, "required": ["path", "edits"]}))

TR_JSON_TOOL(create_directory,
    ("Make a directory (a folder), and those above it that are missing; one that is there already is no "
     "error. Only within the allowed directories.",
     .title = "Create Directory", .category = "files", .tags = "directory,folder,create,mkdir",
     .flags = TR_IDEMPOTENT, .permission = TR_CONFIRM, .result_schema = RESULT_CONTENT),
    TR_SCHEMA({"type": "object", "properties": {
        "path": {"type": "string", "description": "The directory: absolute, or relative to an allowed one"}
    }, "required": ["path"]}))

TR_JSON_TOOL(list_directory,
    ("List what is in a directory, a line each: [FILE] or [DIR], and the name. Only within "
     "the allowed directories.",
     .title = "List Directory", .category = "files", .tags = "directory,folder,list,ls",
     .flags = READS, .result_schema = RESULT_CONTENT),
    TR_SCHEMA({"type": "object", "properties": {
        "path": {"type": "string", "description": "The directory: absolute, or relative to an allowed one"}
    }, "required": ["path"]}))

TR_JSON_TOOL(list_directory_with_sizes,
    ("List what is in a directory with the size of each file, and the sum of all. Only "
     "within the allowed directories.",
     .title = "List Directory with Sizes", .category = "files", .tags = "directory,folder,list,size,du",
     .flags = READS, .result_schema = RESULT_CONTENT),
    TR_SCHEMA({"type": "object", "properties": {
        "path": {"type": "string", "description": "The directory: absolute, or relative to an allowed one"},
        "sortBy": {"type": "string", "enum": ["name", "size"], "default": "name", "description": "By name, or the largest first"}
    }, "required": ["path"]}))

TR_JSON_TOOL(directory_tree,
    ("Give all that is in a directory and below as JSON: name, type, and the children of "
     "each directory. Only within the allowed directories.",
     .title = "Directory Tree", .category = "files", .tags = "directory,folder,tree,recursive",
     .flags = READS, .result_schema = RESULT_CONTENT),
    TR_SCHEMA({"type": "object", "properties": {
        "path": {"type": "string", "description": "The directory: absolute, or relative to an allowed one"},
        "excludePatterns": {"type": "array", "items": {"type": "string"}, "maxItems": 100, "default": [],
                            "description": "Globs of what to leave out, such as node_modules or **/*.o"}
    }, "required": ["path"]}))

TR_JSON_TOOL(move_file,
    ("Move or rename a file or directory. It fails where the destination is there already. "
     "Only within the allowed directories.",
     .title = "Move File", .category = "files", .tags = "file,move,rename,mv",
     .flags = TR_DESTRUCTIVE, .permission = TR_CONFIRM, .result_schema = RESULT_CONTENT),
    TR_SCHEMA({"type": "object", "properties": {
        "source": {"type": "string", "description": "What is moved"},
        "destination": {"type": "string", "description": "Its new path, with its name"}
    }, "required": ["source", "destination"]}))

TR_JSON_TOOL(search_files,
    ("Find files and directories below a directory by a glob of their path relative to it: "
     "*.c is those in it, **/*.c those at any depth. Only within the allowed directories.",
     .title = "Search Files", .category = "files", .tags = "file,search,find,glob,pattern",
     .flags = READS, .result_schema = RESULT_CONTENT),
    TR_SCHEMA({"type": "object", "properties": {
        "path": {"type": "string", "description": "The directory: absolute, or relative to an allowed one"},
        "pattern": {"type": "string", "description": "The glob: * ? [a-z] ** {a,b}"},
        "excludePatterns": {"type": "array", "items": {"type": "string"}, "maxItems": 100, "default": [],
                            "description": "Globs of what to leave out, such as node_modules or **/*.o"}
    }, "required": ["path", "pattern"]}))

TR_JSON_TOOL(get_file_info,
    ("Tell the size, times (in UTC, such as when it was modified), kind and permissions of a file or directory without "
     "reading it. Only within the allowed directories.",
     .title = "Get File Info", .category = "files", .tags = "file,info,stat,size,time,modified,permissions",
     .flags = READS, .result_schema = RESULT_CONTENT),
    TR_SCHEMA({"type": "object", "properties": {
        "path": {"type": "string", "description": "The file: absolute, or relative to an allowed directory"}
    }, "required": ["path"]}))

TR_JSON_TOOL(list_allowed_directories,
    ("List the allowed directories: those that the other tools may access, with all below them; ask for it "
     "before the first path is given.",
     .title = "List Allowed Directories", .category = "files", .tags = "directory,folder,allowed,granted,access",
     .flags = READS, .result_schema = RESULT_CONTENT,
     TR_EXAMPLES(TR_EXAMPLE("{}", NULL))),
    TR_SCHEMA({"type": "object"}))

TR_PLUGIN(("filesystem", .description = "Reads, writes and finds files in granted directories",
           .vendor = "toolrack", .license = "MIT", .flags = TR_THREAD_SAFE, .open = place_open_roots,
           .close = place_close_roots,
           TR_CAPABILITIES(TR_READS("${workspace}"), TR_WRITES("${workspace}"))),
          "1.0.0", read_file, read_text_file, read_media_file, read_multiple_files, write_file, edit_file,
          create_directory, list_directory, list_directory_with_sizes, directory_tree, move_file,
          search_files, get_file_info, list_allowed_directories)
