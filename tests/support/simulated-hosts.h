/* simulated-hosts.h - many hosts of a group that are no hosts: one connection to a NATS server that
 * announces, answers probes and sends pages of tools as so many hosts do, signed by one key. */
#pragma once

#include <stdbool.h>

struct simulation;

/** Each host N has the tools sim_N_0, sim_N_1 ...; all announce themselves at each beat.
 * NULL: what is wrong was printed. */
struct simulation *simulation_start(const char *url, const char *group, unsigned hosts,
                                    unsigned tools, unsigned beat_ms);
/** A host has its first tool no more, or has it again; it is announced at once. */
void simulation_toggle(struct simulation *simulation, unsigned host);
/** A host says that it leaves. */
void simulation_leave(struct simulation *simulation, unsigned host);
/** A host is silent from now on, and nobody answers at its subjects. */
void simulation_kill(struct simulation *simulation, unsigned host);
/** How many pages were asked for. */
unsigned long simulation_pages(struct simulation *simulation);
void simulation_stop(struct simulation *simulation);
