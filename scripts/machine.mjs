// The programs of the machine that sessions need. On Debian as root they are installed; elsewhere the command is shown.
import { existsSync } from 'node:fs'
import { findProgram, runQuietly, step } from './console.mjs'

const packages = {
  bubblewrap: { program: 'bwrap', for: 'sessions run in a sandbox made by it' },
  ripgrep: { program: 'rg', for: 'the agent searches with it' },
  uidmap: { program: 'newuidmap', for: 'the sandbox of an unprivileged server needs it' },
}

/** Never fails: a server without sandboxes is still a server, and says so itself when a session is started. */
export async function ensureMachine(names = Object.keys(packages)) {
  if (process.platform !== 'linux') return
  const missing = names.filter((name) => findProgram(packages[name].program) === null)
  if (missing.length === 0) return
  const isDebian = existsSync('/etc/debian_version') && findProgram('apt-get') !== null
  const command = `${isDebian ? 'apt-get install -y' : 'install'} ${missing.join(' ')}`
  if (isDebian && process.getuid() === 0) {
    try {
      await step(`Installing ${missing.join(', ')} with apt-get`, () => aptInstall(missing))
      return
    } catch (error) {
      console.error(error.message.split('\n').slice(-3).join('\n'))
    }
  }
  const reasons = missing.map((name) => `${name}: ${packages[name].for}`).join('; ')
  console.error(`Missing on this machine (${reasons}). As root: ${command}`)
}

async function aptInstall(missing) {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  const install = () =>
    runQuietly('apt-get', ['install', '-y', '--no-install-recommends', ...missing], { env, timeout: 300_000 })
  try {
    await install()
  } catch {
    // A fresh machine or container has no package lists yet.
    await runQuietly('apt-get', ['update'], { env, timeout: 300_000 })
    await install()
  }
}
