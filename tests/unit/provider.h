/* provider.h - a provider of models: a thread of the test that answers each request as it is told,
 * one after the other, each on a connection of its own. */
#pragma once

#include <stddef.h>

/** Answers a request.
 * @param body  of the request, zero-terminated; borrowed */
typedef void (*provider_answer)(int fd, const char *body);

/** Begin. @return its port; 0: it cannot */
unsigned short provider_start(void);
void provider_stop(void);

/** How it answers from now on; NULL: never, it waits until the client gives up. */
void provider_set(provider_answer answer);

/** An answer that is none before provider_release(), and then breaks off. */
void provider_hold(int fd, const char *body);
/** From now on nothing is held. */
void provider_release(void);

/** How many requests there were. */
unsigned provider_asked(void);
/** The last one, with its head; valid until the next one. */
const char *provider_request(void);

/** Write a response with this status ("200 OK") and head lines, each with its end. */
void provider_write(int fd, const char *status, const char *lines, const char *body, size_t length);
