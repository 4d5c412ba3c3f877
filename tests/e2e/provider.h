/* provider.h - the fake provider (tests/provider) while a test looks at the agent.
 *
 * One for all tests of a program, for node takes long to start. It ends when its standard input
 * does, so it cannot outlive that program. */
#pragma once

#include <stddef.h>
#include <yyjson.h>

/* The key that is in the environment, in the variables of all formats. */
#define KEY "sk-e2e-0123456789-secret"

/** Its address. */
extern char endpoint[64];

/** For cmocka: of a group, and of a test, which begins without requests and in an empty folder. */
int start_provider(void **state);
int stop_provider(void **state);
int set_up(void **state);

/** Skip the test where there is no node. */
void need_provider(void);

/** Put another key into the environment. */
void set_keys(const char *key);

/** What it was sent in this test; release with yyjson_doc_free(). */
yyjson_doc *requests(void);
size_t request_count(void);
void forget_requests(void);

/** Fail unless the values at these pointers into the requests are so: pairs, up to NULL. */
void expect_requests(const char *file, int line, const char *const *pairs);
#define EXPECT_REQUESTS(...) expect_requests(__FILE__, __LINE__, ARGS(__VA_ARGS__))
