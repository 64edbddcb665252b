/** The processes of a sandbox that a torture kills. */
import { ignoreEnded } from '../ignored.ts'
import { procFile } from '../processes.ts'
import { below, type Process, processes, processesInSandboxes } from './sandbox-leaks.ts'

export const victimKinds: Record<string, RegExp> = {
  runtime: /opencode serve/,
  daemon: /^svc-agent(?! git)/,
  'process 1': /^(?:\S*\/)?svc-entrypoint/,
  driver: /bwrap/,
}

export const isOfSandbox = ({ command }: Process) => Object.values(victimKinds).some((kind) => kind.test(command))

export interface Victim extends Process {
  sandboxId: string
}

/** Null when there is none of this kind, or when it ended by itself. */
export function killInSandbox(dataDir: string, kind: string, random: () => number): Victim | null {
  const found = processesInSandboxes(dataDir).filter(({ command }) => victimKinds[kind]!.test(command))
  const victim = found[Math.floor(random() * found.length)]
  if (victim === undefined) return null
  const sandboxId = sandboxOf(victim)
  return killOf(victim) ? { ...victim, sandboxId } : null
}

/** False when it has ended meanwhile; another process may have its number then. */
export function killOf(victim: Process): boolean {
  if (processes().find(({ pid }) => pid === victim.pid)?.command !== victim.command) return false
  try {
    process.kill(victim.pid, 'SIGKILL')
    return true
  } catch {
    ignoreEnded()
    return false
  }
}

/** The sandbox of this process: its folder is mounted there. A driver sees it only in what it runs. */
function sandboxOf(victim: Process): string {
  for (const { pid } of [victim, ...below(victim.pid)]) {
    const [, id] = /sandboxes\/run\/([0-9a-f-]{36})/.exec(procFile(pid, 'mountinfo')) ?? []
    if (id !== undefined) return id
  }
  return ''
}
