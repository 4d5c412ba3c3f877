#include <stdlib.h>

int private_answer(void);
int private_copy(int number);

/* Fault: trusts that there is memory. */
int private_copy(int number) {
    int *copy = malloc(sizeof *copy);
    *(volatile int *)copy = number;
    number = *(volatile int *)copy;
    free(copy);
    return number;
}

#ifdef BLOCK /* more than the loader has left for what is loaded later */
static _Thread_local volatile char block[1 << 20] __attribute__((tls_model("initial-exec")));

int private_answer(void) {
    return block[42];
}
#else
int private_answer(void) {
    return 42;
}
#endif
