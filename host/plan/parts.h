/* parts.h - what the files of a plan share. */
#pragma once

/** The JSON Schema of plans, as it is installed. */
extern const char plan_schema[];
