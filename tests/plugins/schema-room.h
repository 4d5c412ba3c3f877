/* schema-room.h - where the schema of schema-room.c is in its file. */
#pragma once

/* The schema that it is built with; spaces follow. */
#define SCHEMA_ROOM_MARK "{\"type\":\"object\",\"$comment\":\"room for another\"}"
/* So many bytes a schema may have, without the zero. */
#define SCHEMA_ROOM      32768u
