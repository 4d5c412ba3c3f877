/* The official JSON-Schema-Test-Suite, both drafts: each required test must agree, and of the
 * optional ones all but those listed below with a reason.
 *
 *     schema-suite [-v] <folder of the suite>...
 *
 * The first folder that exists is used; exit code 77 (skipped) when none does. A draft that the
 * folder does not have is left out. Prints one line per draft, and with -v one per optional file.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <yyjson.h>

#include "base/cleanup.h"
#include "schema/schema.h"

#define REMOTE_PREFIX "http://localhost:1234/"
#define REMOTES_MAX   512
#define PATH_ROOM     4096

/* Optional tests that are not claimed: whole files, or one group of a file. */
static const struct {
    const char *draft;
    const char *file;
    const char *group; /* NULL is all */
    const char *reason;
} unclaimed[] = {
        {"draft7", "content.json", NULL, "content keywords are annotations"},
        {"*", "format/hostname.json", "validation of A-label (punycode) host names",
         "what an A-label (xn--) stands for is not looked at"},
        {"*", "format/idn-email.json", NULL, "the format is not asserted"},
        {"*", "format/idn-hostname.json", NULL, "the format is not asserted"},
};

struct counts {
    unsigned passed;
    unsigned total;
};

struct suite {
    const char *root;
    const char *draft;
    bool verbose;
    yyjson_doc *remotes[REMOTES_MAX];
    const char *remote_uris[REMOTES_MAX];
    size_t remote_count;
    struct counts required, optional;
    unsigned failed; /* disagreements on what is claimed */
};

static bool is_folder(const char *path) {
    return access(path, R_OK | X_OK) == 0;
}

static yyjson_doc *read_document(const char *path) {
    yyjson_doc *doc = yyjson_read_file(path, 0, NULL, NULL);
    if (doc == NULL) {
        (void)fprintf(stderr, "cannot read %s\n", path);
        exit(1);
    }
    return doc;
}

/* Documents under remotes/ are read when somebody asks for them, and kept to the end. */
static yyjson_val *find_remote(void *user, const char *uri) {
    struct suite *suite = user;
    for (size_t i = 0; i < suite->remote_count; i++) {
        if (strcmp(suite->remote_uris[i], uri) == 0) {
            return yyjson_doc_get_root(suite->remotes[i]);
        }
    }
    size_t prefix = strlen(REMOTE_PREFIX);
    char path[PATH_ROOM];
    if (strncmp(uri, REMOTE_PREFIX, prefix) != 0 || suite->remote_count == REMOTES_MAX) {
        return NULL;
    }
    (void)snprintf(path, sizeof path, "%s/remotes/%s", suite->root, uri + prefix);
    if (access(path, R_OK) != 0) {
        return NULL;
    }
    suite->remotes[suite->remote_count] = read_document(path);
    suite->remote_uris[suite->remote_count] = strdup(uri);
    return yyjson_doc_get_root(suite->remotes[suite->remote_count++]);
}

static bool is_claimed(const struct suite *suite, const char *file, yyjson_val *group) {
    size_t prefix = strlen("optional/");
    for (size_t i = 0; i < ARRAY_LENGTH(unclaimed); i++) {
        const char *draft = unclaimed[i].draft;
        const char *name = unclaimed[i].group;
        bool same_draft = strcmp(draft, "*") == 0 || strcmp(draft, suite->draft) == 0;
        bool same_file = strncmp(file, "optional/", prefix) == 0 &&
                         strcmp(unclaimed[i].file, file + prefix) == 0;
        if (same_draft && same_file &&
            (name == NULL || yyjson_equals_str(yyjson_obj_get(group, "description"), name))) {
            return false;
        }
    }
    return true;
}

static void report(const struct suite *suite, const char *file, yyjson_val *group, yyjson_val *test,
                   const char *what) {
    (void)printf("# %s/%s: %s / %s: %s\n", suite->draft, file,
                 yyjson_get_str(yyjson_obj_get(group, "description")),
                 test == NULL ? "-" : yyjson_get_str(yyjson_obj_get(test, "description")), what);
}

static bool run_test(const struct schema *schema, yyjson_val *test, char *what, size_t room) {
    struct schema_failure failure = {0};
    bool expected = yyjson_get_bool(yyjson_obj_get(test, "valid"));
    yyjson_val *data = yyjson_obj_get(test, "data");
    bool valid = schema_validate(schema, data, &failure);
    (void)snprintf(what, room, valid ? "was accepted" : "%s: %s", failure.field, failure.reason);
    /* Asking without wanting a reason must give the same answer. */
    return valid == expected && schema_validate(schema, data, NULL) == valid;
}

static void run_group(struct suite *suite, const char *file, yyjson_val *group,
                      struct counts *counts) {
    bool claimed = is_claimed(suite, file, group);
    /* The optional tests speak of formats as assertions, the required ones as annotations. */
    bool format = strncmp(file, "optional/", strlen("optional/")) == 0;
    struct schema_options options = {
            .dialect = strcmp(suite->draft, "draft7") == 0 ? SCHEMA_DRAFT_7 : SCHEMA_2020_12,
            .assert_format = format,
            .lookup = find_remote,
            .lookup_user = suite};
    struct schema *schema = NULL;
    struct toolrack_error err = {0};
    int code = schema_compile(yyjson_obj_get(group, "schema"), &options, &schema, &err);
    size_t i = 0;
    size_t count = 0;
    yyjson_val *test = NULL;
    yyjson_arr_foreach (yyjson_obj_get(group, "tests"), i, count, test) {
        char what[2048];
        (void)snprintf(what, sizeof what, "not compiled: %s", err.message);
        bool passed = code == 0 && run_test(schema, test, what, sizeof what);
        counts->total++;
        counts->passed += passed;
        if (!passed && (claimed || suite->verbose)) {
            report(suite, file, group, test, what);
        }
        suite->failed += !passed && claimed;
    }
    schema_destroy(schema);
}

static void run_file(struct suite *suite, const char *path, const char *file) {
    bool optional = strncmp(file, "optional/", strlen("optional/")) == 0;
    struct counts counts = {0};
    yyjson_doc *doc = read_document(path);
    size_t i = 0;
    size_t count = 0;
    yyjson_val *group = NULL;
    yyjson_arr_foreach (yyjson_doc_get_root(doc), i, count, group) {
        run_group(suite, file, group, &counts);
    }
    yyjson_doc_free(doc);
    struct counts *sum = optional ? &suite->optional : &suite->required;
    sum->passed += counts.passed;
    sum->total += counts.total;
    if (optional && suite->verbose) {
        (void)printf("# %s/%s: %u/%u\n", suite->draft, file, counts.passed, counts.total);
    }
}

static void run_folder(struct suite *suite, const char *path, const char *inside) {
    struct dirent **entries = NULL;
    int count = scandir(path, &entries, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        const char *name = entries[i]->d_name;
        size_t length = strlen(name);
        char below[PATH_ROOM];
        char file[PATH_ROOM];
        (void)snprintf(below, sizeof below, "%s/%s", path, name);
        (void)snprintf(file, sizeof file, "%s%s", inside, name);
        if (length > 5 && strcmp(name + length - 5, ".json") == 0) {
            run_file(suite, below, file);
        } else if (name[0] != '.') {
            strcat(file, "/");
            run_folder(suite, below, file);
        }
        free(entries[i]);
    }
    free(entries);
}

static unsigned run_draft(const char *root, const char *draft, unsigned number, bool verbose) {
    char path[PATH_ROOM];
    (void)snprintf(path, sizeof path, "%s/tests/%s", root, draft);
    if (!is_folder(path)) {
        (void)printf("ok %u - %s # SKIP not in %s\n", number, draft, root);
        return 0;
    }
    struct suite suite = {.root = root, .draft = draft, .verbose = verbose};
    run_folder(&suite, path, "");
    (void)printf(
            "%s %u - %s: required %u/%u, optional %u/%u, %u disagreements on what is claimed\n",
            suite.failed == 0 ? "ok" : "not ok", number, draft, suite.required.passed,
            suite.required.total, suite.optional.passed, suite.optional.total, suite.failed);
    for (size_t i = 0; i < suite.remote_count; i++) {
        yyjson_doc_free(suite.remotes[i]);
        free((void *)(uintptr_t)suite.remote_uris[i]);
    }
    return suite.failed;
}

static bool has_tests(const char *root) {
    char tests[PATH_ROOM];
    (void)snprintf(tests, sizeof tests, "%s/tests", root);
    return is_folder(tests);
}

/* The folder named by the environment, then those on the command line. */
static const char *find_suite(int argc, char **argv, int first) {
    const char *named = getenv("JSON_SCHEMA_TEST_SUITE");
    if (named != NULL) {
        if (!has_tests(named)) { /* whoever names one wants it to run */
            (void)fprintf(stderr, "JSON_SCHEMA_TEST_SUITE: there is no %s/tests\n", named);
            exit(1);
        }
        return named;
    }
    for (int i = first; i < argc; i++) {
        if (has_tests(argv[i])) {
            return argv[i];
        }
    }
    return NULL;
}

int main(int argc, char **argv) {
    bool verbose = argc > 1 && strcmp(argv[1], "-v") == 0;
    const char *root = find_suite(argc, argv, 1 + verbose);
    if (root == NULL) {
        (void)puts(
                "1..0 # SKIP no JSON-Schema-Test-Suite; set JSON_SCHEMA_TEST_SUITE to its folder");
        return 0;
    }
    (void)puts("1..2");
    unsigned failed = run_draft(root, "draft2020-12", 1, verbose);
    failed += run_draft(root, "draft7", 2, verbose);
    return failed == 0 ? 0 : 1;
}
