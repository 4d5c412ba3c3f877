/* Fault: writes a crash report of its own, which names files of others, and then crashes without
 * the worker's handler. */
#include <signal.h>
#include <stdio.h>

#include "channel.h"
#include "worker/crash.h"
#include "zoo.h"

static void forge(struct crash_record *record) {
    static const char *const named[] = {"/etc/shadow", "/proc/self/mem", "/dev/zero", "../../x.so"};
    memset(record, 0xff, sizeof *record);
    record->signal = SIGSEGV;
    record->code = 1;
    record->overflow = 0;
    record->address = UINT64_C(0xfeedfacecafe);
    record->memory_bytes = 0;
    record->frame_count = CRASH_WALK_MAX;
    record->module_count = CRASH_MODULES_MAX;
    for (uint32_t i = 0; i < CRASH_MODULES_MAX; i++) {
        (void)snprintf(record->modules[i], sizeof record->modules[i], "%s", named[i % 4]);
    }
    for (uint32_t i = 0; i < CRASH_FRAMES_MAX; i++) {
        record->frames[i] = (struct crash_frame){.offset = UINT64_MAX - i, .module = i % 16};
    }
    record->magic = CRASH_MAGIC;
}

static tr_status zoo_forged_crash(struct tr_call *call) {
    char *memory = zoo_find_channel(call);
    if (memory != NULL) {
        forge((struct crash_record *)(void *)(memory + ZOO_CRASH_AT));
    }
    (void)signal(SIGSEGV, SIG_DFL);
    (void)raise(SIGSEGV);
    return zoo_survived(call);
}
ZOO_FAULT(zoo_forged_crash)
ZOO_PLUGIN(zoo_forged_crash)
