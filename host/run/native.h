/* native.h - the call of a function of an installed library that is not called plainly.
 *
 * Such a function (plugin/foreign.h) takes pointers to room for what it writes, lengths beside
 * buffers and constants, and says by its result whether it failed. The tool that a caller sees has
 * parameters and a result without these. So there are two signatures: that of the tool, from which
 * the arguments and the result of JSON are made, and that of the C function.
 *
 * What the function writes lies before a page that nobody may touch: a function that writes more
 * than the definition says ends its worker there, in place of a wrong result. */
#pragma once

#include "plugin/foreign.h"
#include "run/run.h"

/** Immutable: any number of threads may use it at once. */
struct native;

/** Prepare the calls of a function.
 *
 * @param foreign   not plain; borrowed, as all that it points to
 * @param tool      that foreign_describe() made of it; borrowed
 * @param function  its function
 * @return 0 with *ret; TOOLRACK_E_REFUSED for a function to release or to explain that the library
 *         does not have, or for types as signature_create() says; TOOLRACK_E_NO_MEMORY. [worker] */
int native_create(const struct foreign *foreign, const struct tr_tool *tool, void (*function)(void),
                  struct native **ret, struct toolrack_error *err);

/** Release it; NULL is ignored. [worker] */
void native_destroy(struct native *native);

/** Run the function with the checked arguments in run->arguments, and append its result to `out` as
 * run_typed_tool() does.
 * @return 0; TOOLRACK_E_EXECUTION_FAILED if the function says that it failed, or that it wrote more
 *         than there was room; otherwise as signature_bind() and signature_write_result().
 *         [call-thread] */
int native_run(const struct native *native, struct run *run, struct buf *out,
               struct toolrack_error *err);
