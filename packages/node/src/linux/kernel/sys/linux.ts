import { CounterpointError } from '@counterpoint/core/base';

/**
 * Throws ERR_NOT_LINUX on other systems, whose kernels neither count nor sample in this way. `what` is the
 * subject of the sentence. Reading recordings asks nothing of the kernel, and never comes here.
 */
export function requireLinux(what: string): void {
  const { platform } = process;
  if (platform === 'linux') return;
  throw new CounterpointError(
    'ERR_NOT_LINUX',
    `${what} needs Linux, because the Linux kernel counts and samples; this is ${platform}`,
    'Recordings of Linux can be read: report, annotate, diff, script, evlist, buildid-list, export, convert, stat report and pt work here; so does openRecording().',
  );
}
