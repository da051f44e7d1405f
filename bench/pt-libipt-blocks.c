// The peer of pt-profile.ts: libipt's block decoder over a whole trace. Prints "instructions errors".
// Usage: pt-libipt-blocks TRACE FILE:OFFSET:SIZE:ADDRESS... (hexadecimal)
#include <fcntl.h>
#include <intel-pt.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	int descriptor = open(argv[1], O_RDONLY);
	struct stat status;
	if (descriptor < 0 || fstat(descriptor, &status) != 0)
		return 2;
	uint8_t *trace = mmap(NULL, status.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
	if (trace == MAP_FAILED)
		return 2;

	struct pt_config config;
	pt_config_init(&config);
	config.begin = trace;
	config.end = trace + status.st_size;
	struct pt_block_decoder *decoder = pt_blk_alloc_decoder(&config);
	struct pt_image *image = pt_image_alloc(NULL);
	// The cache keeps files mapped and what was learned of their blocks: libipt's fastest way.
	struct pt_image_section_cache *cache = pt_iscache_alloc(NULL);
	pt_iscache_set_limit(cache, UINT64_C(1) << 30);
	for (int arg = 2; arg < argc; arg++) {
		char path[4096];
		unsigned long offset, size, address;
		if (sscanf(argv[arg], "%4095[^:]:%lx:%lx:%lx", path, &offset, &size, &address) != 4)
			return 2;
		int section = pt_iscache_add_file(cache, path, offset, size, address);
		if (section < 0 || pt_image_add_cached(image, cache, section, NULL) < 0)
			return 2;
	}
	pt_blk_set_image(decoder, image);

	uint64_t instructions = 0, errors = 0;
	int code;
	while ((code = pt_blk_sync_forward(decoder)) >= 0) {
		for (;;) {
			struct pt_event event;
			while (code >= 0 && (code & pts_event_pending))
				code = pt_blk_event(decoder, &event, sizeof(event));
			if (code < 0 || (code & pts_eos))
				break;
			struct pt_block block;
			code = pt_blk_next(decoder, &block, sizeof(block));
			instructions += block.ninsn;
			if (code < 0)
				break;
		}
		if (code < 0 && code != -pte_eos)
			errors++;
	}
	printf("%llu %llu\n", (unsigned long long)instructions, (unsigned long long)errors);
	return 0;
}
