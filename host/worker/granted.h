/* granted.h - the paths of a policy as its plugin is told them (toolrack/ext/paths.h). */
#pragma once

#include "base/arena.h"
#include "plugin/image-host.h"
#include "worker/sandbox.h"

/** The granted paths, those to write first and each once, ended by one without a path; in the
 * arena, the strings borrowed from the policy. NULL when out of memory. [any-thread] */
const struct image_path *granted_paths(const struct sandbox_policy *policy, struct arena *arena);
