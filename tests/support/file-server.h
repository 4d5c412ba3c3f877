/* file-server.h - a web server of a folder, for tests: on a free port of this machine, as a thread.
 *
 * GET PATH has the file of that path below the folder; "/loop/..." redirects to itself, "/to/PATH"
 * to /PATH, and "/file/PATH" to a file: URL; "/gzip/PATH" has the file as it is, and says that it
 * is compressed; "/cut/PATH" says that it is longer than it is, and "/short/PATH" that it is of one
 * byte. "/endless/" sends for as long as somebody reads, "/headers/" likewise in its head, and
 * "/silent/" a byte alone; "/other/" answers as a server of another protocol. A file raw/PATH below
 * the folder, where PATH may have a query, is a whole answer for /PATH, with its head. Not for
 * product code: it trusts who asks. */
#pragma once

struct file_server;

/** Serve a folder; NULL: a socket or thread cannot be had. */
struct file_server *file_server_start(const char *folder);
void file_server_stop(struct file_server *server);

unsigned file_server_port(const struct file_server *server);
