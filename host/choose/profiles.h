/* profiles.h - the profiles of the tools that were candidates lately.
 *
 * Reading a tool takes longer than comparing it with a text, and many texts have the same
 * candidates. The memory is bounded: the profiles that were not asked for the longest go first. */
#pragma once

#include "choose/profile.h"

struct profiles;

/* Bytes of all profiles that are kept: those of about two thousand tools. */
#define PROFILES_SIZE_MAX (8u << 20)

/** NULL when out of memory.
 * @param scenes    as for profile_create(); borrowed until profiles_destroy()
 * @param size_max  bytes of all profiles that are kept. [any-thread] */
struct profiles *profiles_create(const struct scenes *scenes, size_t size_max);
/** NULL is ignored. [any-thread] */
void profiles_destroy(struct profiles *profiles);

/** The profile of the registration with a uid, read from its texts if it is not kept. No thread
 * waits while another one reads a tool.
 * @param texts  borrowed during the call
 * @param ret    a reference
 * @return 0; TOOLRACK_E_NO_MEMORY. [any-thread] */
int profiles_get(struct profiles *profiles, uint64_t uid, const struct index_document *texts,
                 struct profile **ret, struct toolrack_error *err);

/** A registration is gone: its profile is no longer kept. [any-thread] */
void profiles_forget(struct profiles *profiles, uint64_t uid);

/** How many are kept, and their bytes. [any-thread] */
void profiles_measure(struct profiles *profiles, size_t *ret_count, size_t *ret_bytes);
