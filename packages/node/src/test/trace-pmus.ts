/** Registers of an ETMv4 with times and ids of processes. */
const ETM = {
  'trcidr/trcidr0': '0x28000ea1',
  'trcidr/trcidr1': '0x4100f403',
  'trcidr/trcidr2': '0x488',
  'trcidr/trcidr8': '0x5',
  'mgmt/trcauthstatus': '0xcc',
};
/**
 * PMUs with traces as their drivers show them in sysfs, by paths below the folder of all
 * (drivers/perf/arm_spe_pmu.c, drivers/hwtracing/coresight/coresight-etm-perf.c). CPU 1 has an ETE.
 */
export const TRACE_PMUS: Readonly<Record<string, string>> = {
  'intel_bts/type': '9',
  'arm_spe_0/type': '10',
  'arm_spe_0/format/ts_enable': 'config:0',
  'arm_spe_0/format/pa_enable': 'config:1',
  'arm_spe_0/format/jitter': 'config:16',
  'arm_spe_0/format/load_filter': 'config:33',
  'arm_spe_0/format/min_latency': 'config2:0-11',
  'arm_spe_0/caps/min_interval': '256',
  'cs_etm/type': '11',
  'cs_etm/format/cycacc': 'config:12',
  'cs_etm/format/contextid': 'config:14',
  'cs_etm/format/timestamp': 'config:28',
  'cs_etm/format/retstack': 'config:29',
  'cs_etm/format/sinkid': 'config2:0-31',
  'cs_etm/sinks/tmc_etr0': '0x12ab34cd',
  ...Object.fromEntries(Object.entries(ETM).map(([path, text]) => [`cs_etm/cpu0/${path}`, text])),
  ...Object.fromEntries(Object.entries(ETM).map(([path, text]) => [`cs_etm/cpu1/${path}`, text])),
  'cs_etm/cpu1/mgmt/trcdevarch': '0x47705a13',
};
