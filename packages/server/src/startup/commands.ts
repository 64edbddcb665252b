/**
 * What `svc self-host` runs this program for, because it needs the server's settings and data. Each prints one JSON
 * document. Imported when used: a server needs none of them.
 */
import { getPriority, setPriority } from 'node:os'
import { whileStdinIsOpen } from '@svc/contract/daemon/operator-reports'
import type { BackupInput } from '../backup/back-up.ts'
import type { Config } from '../config.ts'

type Command = (config: Config, more: string[]) => Promise<unknown>

const backupNiceness = 10

export const commands: Record<string, Command> = {
  '--doctor': async (config, more) => (await import('../doctor/examine-machine.ts')).examineMachine(config, more),
  '--examine-upgrade': async (config) => (await import('./examine-upgrade.ts')).examineUpgrade(config),
  '--end-sandboxes': async (config, more) => (await import('./end-sandboxes.ts')).endSandboxes(config, more),
  '--rotate-key': async (config) => (await import('../keyring/rotate-command.ts')).rotateKeyOf(config),
  '--move-database': async (config, more) =>
    (await import('./move-database.ts')).moveDatabase(config, (await inputOf(more)).trim(), progress),
  '--sandbox-image': async (config, more) => (await import('./sandbox-image.ts')).writeSandboxImage(config, more),
  '--backup': async (config, more) => {
    // The server and its sessions come first.
    setPriority(Math.max(getPriority(), backupNiceness))
    const asked = JSON.parse(await inputOf(more)) as BackupInput
    await requireFolder(config)
    return (await import('../backup/back-up.ts')).backUp(config, asked, progress)
  },
  '--restore': async (config, more) =>
    (await import('../backup/restore.ts')).restore(config, JSON.parse(await inputOf(more)), progress),
  '--resume': async (config) => (await import('../backup/resume.ts')).resume(config),
  '--list-backups': async (config, more) =>
    (await import('../backup/list.ts')).describeBackups(config, JSON.parse(await inputOf(more)), progress),
  '--remove-backups': async (config, more) =>
    (await import('../backup/remove.ts')).removeBackups(config, JSON.parse(await inputOf(more)), progress),
  '--check': async (config, more) => {
    await inputOf(more)
    await requireFolder(config)
    return (await import('../backup/check/check.ts')).check(config, progress)
  },
}

async function requireFolder(config: Config): Promise<void> {
  await (await import('../backup/reach-data.ts')).requireFolderOfServer(config)
}

/** These come before the configuration is read. */
export const withoutConfig: Record<string, () => Promise<unknown>> = {
  '--examine-settings': async () => (await import('./examine-settings.ts')).examineSettings(JSON.parse(await input())),
}

/** Other users of the machine can read arguments, and none of them stdin. */
function input(): Promise<string> {
  return new Response(Bun.stdin.stream()).text()
}

function inputOf(more: string[]): Promise<string> {
  return more.includes(whileStdinIsOpen) ? lineOfCaller() : input()
}

/** The first line. The end of stdin, which comes with the end of the caller, ends this process as a signal does. */
function lineOfCaller(): Promise<string> {
  const { stdin } = process
  return new Promise((resolve) => {
    let text = ''
    stdin.setEncoding('utf8')
    stdin.on('data', (chunk: string) => {
      text += chunk
      if (text.endsWith('\n')) resolve(text)
    })
    stdin.once('end', () => process.kill(process.pid, 'SIGTERM'))
    // It does not keep a command that is done.
    stdin.unref()
  })
}

function progress(at: object): void {
  process.stderr.write(`${JSON.stringify(at)}\n`)
}
