/* The system call filters that were made while toolrack was built. Each is compared with what
 * libseccomp makes now of the same list, arranged in another way: for all calls and for all values
 * of their arguments between which one of both filters distinguishes, both say the same. */
#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <seccomp.h>

#include "base/cleanup.h"
#include "worker/filter-make.h"
#include "worker/sandbox-kernel.h"
#include "worker/sandbox.h"

/* ------------------------------------------------------------- a filter in action */

struct program {
    const struct sock_filter *code;
    size_t count;
};

/* What the kernel does with the instructions that libseccomp uses; any other is a failure. */
static uint32_t judge(const struct program *program, const struct seccomp_data *call) {
    uint32_t accumulator = 0;
    for (size_t i = 0; i < program->count; i++) {
        const struct sock_filter *at = &program->code[i];
        switch (at->code) {
        case BPF_LD | BPF_W | BPF_ABS:
            assert_true(at->k % 4 == 0 && at->k + 4 <= sizeof *call);
            memcpy(&accumulator, (const char *)call + at->k, 4);
            break;
        case BPF_ALU | BPF_AND | BPF_K: accumulator &= at->k; break;
        case BPF_JMP | BPF_JEQ | BPF_K: i += accumulator == at->k ? at->jt : at->jf; break;
        case BPF_JMP | BPF_JGT | BPF_K: i += accumulator > at->k ? at->jt : at->jf; break;
        case BPF_JMP | BPF_JGE | BPF_K: i += accumulator >= at->k ? at->jt : at->jf; break;
        case BPF_JMP | BPF_JA: i += at->k; break;
        case BPF_RET | BPF_K: return at->k;
        default: fail_msg("instruction %zu is 0x%x", i, at->code);
        }
    }
    fail_msg("a filter has no end");
    return 0;
}

/* ------------------------------------------------------------ values of arguments */

#define VALUES_MAX    400
#define ARGUMENTS_MAX 6

/* What is tried for an argument: numbers that the filters compare with, and their neighbours. */
struct values {
    uint64_t list[VALUES_MAX];
    size_t count;
};

static void add_value(struct values *values, uint64_t value) {
    for (size_t i = 0; i < values->count; i++) {
        if (values->list[i] == value) {
            return;
        }
    }
    assert_true(values->count < VALUES_MAX);
    values->list[values->count++] = value;
}

/* A comparison of one half of an argument: equal, each compared bit another, one that is not
 * compared set, and the other half too. */
static void add_comparison(struct values *values, bool is_high, uint32_t mask, uint32_t number) {
    unsigned shift = is_high ? 32 : 0;
    uint64_t other = is_high ? UINT32_MAX : UINT64_C(0xffffffff00000000);
    add_value(values, (uint64_t)number << shift);
    add_value(values, ((uint64_t)number << shift) | other);
    add_value(values, (uint64_t)(number | ~mask) << shift);
    for (unsigned bit = 0; bit < 32; bit++) {
        if (mask != UINT32_MAX && (mask >> bit & 1) != 0) {
            add_value(values, (uint64_t)(number ^ (UINT32_C(1) << bit)) << shift);
        }
    }
}

/* Follow all ways that a call can take, and add what is compared on them: `loaded` is the word of
 * the call's data that is in the accumulator, of which the bits of `mask` are left. */
static void explore(const struct program *program, size_t i, uint32_t nr, uint32_t loaded,
                    uint32_t mask, struct values *values) {
    for (;;) {
        const struct sock_filter *at = &program->code[i];
        bool is_argument = loaded >= offsetof(struct seccomp_data, args);
        uint32_t known = loaded == offsetof(struct seccomp_data, nr) ? nr : seccomp_arch_native();
        size_t next = i + 1;
        switch (at->code) {
        case BPF_LD | BPF_W | BPF_ABS:
            loaded = at->k;
            mask = UINT32_MAX;
            break;
        case BPF_ALU | BPF_AND | BPF_K: mask &= at->k; break;
        case BPF_JMP | BPF_JA: next += at->k; break;
        case BPF_RET | BPF_K: return;
        default: {
            bool holds = at->code == (BPF_JMP | BPF_JEQ | BPF_K)   ? known == at->k
                         : at->code == (BPF_JMP | BPF_JGT | BPF_K) ? known > at->k
                                                                   : known >= at->k;
            if (is_argument) {
                uint32_t place = loaded - (uint32_t)offsetof(struct seccomp_data, args);
                bool is_high = (place % 8 == 4) == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
                assert_int_equal(at->code, BPF_JMP | BPF_JEQ | BPF_K);
                add_comparison(&values[place / 8], is_high, mask, at->k);
                explore(program, next + at->jt, nr, loaded, mask, values);
                next += at->jf;
            } else {
                next += holds ? at->jt : at->jf;
            }
        }
        }
        i = next;
    }
}

/* ----------------------------------------------------------------------- compare */

static unsigned long compared;

/* Both say the same of a call, for all that is tried for its arguments from `argument` on. */
static void compare(const struct program *made, const struct program *other,
                    struct seccomp_data *call, unsigned argument, const struct values *values) {
    if (argument == ARGUMENTS_MAX) {
        uint32_t one = judge(made, call);
        uint32_t two = judge(other, call);
        if (one != two) {
            fail_msg("call %d (0x%llx, 0x%llx, 0x%llx): 0x%x, not 0x%x", call->nr,
                     (unsigned long long)call->args[0], (unsigned long long)call->args[1],
                     (unsigned long long)call->args[2], one, two);
        }
        compared++;
        return;
    }
    for (size_t i = 0; i < values[argument].count; i++) {
        call->args[argument] = values[argument].list[i];
        compare(made, other, call, argument + 1, values);
    }
}

static void compare_call(const struct program *made, const struct program *other, uint32_t arch,
                         uint32_t nr) {
    struct values values[ARGUMENTS_MAX] = {0};
    struct seccomp_data call = {.nr = (int)nr, .arch = arch, .instruction_pointer = 0x1000};
    for (size_t i = 0; i < ARGUMENTS_MAX; i++) {
        add_value(&values[i], 0);
    }
    if (arch == seccomp_arch_native()) {
        explore(made, 0, nr, 0, UINT32_MAX, values);
        explore(other, 0, nr, 0, UINT32_MAX, values);
    }
    compare(made, other, &call, 0, values);
}

/* The filter of a policy with these grants, as a host finds it. */
static struct program find(unsigned grants) {
    const struct sandbox_policy policy = {.network = (grants & FILTER_TCP) != 0,
                                          .udp = (grants & FILTER_UDP) != 0,
                                          .spawn = (grants & FILTER_SPAWN) != 0,
                                          .write_path_count = (grants & FILTER_FILES) != 0};
    size_t size;
    const void *code = sandbox_filter(&policy, &size);
    assert_int_equal(size % sizeof(struct sock_filter), 0);
    return (struct program){.code = code, .count = size / sizeof(struct sock_filter)};
}

/* More than the newest call has. */
#define CALLS 600u
#define X32   0x40000000u

static void compare_all(unsigned grants, const struct program *made) {
    static struct sock_filter other_code[BPF_MAXINSNS + 1];
    struct program other = {.code = other_code};
    const char *what = NULL;
    assert_int_equal(
            filter_make(grants, FILTER_LIST, other_code, BPF_MAXINSNS + 1, &other.count, &what), 0);
    assert_true(made->count <= BPF_MAXINSNS);
    for (uint32_t nr = 0; nr < CALLS; nr++) {
        compare_call(made, &other, seccomp_arch_native(), nr);
        compare_call(made, &other, seccomp_arch_native(), nr | X32);
        compare_call(made, &other, AUDIT_ARCH_I386, nr);
    }
}

static void test_same_verdicts(void **state) {
    (void)state;
    for (unsigned grants = 0; grants < FILTER_COUNT; grants++) {
        const struct program made = {
                .code = filter_instructions + filter_begins[grants],
                .count = filter_begins[grants + 1] - filter_begins[grants],
        };
        compare_all(grants, &made);
    }
    print_message("# compared %lu calls\n", compared);
    assert_true(compared > FILTER_COUNT * 3ul * CALLS);
}

/* Grants find the filter that is theirs, of those that this kernel's Landlock leaves. */
static void test_found(void **state) {
    (void)state;
    unsigned truncate = sandbox_landlock_version() >= 3 ? FILTER_TRUNCATE : 0u;
    for (unsigned grants = 0; grants < FILTER_TRUNCATE; grants++) {
        const struct program found = find(grants);
        assert_ptr_equal(found.code, filter_instructions + filter_begins[grants | truncate]);
        compare_all(grants | truncate, &found);
    }
}

/* Some verdicts by hand: the comparison would not notice a list that is empty. */
static void test_verdicts(void **state) {
    (void)state;
    static const struct {
        unsigned grants;
        const char *name;
        uint64_t first;
        uint32_t verdict;
    } rows[] = {
            {0, "read", 0, SECCOMP_RET_ALLOW},
            {0, "execve", 0, SECCOMP_RET_ERRNO | EPERM},
            {FILTER_SPAWN, "execve", 0, SECCOMP_RET_ALLOW},
            {0, "socket", 1, SECCOMP_RET_ERRNO | EACCES},
            {FILTER_TCP, "connect", 0, SECCOMP_RET_ALLOW},
            {0, "connect", 0, SECCOMP_RET_ERRNO | EPERM},
            {0, "clone3", 0, SECCOMP_RET_ERRNO | ENOSYS},
            {0, "truncate", 0, SECCOMP_RET_ERRNO | EPERM},
            {FILTER_TRUNCATE, "truncate", 0, SECCOMP_RET_ALLOW},
            {0, "kill", SANDBOX_FILTER_SELF, SECCOMP_RET_ALLOW},
            {0, "kill", 1, SECCOMP_RET_ERRNO | EPERM},
            {0, "memfd_create", 0, SECCOMP_RET_ERRNO | EPERM},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        const struct program made = {
                .code = filter_instructions + filter_begins[rows[i].grants],
                .count = filter_begins[rows[i].grants + 1] - filter_begins[rows[i].grants],
        };
        const struct seccomp_data call = {.nr = seccomp_syscall_resolve_name(rows[i].name),
                                          .arch = seccomp_arch_native(),
                                          .args = {rows[i].first}};
        assert_int_equal(judge(&made, &call), rows[i].verdict);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_same_verdicts),
            cmocka_unit_test(test_found),
            cmocka_unit_test(test_verdicts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
