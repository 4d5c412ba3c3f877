/* placeholder until the first module lands */
typedef int core_is_empty;
