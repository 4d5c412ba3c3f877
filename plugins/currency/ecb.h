/* ecb.h - the exchange rates file of the European Central Bank (eurofxref-daily.xml).
 *
 * Only the XML is read. The bank publishes the same figures as CSV, but zipped and with spaces in
 * the names of the header; the XML can be downloaded as it is. */
#pragma once

#include "rates.h"

/* A daily file has about 2 KiB. */
#define ECB_FILE_SIZE_MAX (256 * 1024)

/** Longest message of ecb_read(), with its zero. */
#define ECB_MESSAGE_SIZE 256

/** Read a file into a table, which need not be initialised. On failure `message` says what is
 * wrong, without the path, and the table must not be used. */
bool ecb_read(const char *path, struct rates *rates, char message[ECB_MESSAGE_SIZE]);
