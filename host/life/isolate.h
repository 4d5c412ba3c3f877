/* isolate.h - a generation that runs in workers: its crew, and what happens to the crew.
 *
 * One supervisor, started with the first crew, watches the workers of all crews. What it reports
 * (started, refused, crashed, crashed too often) becomes the state of the plugin, a crash bundle in
 * the store, a quarantine, and an event for the app. */
#pragma once

#include "base/lock.h"
#include "life/options.h"
#include "registry/plugin.h"

struct generation;
struct life;
struct retirement;
struct staging;
struct supervisor;
struct supervisor_counts;

struct isolate {
    const struct life_options *options;
    struct staging *staging;

    /* A generation gets no more calls, and its last worker has ended. [supervisor] */
    void (*gone)(struct retirement *retirement, struct generation *generation);
    struct retirement *retirement;
    void (*failed)(struct life *life, struct plugin *plugin); /* a worker could not load it */
    /* A worker crashed. [supervisor] */
    void (*crashed)(struct life *life, struct generation *generation, const char *reason);
    struct life *life;

    struct lock lock; /* guards what follows; held while a crew is made */
    struct supervisor *supervisor;
    bool is_ended;
};

/** The caller sets the members before the lock. */
void isolate_init(struct isolate *isolate);
void isolate_finish(struct isolate *isolate);

/** Make plugin->crew. @return 0; the codes of supervisor_create() and crew_create(). Caller holds
 * plugin->lock. */
int isolate_plugin(struct isolate *isolate, struct plugin *plugin, struct toolrack_error *err);

/** The copy of a plugin's file will be made, and then a worker be started, if it is the host's first
 * one: begin with the program of workers. Nothing happens if that fails: isolate_plugin() tells.
 * [any-thread] */
void isolate_prepare(struct isolate *isolate, const struct generation *generation);

/** As life_count_workers(). [any-thread] */
void isolate_count(struct isolate *isolate, struct supervisor_counts *ret);

/** Before its first call, set the state of a plugin that an earlier process put in quarantine. The
 * copy of the file shows whether it still has the content that crashed. [any-thread] */
void isolate_recall(struct isolate *isolate, struct plugin *plugin);

/** Whether no plugin has had a worker. [any-thread] */
bool isolate_is_unused(struct isolate *isolate);

/** Make all calls that workers run or that wait for one end early. [any-thread] */
void isolate_interrupt(struct isolate *isolate);

/** End all workers, and all generations that had workers. No call is running, but those of threads
 * that were left behind. */
void isolate_end(struct isolate *isolate);
