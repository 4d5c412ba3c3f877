/* The library that missing_library.c is linked with, and that nobody will find by that name. */
int toolrack_missing(void);

int toolrack_missing(void) {
    return 42;
}
