/* zoo.h - what the fixtures of the zoo have in common.
 *
 * Each fixture is a plugin with one fault. Its tool zoo_NAME commits it; its tool zoo_NAME_ok is
 * sound and gives 42, to show that the plugin serves again. What is expected of a host stands in
 * zoo.def.
 *
 * Where nothing held a fault it could take the machine down with it. So each that multiplies is
 * bounded by a number from here: the test fails then, and nothing else does. */
#pragma once

#include <toolrack/plugin.h>

/* Most processes, threads and descriptors that a fixture makes. Far above what a worker may have.
 */
#define ZOO_PROCESSES_MAX   200
#define ZOO_THREADS_MAX     5000
#define ZOO_DESCRIPTORS_MAX 5000
/* Most memory that a fixture takes: twice what a worker may have. */
#define ZOO_MEMORY_MAX      ((size_t)2 << 30)
/* How long a process that a fixture leaves behind lives at most. */
#define ZOO_CHILD_S_MAX     20

/* A call that the compiler must not merge into its caller. */
#define ZOO_APART __attribute__((noinline))

#define ZOO_NO_ARGUMENTS "{\"type\": \"object\"}"

/** The tool with the fault: tr_status function_(struct tr_call *). */
#define ZOO_FAULT(function_) TR_JSON_TOOL(function_, "Commits its fault", ZOO_NO_ARGUMENTS)

/** The sound tool beside it, and the plugin, with options of struct tr_plugin or without. */
#define ZOO_SOUND(function_)              \
    static int32_t function_##_ok(void) { \
        return 42;                        \
    }                                     \
    TR_TOOL(function_##_ok, "Gives 42", TR_I32)
#define ZOO_PLUGIN(function_) \
    ZOO_SOUND(function_)      \
    TR_PLUGIN(#function_, "1.0.0", function_, function_##_ok)
#define ZOO_PLUGIN_WITH(function_, ...) \
    ZOO_SOUND(function_)                \
    TR_PLUGIN((#function_, __VA_ARGS__), "1.0.0", function_, function_##_ok)

/** What a tool gives that has come through its fault. */
static inline tr_status zoo_survived(struct tr_call *call) {
    return tr_reply_json(call, "42");
}
