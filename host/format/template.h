/* template.h - URI templates (RFC 6570): which URIs one stands for. */
#pragma once

#include <stdbool.h>

/* Most expressions of a template that stands for anything. */
#define TEMPLATE_EXPRESSIONS_MAX 16u

/** Whether a URI may come of a template: for {name} stands what has no '/', '?' and '#', for
 * {+name} and {#name} anything, and for {/name}, {?name} and their like what begins with their
 * character, or nothing. A pure function whose time is bounded by the product of the lengths. */
bool template_matches(const char *template, const char *uri);
