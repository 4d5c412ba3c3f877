/* no-symbol.c - a library, but no plugin. */
int not_a_plugin(void);
int not_a_plugin(void) {
    return 0;
}
