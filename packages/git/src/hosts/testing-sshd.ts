import { execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { freePort } from './testing-port.ts'

export type Sshd = Awaited<ReturnType<typeof serveSsh>>

/** npm test unpacks Debian's openssh-server here. It does not install it: installed, it would serve this machine. */
const unpacked = join(import.meta.dir, '../../../../node_modules/.cache/openssh-server')

/** The path of sshd; null when this machine has none. */
export function findSshd(): string | null {
  const candidates = [Bun.which('sshd'), '/usr/sbin/sshd', join(unpacked, 'usr/sbin/sshd')]
  const found = candidates.find((path) => path && existsSync(path)) ?? null
  // As root, sshd needs an unprivileged user; a namespace provides one.
  return found !== null && (!isRoot() || Bun.which('bwrap')) ? found : null
}

const isRoot = () => process.getuid?.() === 0

/** A real sshd on loopback with its own configuration, host keys, and user keys. */
export async function serveSsh(dir: string) {
  const program = findSshd()
  if (program === null) throw new Error('There is no sshd on this machine.')
  const port = await freePort()
  mkdirSync(dir, { recursive: true, mode: 0o700 })
  const authorized = join(dir, 'authorized_keys')
  writeFileSync(authorized, '', { mode: 0o600 })
  let keys = 0
  const start = async () => {
    const hostKey = join(dir, `host_key_${++keys}`)
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', hostKey])
    const config = join(dir, 'sshd_config')
    writeFileSync(config, configuration({ port, hostKey, authorized }))
    const [command = '', ...args] = [...lendUser(dir), program, '-D', '-e', '-f', config]
    const child = spawn(command, args, { env: serverEnvironment(), stdio: ['ignore', 'ignore', 'pipe'] })
    let said = ''
    child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()))
    const ended = new Promise<void>((resolve) => child.on('close', () => resolve()))
    await untilListening(port, () => {
      if (child.exitCode !== null) throw new Error(`sshd did not start: ${said}`)
    })
    return async () => {
      child.kill('SIGTERM')
      await ended
    }
  }
  let stop = await start()
  return {
    port,
    /** `ssh://user@127.0.0.1:port`, to which a path is appended. */
    origin: `ssh://${execFileSync('id', ['-un']).toString().trim()}@127.0.0.1:${port}`,
    /** Accepts a public key: for everything, for reading only, or to run this program instead of the requested one. */
    authorize(publicKey: string, access: 'write' | 'read' | { program: string } = 'write'): void {
      const says = 'ERROR: The key you are authenticating with has been marked as read only.'
      const readOnly = `case "$SSH_ORIGINAL_COMMAND" in git-receive-pack*) echo "${says}" >&2; exit 1;; *) eval "$SSH_ORIGINAL_COMMAND";; esac`
      const forced = access === 'read' ? readOnly : access === 'write' ? null : access.program
      const options = forced === null ? 'restrict ' : `restrict,command="${forced.replaceAll('"', '\\"')}" `
      writeFileSync(authorized, `${readFileSync(authorized, 'utf8')}${options}${publicKey.trim()}\n`)
    },
    /** Restarts it on the same port with another host key. */
    async changeHostKey(): Promise<void> {
      await stop()
      stop = await start()
    },
    close: () => stop(),
  }
}

/** A key pair made by ssh-keygen. */
export function makeSshKey(
  dir: string,
  options: { type?: 'ed25519' | 'rsa' | 'ecdsa'; pem?: boolean; passphrase?: string } = {},
): { privateKey: string; publicKey: string } {
  const path = join(dir, `key-${crypto.randomUUID()}`)
  mkdirSync(dir, { recursive: true, mode: 0o700 })
  const format = options.pem ? ['-m', 'PEM'] : []
  const type = options.type ?? 'ed25519'
  execFileSync('ssh-keygen', [
    ...['-q', '-t', type, ...format, '-N', options.passphrase ?? '', '-C', 'test', '-f', path],
  ])
  return { privateKey: readFileSync(path, 'utf8'), publicKey: readFileSync(`${path}.pub`, 'utf8') }
}

function configuration(input: { port: number; hostKey: string; authorized: string }): string {
  return [
    `Port ${input.port}`,
    'ListenAddress 127.0.0.1',
    `HostKey ${input.hostKey}`,
    `AuthorizedKeysFile ${input.authorized}`,
    'PidFile none',
    'StrictModes no',
    'UsePAM no',
    'PermitRootLogin prohibit-password',
    'PasswordAuthentication no',
    'KbdInteractiveAuthentication no',
    'AcceptEnv GIT_PROTOCOL',
    'LogLevel ERROR',
    '',
  ].join('\n')
}

function lendUser(dir: string): string[] {
  if (!isRoot()) return []
  const passwd = join(dir, 'passwd')
  const users = readFileSync('/etc/passwd', 'utf8')
  writeFileSync(
    passwd,
    /^sshd:/m.test(users) ? users : `${users.trimEnd()}\nsshd:x:65534:65534::/run/sshd:/usr/sbin/nologin\n`,
  )
  const mounts = ['--dev-bind', '/', '/', '--ro-bind', passwd, '/etc/passwd', '--tmpfs', '/run', '--dir', '/run/sshd']
  return ['bwrap', ...mounts, '--cap-add', 'ALL', '--die-with-parent', '--']
}

function serverEnvironment(): Record<string, string> {
  const libraries = join(unpacked, 'lib')
  return {
    PATH: process.env.PATH ?? '/usr/bin:/bin',
    ...(existsSync(libraries) ? { LD_LIBRARY_PATH: libraries } : {}),
  }
}

async function untilListening(port: number, check: () => void): Promise<void> {
  const deadline = Date.now() + 45_000
  for (;;) {
    check()
    const isUp = await new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1', () => {
        socket.destroy()
        resolve(true)
      })
      socket.on('error', () => resolve(false))
    })
    if (isUp) return
    if (Date.now() > deadline) throw new Error('sshd does not listen.')
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
