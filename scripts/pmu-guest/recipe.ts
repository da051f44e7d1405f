/** What the guest is made of. Imports nothing; every change here makes another guest (see `paths.ts`). */

export const DEBIAN_SUITE = 'bookworm';

/** Debian's kernel: the `cloud` flavour is smaller, but cannot mount the host's folders (9p). */
export const KERNEL_PACKAGE = 'linux-image-arm64';

export const DEBIAN_PACKAGES = [
  'bash',
  'busybox-static',
  'coreutils',
  'libstdc++6',
  'libatomic1',
  'linux-perf',
];

/** What those depend on, and a guest without package manager, logins and scripts inside perf never needs. */
export const UNNEEDED_PACKAGES =
  /^(base-|debconf|dpkg|gcc-|media-types|perl|libpython.*-stdlib|sensible-utils|tar)/;

/** Node, from npm, which has it as a package. The first is `node`; each is also `node<major>`. */
export const NODE_VERSIONS = [
  {
    version: '20.19.0',
    integrity:
      'sha512-kT7jX7frbsrMrXMsBaFt3Th1SWs5VjxTzd0U8vxcmdCFkaqeu5hFK0+QoYfIo5drmr3DmwJfLtO2gnD/7hNE/Q==',
  },
  {
    version: '24.22.0',
    integrity:
      'sha512-xbI0deR0+gzJizE0IdT7x3ewSqtvWW7tx6QlJIBI6IszUY41yrPmOeS+b6WkA7DmSS8VKJRcMthWVwO1LbjamQ==',
  },
];

/**
 * Modules of the kernel, to reach the disk, the ports and the host's folders. What they depend on is found.
 */
export const KERNEL_MODULES = [
  'virtio_mmio',
  'virtio_blk',
  'virtio_console',
  'crc32c_generic',
  'ext4',
  'overlay',
  '9p',
  '9pnet_virtio',
];

export const MEMORY_MIB = 1024;

export interface SnapshotRecipe {
  cpus: number;
  /** Every instruction takes one nanosecond of the guest's time: counts are exact, time is not the host's. */
  exact: boolean;
}

/**
 * Cortex-A57: six event counters and the cycle counter, of which QEMU counts cycles
 * and, where exact, instructions.
 */
export const CPU = 'cortex-a57';

export const SNAPSHOTS = {
  a57: { cpus: 1, exact: false },
  'a57-icount': { cpus: 1, exact: true },
  'a57-smp': { cpus: 2, exact: false },
  'a57-smp-icount': { cpus: 2, exact: true },
} satisfies Record<string, SnapshotRecipe>;

export type SnapshotName = keyof typeof SNAPSHOTS;
