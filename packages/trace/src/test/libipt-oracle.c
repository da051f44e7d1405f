/*
 * The instructions that libipt finds in a trace: `libipt-oracle TRACE [FILE OFFSET SIZE ADDRESS]...` prints one line of JSON.
 * Compiled by libipt-oracle.ts where gcc and libipt are there.
 */
#include <intel-pt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned char *read_file(const char *path, size_t *size)
{
	FILE *file = fopen(path, "rb");
	if (!file || fseek(file, 0, SEEK_END))
		exit(2);
	long end = ftell(file);
	unsigned char *bytes = malloc(end > 0 ? end : 1);
	rewind(file);
	if (end < 0 || !bytes || fread(bytes, 1, end, file) != (size_t) end)
		exit(2);
	fclose(file);
	*size = end;
	return bytes;
}

int main(int argc, char **argv)
{
	struct pt_config config;
	size_t size = 0;
	if (argc < 2)
		return 2;
	unsigned char *trace = read_file(argv[1], &size);
	pt_config_init(&config);
	config.begin = trace;
	config.end = trace + size;
	config.mtc_freq = 3;
	config.nom_freq = 21;
	config.cpuid_0x15_eax = 1;
	config.cpuid_0x15_ebx = 84;

	struct pt_image *image = pt_image_alloc(NULL);
	for (int at = 2; at + 3 < argc; at += 4)
		if (pt_image_add_file(image, argv[at], strtoull(argv[at + 1], NULL, 0), strtoull(argv[at + 2], NULL, 0),
				      NULL, strtoull(argv[at + 3], NULL, 0)) < 0)
			return 3;
	struct pt_insn_decoder *decoder = pt_insn_alloc_decoder(&config);
	if (!decoder || pt_insn_set_image(decoder, image) < 0)
		return 4;

	unsigned long long instructions = 0, errors = 0, first_error = 0, overflows = 0, last_tsc = 0;
	int first_code = 0;
	unsigned int hash = 0x811c9dc5u;
	int status = pt_insn_sync_forward(decoder);
	while (status >= 0) {
		while (status >= 0) {
			struct pt_insn insn;
			while (status & pts_event_pending) {
				struct pt_event event;
				status = pt_insn_event(decoder, &event, sizeof(event));
				if (status < 0)
					break;
				if (event.type == ptev_overflow)
					overflows++;
			}
			if (status < 0 || (status & pts_eos))
				break;
			memset(&insn, 0, sizeof(insn));
			status = pt_insn_next(decoder, &insn, sizeof(insn));
			if (insn.iclass != ptic_error) {
				instructions++;
				hash = (hash ^ (unsigned int) insn.ip) * 0x01000193u;
				hash = (hash ^ (unsigned int) (insn.ip >> 32)) * 0x01000193u;
			}
		}
		uint64_t tsc = 0;
		if (pt_insn_time(decoder, &tsc, NULL, NULL) >= 0)
			last_tsc = tsc;
		if (status >= 0 || status == -pte_eos)
			break;
		uint64_t offset = 0;
		pt_insn_get_offset(decoder, &offset);
		if (errors++ == 0) {
			first_error = offset;
			first_code = -status;
		}
		status = pt_insn_sync_forward(decoder);
	}
	printf("{\"instructions\":%llu,\"hash\":%u,\"errors\":%llu,\"firstError\":%llu,\"firstCode\":\"%s\",\"overflows\":%llu,\"lastTsc\":%llu}\n",
	       instructions, hash, errors, first_error, errors ? pt_errstr(first_code) : "", overflows, last_tsc);
	return 0;
}
