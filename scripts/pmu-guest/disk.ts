import { chmodSync, copyFileSync, existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from './commands.ts';
import { HERE } from './paths.ts';

/** Documentation, translations and tables that no test reads: half of what Debian's packages unpack to. */
const LEFT_OUT = ['boot', 'usr/share', 'usr/include', 'usr/lib/aarch64-linux-gnu/gconv'];

const MOUNT_POINTS = ['dev', 'proc', 'sys', 'tmp', 'run', 'root', 'host', 'tools', 'etc', 'home/ada'];

/** An ordinary user beside root, for tests of what such a user may. */
const PASSWD = 'root:x:0:0:root:/root:/bin/bash\nada:x:1000:1000:Ada:/home/ada:/bin/bash\n';
const GROUP = 'root:x:0:\nada:x:1000:\n';

/** Make the disk image out of the unpacked packages. */
export async function makeDisk(rootFolder: string, image: string): Promise<void> {
  for (const path of LEFT_OUT) rmSync(join(rootFolder, path), { recursive: true, force: true });
  for (const path of MOUNT_POINTS) mkdirSync(join(rootFolder, path), { recursive: true });
  writeFileSync(join(rootFolder, 'etc/passwd'), PASSWD);
  writeFileSync(join(rootFolder, 'etc/group'), GROUP);
  writeFileSync(join(rootFolder, 'etc/hosts'), '127.0.0.1 localhost pmu-guest\n');
  copyFileSync(join(HERE, 'guest/agent'), join(rootFolder, 'agent'));
  chmodSync(join(rootFolder, 'agent'), 0o755);
  if (!existsSync(join(rootFolder, 'bin/sh'))) symlinkSync('bash', join(rootFolder, 'bin/sh'));

  const mebibytes = Number.parseInt(await run('du', ['-sm', rootFolder]), 10);
  const words = ['-q', '-F', '-t', 'ext4', '-O', '^has_journal', '-E', 'root_owner=0:0', '-d', rootFolder];
  await run('mke2fs', [...words, image, `${mebibytes + 48}M`], {
    env: { ...process.env, PATH: `${process.env['PATH']}:/usr/sbin:/sbin` },
  });
}
