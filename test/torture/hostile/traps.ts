/** Traps for a repository: programs early in every search path, and an address. */
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'

/** Programs that git, or a script it might run, would search for. */
const wanted =
  'sh bash dash env perl python python3 ruby node ssh scp gpg gpg2 gpgsm curl wget nc cat touch less more vi vim nano editor pager git-lfs git-evil ssh-keygen tar gzip unzip sendmail cvs svn'

export interface Traps {
  canary: string
  address: string
  /** A PATH on which every one of these programs is a trap. */
  path: string
  /** The traps that were triggered so far. */
  touched(): Promise<string[]>
  close(): Promise<void>
}

/** Set for a repository's own host, whose programs do not count. */
export const hostMark = 'SVC_HOSTILE_HOST'

export async function setTraps(dir: string): Promise<Traps> {
  const marks = join(dir, 'marks')
  await writeFile(marks, '')
  const script = `#!/bin/sh\n[ -n "$${hostMark}" ] || echo "$0 $* (of $(tr '\\0' ' ' </proc/$PPID/cmdline))" >>${marks}\nexit 1\n`
  const bin = join(dir, 'bin')
  await mkdir(bin)
  for (const name of ['canary', ...wanted.split(' ')]) {
    await writeFile(join(bin, name), script)
    await chmod(join(bin, name), 0o755)
  }
  let visits = 0
  const server = createServer((socket) => {
    visits++
    socket.destroy()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    canary: join(bin, 'canary'),
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    path: `${bin}:${process.env.PATH ?? ''}`,
    async touched() {
      const lines = (await readFile(marks, 'utf8')).split('\n').filter(Boolean)
      return visits === 0 ? lines : [...lines, `${visits} connections to the address`]
    },
    close: () => new Promise((resolve) => server.close(() => resolve())),
  }
}
