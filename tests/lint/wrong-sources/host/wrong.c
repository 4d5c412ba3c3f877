static void tell(const struct log *log, bool is_read) {
    log_line(log, LOG_ERROR, "store", "this one is listed");
    log_line(log, LOG_WARNING, "strange", "this one is not");
    log_line(log, is_read ? LOG_DEBUG : LOG_INFO, is_read ? "other" : "store", "nor is this");
}
