import { closeSync, existsSync, fstatSync, mkdtempSync, openSync, readSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Remote, SshAccess } from '../repository.ts'

/** How git reaches a host by ssh: with the project's own key and none of the server user's settings. */

export interface SshFiles {
  keyPath: string
  knownHostsPath: string
  close(): void
}

const knownHostsBytesMax = 16 * 1024

/**
 * The key and the known hosts as files for one call. The files are unlinked before they are written and stay readable
 * only through this process's descriptors, so a crash leaves no key behind.
 */
export function openSshFiles(access: SshAccess): SshFiles {
  const dir = mkdtempSync(join(tmpdir(), 'svc-ssh-'))
  const hasProc = existsSync('/proc/self/fd')
  const open = (name: string, text: string) => {
    const path = join(dir, name)
    const fd = openSync(path, 'wx+', 0o600)
    if (hasProc) rmSync(path)
    writeSync(fd, text)
    return { fd, path: hasProc ? `/proc/${process.pid}/fd/${fd}` : path }
  }
  const key = open('key', access.key)
  const knownHosts = open('known_hosts', access.knownHosts ?? '')
  if (hasProc) rmSync(dir, { recursive: true })
  let isOpen = true
  return {
    keyPath: key.path,
    knownHostsPath: knownHosts.path,
    close() {
      // A descriptor closed twice might belong to another file the second time.
      if (!isOpen) return
      isOpen = false
      if (access.knownHosts === null) access.learnt?.(readAll(knownHosts.fd))
      closeSync(key.fd)
      closeSync(knownHosts.fd)
      if (!hasProc) rmSync(dir, { recursive: true, force: true })
    },
  }
}

function readAll(fd: number): string {
  const bytes = Buffer.alloc(Math.min(fstatSync(fd).size, knownHostsBytesMax))
  readSync(fd, bytes, 0, bytes.length, 0)
  return bytes.toString()
}

/** git runs this in a shell. Every part is ours or validated: the pin is an address, the paths are descriptors. */
export function sshCommand(remote: Remote, files: SshFiles | null, silentSeconds: number): string {
  const words = ['ssh', ...(files ? ownKey(remote, files) : ['-oStrictHostKeyChecking=accept-new'])]
  words.push('-oBatchMode=yes', '-oForwardAgent=no', '-oForwardX11=no', '-oPermitLocalCommand=no')
  words.push('-oClearAllForwardings=yes', `-oConnectTimeout=${silentSeconds}`)
  words.push(`-oServerAliveInterval=${Math.max(1, Math.floor(silentSeconds / 2))}`, '-oServerAliveCountMax=2')
  const host = remote.url.startsWith('ssh://') ? new URL(remote.url.replace(/^ssh:/, 'http:')).hostname : '['
  const pin = remote.pin?.[0]
  if (pin && !host.startsWith('[') && /^[0-9a-fA-F.:]+$/.test(pin) && /^[a-zA-Z0-9._-]+$/.test(host)) {
    words.push(`-oHostName=${pin}`)
    if (!files) words.push(`-oHostKeyAlias=${host}`)
  }
  return words.join(' ')
}

function ownKey(remote: Remote, files: SshFiles): string[] {
  return [
    // No configuration of the user or the machine, which could name a proxy, another key, or another host.
    ...['-F', '/dev/null', '-oProxyCommand=none', '-oProxyJump=none', '-oControlPath=none', '-oLogLevel=ERROR'],
    ...['-oIdentitiesOnly=yes', `-oIdentityFile=${files.keyPath}`, '-oIdentityAgent=none'],
    ...['-oPreferredAuthentications=publickey', '-oGSSAPIAuthentication=no', '-oHostbasedAuthentication=no'],
    // The first connection stores the host's key; later ones accept only that key.
    `-oStrictHostKeyChecking=${remote.ssh?.knownHosts == null ? 'accept-new' : 'yes'}`,
    ...[`-oUserKnownHostsFile=${files.knownHostsPath}`, '-oGlobalKnownHostsFile=/dev/null'],
    // The stored key belongs to one address, so it can be stored under a fixed name.
    ...['-oHostKeyAlias=git-host', '-oHashKnownHosts=no', '-oUpdateHostKeys=no', '-oCheckHostIP=no'],
    '-oVerifyHostKeyDNS=no',
  ]
}
