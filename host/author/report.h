/* report.h - what was found, and how it is written. */
#pragma once

#include "author/inside.h"

struct author_report {
    struct session session;
};
