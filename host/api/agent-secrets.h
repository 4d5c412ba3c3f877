/* agent-secrets.h - what is secret of the calls that the model of a conversation makes. */
#pragma once

#include "provider/call-secrets.h"

/** Of a call, or of a node of a plan: see call_secrets_look; `user` is a struct agent_tools. The
 * tool is the one that the call runs, whatever name the model wrote for it. Where there is none,
 * anything may be secret as soon as any tool has secrets: it may be meant for that. */
bool agent_secrets_look(void *user, const char *name, enum call_secrets *ret_what,
                        yyjson_doc **ret_schema);
