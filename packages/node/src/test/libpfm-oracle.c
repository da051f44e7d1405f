/*
 * What libpfm4 itself makes of the event names on standard input, one a line. For each: the name, then
 * `  perf CODE CPU BYTES` and `  raw CODE WORDS`.
 */
#include <perfmon/pfmlib_perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void) {
  char line[1024];
  setenv("LIBPFM_ENCODE_INACTIVE", "1", 1);
  if (pfm_initialize() != PFM_SUCCESS) return 1;
  while (fgets(line, sizeof line, stdin) != NULL) {
    struct perf_event_attr attr;
    pfm_perf_encode_arg_t args;
    uint64_t *codes = NULL;
    int count = 0;
    line[strcspn(line, "\n")] = 0;
    memset(&attr, 0, sizeof attr);
    memset(&args, 0, sizeof args);
    attr.size = PERF_ATTR_SIZE_VER5;
    args.attr = &attr;
    args.size = sizeof args;
    int code = pfm_get_os_event_encoding(line, PFM_PLM0 | PFM_PLM3, PFM_OS_PERF_EVENT_EXT, &args);
    printf("%s\n  perf %d", line, code);
    if (code == PFM_SUCCESS) {
      unsigned char *bytes = (unsigned char *)&attr;
      int end = PERF_ATTR_SIZE_VER5;
      attr.size = 0;
      while (end > 1 && bytes[end - 1] == 0) end--;
      printf(" %d ", args.cpu);
      for (int index = 0; index < end; index++) printf("%02x", bytes[index]);
    }
    code = pfm_get_event_encoding(line, PFM_PLM0 | PFM_PLM3, NULL, NULL, &codes, &count);
    printf("\n  raw %d", code);
    if (code == PFM_SUCCESS)
      for (int index = 0; index < count; index++) printf(" %llx", (unsigned long long)codes[index]);
    printf("\n");
  }
  return 0;
}
