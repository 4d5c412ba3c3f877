/* receive.h - a request that has come. */
#pragma once

#include <stdbool.h>

struct rest_request;
struct front_request;

/** Whether query and body are as the route says; if not, it is answered. */
bool rest_request_check(struct rest_request *request, const struct front_request *from);
