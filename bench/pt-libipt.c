/* Peer of bench/pt-packets.ts: libipt's packet decoder over a trace, a number of times; prints the seconds of each. */
#include <intel-pt.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double) now.tv_sec + (double) now.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	FILE *file = fopen(argv[1], "rb");
	if (file == NULL || fseek(file, 0, SEEK_END) != 0)
		return 2;
	size_t size = (size_t) ftell(file);
	uint8_t *bytes = malloc(size);
	rewind(file);
	if (bytes == NULL || fread(bytes, 1, size, file) != size)
		return 2;

	for (int round = atoi(argv[2]); round > 0; round--) {
		struct pt_config config;
		struct pt_packet packet;
		unsigned long packets = 0, kinds = 0;
		double begin = seconds();

		pt_config_init(&config);
		config.begin = bytes;
		config.end = bytes + size;
		struct pt_packet_decoder *decoder = pt_pkt_alloc_decoder(&config);
		if (decoder == NULL || pt_pkt_sync_forward(decoder) < 0)
			return 1;
		while (pt_pkt_next(decoder, &packet, sizeof(packet)) > 0) {
			packets++;
			kinds += packet.type;
		}
		pt_pkt_free_decoder(decoder);
		printf("%.6f %lu %lu\n", seconds() - begin, packets, kinds);
	}
	return 0;
}
