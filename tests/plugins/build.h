/* build.h - the numbers that build.c is built with, or that a test writes into its file. */
#pragma once

/* The digits behind this mark are the number. */
#define BUILD_MARK   "build number "
#define BUILD_DIGITS 6

/* Numbers that are faults. */
enum build_fault {
    BUILD_EXAMPLE_WRONG = 900001,
    BUILD_EXAMPLE_CRASHES,
    BUILD_EXAMPLE_HANGS,
    BUILD_OPEN_FAILS,
    BUILD_OPEN_DIES,
    BUILD_OPEN_HANGS
};
