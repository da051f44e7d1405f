/*
 * Oracle of libipt.test.ts: reads records of 64 bytes from standard input and prints what libipt's packet decoder makes of
 * each, from its first byte to the first error: `name size value extra` a packet, `error code` at the end.
 */
#include <intel-pt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define PSB_BYTES 16
#define RECORD_BYTES 64

static void print(const char *name, int size, uint64_t value, unsigned extra)
{
	printf("%s %d %" PRIx64 " %x\n", name, size, value, extra);
}

static int ip(const char *name, int size, const struct pt_packet_ip *packet)
{
	print(name, size, packet->ip, packet->ipc);
	return 1;
}

static int packet(const struct pt_packet *packet, int size)
{
	switch (packet->type) {
	case ppt_pad: print("pad", size, 0, 0); return 1;
	case ppt_psb: print("psb", size, 0, 0); return 1;
	case ppt_psbend: print("psbend", size, 0, 0); return 1;
	case ppt_ovf: print("ovf", size, 0, 0); return 1;
	case ppt_stop: print("stop", size, 0, 0); return 1;
	case ppt_tip: return ip("tip", size, &packet->payload.ip);
	case ppt_tip_pge: return ip("tip.pge", size, &packet->payload.ip);
	case ppt_tip_pgd: return ip("tip.pgd", size, &packet->payload.ip);
	case ppt_fup: return ip("fup", size, &packet->payload.ip);
	case ppt_tnt_8: print("tnt.8", size, packet->payload.tnt.payload, packet->payload.tnt.bit_size); return 1;
	case ppt_tnt_64: print("tnt.64", size, packet->payload.tnt.payload, packet->payload.tnt.bit_size); return 1;
	case ppt_mode:
		if (packet->payload.mode.leaf == pt_mol_exec)
			print("mode.exec", size, 0, packet->payload.mode.bits.exec.csl | packet->payload.mode.bits.exec.csd << 1);
		else
			print("mode.tsx", size, 0, packet->payload.mode.bits.tsx.intx | packet->payload.mode.bits.tsx.abrt << 1);
		return 1;
	case ppt_pip: print("pip", size, packet->payload.pip.cr3, packet->payload.pip.nr); return 1;
	case ppt_vmcs: print("vmcs", size, packet->payload.vmcs.base, 0); return 1;
	case ppt_cbr: print("cbr", size, packet->payload.cbr.ratio, 0); return 1;
	case ppt_tsc: print("tsc", size, packet->payload.tsc.tsc, 0); return 1;
	case ppt_tma: print("tma", size, packet->payload.tma.ctc, packet->payload.tma.fc); return 1;
	case ppt_mtc: print("mtc", size, packet->payload.mtc.ctc, 0); return 1;
	case ppt_cyc: print("cyc", size, packet->payload.cyc.value, 0); return 1;
	case ppt_mnt: print("mnt", size, packet->payload.mnt.payload, 0); return 1;
	case ppt_exstop: print("exstop", size, 0, packet->payload.exstop.ip); return 1;
	case ppt_mwait:
		print("mwait", size, packet->payload.mwait.hints | (uint64_t) packet->payload.mwait.ext << 32, 0);
		return 1;
	case ppt_pwre: print("pwre", size, 0, packet->payload.pwre.state << 4 | packet->payload.pwre.sub_state); return 1;
	case ppt_pwrx: print("pwrx", size, 0, packet->payload.pwrx.last << 4 | packet->payload.pwrx.deepest); return 1;
	case ppt_ptw: print("ptw", size, packet->payload.ptw.payload, packet->payload.ptw.plc << 1 | packet->payload.ptw.ip); return 1;
	default: return 0;
	}
}

int main(void)
{
	uint8_t bytes[PSB_BYTES + RECORD_BYTES];

	for (int at = 0; at < PSB_BYTES; at += 2) {
		bytes[at] = 0x02;
		bytes[at + 1] = 0x82;
	}
	while (fread(bytes + PSB_BYTES, 1, RECORD_BYTES, stdin) == RECORD_BYTES) {
		struct pt_packet_decoder *decoder;
		struct pt_packet next;
		struct pt_config config;
		int size;

		pt_config_init(&config);
		config.begin = bytes;
		config.end = bytes + sizeof(bytes);
		decoder = pt_pkt_alloc_decoder(&config);
		if (decoder == NULL || pt_pkt_sync_set(decoder, 0) < 0 || pt_pkt_next(decoder, &next, sizeof(next)) < 0)
			return 1;
		while ((size = pt_pkt_next(decoder, &next, sizeof(next))) > 0 && packet(&next, size))
			;
		printf("error %d\n", -size);
		pt_pkt_free_decoder(decoder);
	}
	return 0;
}
