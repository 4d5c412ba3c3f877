/* Two commands with a word that is not quoted; the rest is good. */
void wrong(const char *name) {
    say("approve it: toolrack "
        "grant %s",
        name);
    say("'toolrack default %s --reset'", name);
    say("'toolrack list --all' shows %s", name);
    say("'toolrack help %s' describes it", name);
    say("usage: toolrack call %s", name);
    say("approve it: %s", COMMAND("grant", name));
}
