/* Fault: has a unique symbol, as g++ makes of inline variables: it is never unloaded. In assembler,
 * because clang++ makes none. */
#include "zoo.h"

__asm__(".pushsection .data\n"
        ".globl zoo_unique_number\n"
        ".type zoo_unique_number, %gnu_unique_object\n"
        ".size zoo_unique_number, 4\n"
        "zoo_unique_number: .long 42\n"
        ".popsection");
extern int zoo_unique_number;

static tr_status zoo_unique_symbol(struct tr_call *call) {
    return zoo_unique_number == 42 ? zoo_survived(call) : TR_FAILED;
}
ZOO_FAULT(zoo_unique_symbol)
ZOO_PLUGIN(zoo_unique_symbol)
