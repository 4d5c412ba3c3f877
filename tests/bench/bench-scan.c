/* What a scan of a thousand plugins costs, beside what it cannot do without.
 *
 * A plugin whose names contain "bench_0000" is copied a thousand times, with other
 * digits, into a temporary folder. Every round runs in a child of its own, so
 * that nothing is left of the one before; the value is the median. */
#include <elf.h>
#include <sys/wait.h>
#include <time.h>

#include "base/clock.h"
#include "files/scan.h"
#include "plugins.h"

#define ROUNDS 21

static char cache_path[128];

/* ----------------------------------------------------------------- floors */

/* The file offset of an address, or 0. */
static size_t offset_of(const Elf64_Ehdr *header, uint64_t address) {
    const Elf64_Phdr *segments = (const void *)((const char *)header + header->e_phoff);
    for (size_t i = 0; i < header->e_phnum; i++) {
        const Elf64_Phdr *segment = &segments[i];
        if (segment->p_type == PT_LOAD && address - segment->p_vaddr < segment->p_filesz) {
            return address - segment->p_vaddr + segment->p_offset;
        }
    }
    return 0;
}

struct dynamic {
    const Elf64_Sym *symbols;
    const char *strings;
    const Elf64_Rela *relocations;
    size_t relocation_count;
    const uint32_t *hash;
};

static void read_dynamic(const char *file, struct dynamic *ret) {
    const Elf64_Ehdr *header = (const void *)file;
    const Elf64_Phdr *segments = (const void *)(file + header->e_phoff);
    const Elf64_Dyn *at = NULL;
    for (size_t i = 0; i < header->e_phnum; i++) {
        if (segments[i].p_type == PT_DYNAMIC) {
            at = (const void *)(file + segments[i].p_offset);
        }
    }
    for (; at != NULL && at->d_tag != DT_NULL; at++) {
        const void *target = file + offset_of(header, at->d_un.d_ptr);
        switch (at->d_tag) {
        case DT_SYMTAB: ret->symbols = target; break;
        case DT_STRTAB: ret->strings = target; break;
        case DT_RELA: ret->relocations = target; break;
        case DT_RELASZ: ret->relocation_count = at->d_un.d_val / sizeof(Elf64_Rela); break;
        case DT_GNU_HASH: ret->hash = target; break;
        default: break;
        }
    }
}

static const Elf64_Sym *find_symbol(const struct dynamic *dynamic, const char *name) {
    uint32_t hash = 5381;
    for (const char *c = name; *c != '\0'; c++) {
        hash = hash * 33 + (unsigned char)*c;
    }
    uint32_t bucket_count = dynamic->hash[0];
    uint32_t first = dynamic->hash[1];
    const uint32_t *buckets = dynamic->hash + 4 + 2 * (size_t)dynamic->hash[2];
    const uint32_t *chain = buckets + bucket_count;
    uint32_t i = buckets[hash % bucket_count];
    for (; i >= first && i != 0; i++) {
        if ((chain[i - first] | 1) == (hash | 1) &&
            strcmp(dynamic->strings + dynamic->symbols[i].st_name, name) == 0) {
            return &dynamic->symbols[i];
        }
        if ((chain[i - first] & 1) != 0) {
            break;
        }
    }
    return NULL;
}

/* What a pointer at this address will lead to: the linker leaves it to a relocation. */
static const void *follow(const char *file, const struct dynamic *dynamic, uint64_t address) {
    for (size_t i = 0; i < dynamic->relocation_count; i++) {
        if (dynamic->relocations[i].r_offset == address) {
            return file + offset_of((const void *)file, (uint64_t)dynamic->relocations[i].r_addend);
        }
    }
    return NULL;
}

/* The least that a reader does: one stat() and one read(), and of the descriptor the names and the
 * first tool. */
static bool walk_one(int dir, const char *name) {
    static char file[PLUGIN_SIZE_MAX] __attribute__((aligned(64)));
    struct stat st;
    int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 || fstat(fd, &st) < 0 ? -1 : read(fd, file, sizeof file);
    (void)close(fd);
    if (size <= (ssize_t)sizeof(Elf64_Ehdr) || memcmp(file, ELFMAG, SELFMAG) != 0) {
        return false;
    }
    struct dynamic dynamic = {0};
    read_dynamic(file, &dynamic);
    const Elf64_Sym *symbol = find_symbol(&dynamic, "toolrack_plugin");
    if (symbol == NULL) {
        return false;
    }
    uint64_t plugin = symbol->st_value;
    const char *id = follow(file, &dynamic, plugin + offsetof(struct tr_plugin, id));
    const char *tools = follow(file, &dynamic, plugin + offsetof(struct tr_plugin, tools));
    if (id == NULL || tools == NULL) {
        return false;
    }
    for (size_t i = 0; i < dynamic.relocation_count; i++) {
        if (file + offset_of((const void *)file, dynamic.relocations[i].r_offset) == tools) {
            uint64_t tool = (uint64_t)dynamic.relocations[i].r_addend;
            return follow(file, &dynamic, tool + offsetof(struct tr_tool, name)) != NULL &&
                   follow(file, &dynamic, tool + offsetof(struct tr_tool, description)) != NULL;
        }
    }
    return false;
}

static size_t floor_read_walk(void) {
    return for_each_plugin(walk_one);
}

/* ------------------------------------------------------------------ scans */

static size_t run_scan(const char *cache) {
    const struct scan_folder folders[] = {{.path = folder, .trust = TRUST_COMMUNITY}};
    const struct scan_options options = {
            .folders = folders,
            .folder_count = 1,
            .cache_path = cache,
            .time_ns = ((int64_t)time(NULL) + 60) * CLOCK_NS_PER_S, /* all files have settled */
    };
    struct scan *scan;
    if (scan_run(&options, &scan, NULL) < 0) {
        die("scan");
    }
    size_t count = 0;
    for (size_t i = 0; i < scan->file_count; i++) {
        count += scan->files[i].descriptor->tool_count > 0 &&
                 scan->files[i].cached == (cache != NULL);
    }
    return count; /* the process ends here: as a server, it would keep the scan */
}

static size_t scan_cold(void) {
    return run_scan(NULL);
}

static size_t scan_cached(void) {
    return run_scan(cache_path);
}

/* ------------------------------------------------------------- measuring */

static int compare_times(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static uint64_t round_in_child(size_t (*run)(void)) {
    int ends[2];
    if (pipe(ends) < 0) {
        die("pipe");
    }
    pid_t child = fork();
    if (child == 0) {
        uint64_t start = clock_now_ns();
        size_t count = run();
        uint64_t time = clock_now_ns() - start;
        if (count != PLUGINS) {
            (void)fprintf(stderr, "bench-scan: %zu of %d plugins\n", count, PLUGINS);
            time = 0;
        }
        _exit(write(ends[1], &time, sizeof time) != sizeof time);
    }
    uint64_t time = 0;
    if (child < 0 || read(ends[0], &time, sizeof time) != sizeof time || time == 0) {
        die("child");
    }
    (void)waitpid(child, NULL, 0);
    (void)close(ends[0]);
    (void)close(ends[1]);
    return time;
}

struct row {
    const char *name;
    size_t (*run)(void);
    uint64_t times[ROUNDS];
};

static uint64_t median(const struct row *row) {
    return row->times[ROUNDS / 2];
}

int main(void) {
    make_folder(SCAN_PLUGIN);
    (void)snprintf(cache_path, sizeof cache_path, "%s/cache", folder);
    (void)atexit(remove_folder);
    (void)run_scan(cache_path); /* writes the cache */

    enum { STAT_INDEX, READ_WALK, COLD, CACHED };
    static struct row rows[] = {
            [STAT_INDEX] = {.name = "floor.stat+index", .run = floor_stat_index},
            [READ_WALK] = {.name = "floor.read+walk", .run = floor_read_walk},
            [COLD] = {.name = "scan.cold", .run = scan_cold},
            [CACHED] = {.name = "scan.cached", .run = scan_cached},
    };
    /* Round by round through all rows, so that a change of the machine's speed meets them all. */
    size_t row_count = sizeof rows / sizeof rows[0];
    for (size_t round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < row_count; i++) {
            rows[i].times[round] = round_in_child(rows[i].run);
        }
    }
    for (size_t i = 0; i < row_count; i++) {
        qsort(rows[i].times, ROUNDS, sizeof rows[i].times[0], compare_times);
        (void)printf("%s\t%.3f\tms\n", rows[i].name, (double)median(&rows[i]) / CLOCK_NS_PER_MS);
    }
    (void)printf("scan.cold / floor.read+walk\t%.2f\tx\n",
                 (double)median(&rows[COLD]) / (double)median(&rows[READ_WALK]));
    (void)printf("scan.cached / floor.stat+index\t%.2f\tx\n",
                 (double)median(&rows[CACHED]) / (double)median(&rows[STAT_INDEX]));
    struct stat st;
    if (stat(cache_path, &st) == 0) {
        (void)printf("cache file\t%lld\tbytes\n", (long long)st.st_size);
    }
    return EXIT_SUCCESS;
}
