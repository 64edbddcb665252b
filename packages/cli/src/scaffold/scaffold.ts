import { basename } from 'node:path'
import { ask } from '../ask.ts'
import type { Context } from '../context.ts'
import { bold, green } from '../output.ts'
import { scaffoldFiles } from './files.ts'
import { findLocalAgents } from './local-agents.ts'
import { placeFile } from './place.ts'

export interface Scaffolded {
  folder: string
  name: string
  created: string[]
  /** There already, and left as they are. */
  kept: string[]
  wired: { agent: string; path: string; done: boolean }[]
}

/** Writes what is missing of a project, and teaches coding agents that are found here how work is handed over. */
export async function scaffold(
  ctx: Context,
  input: { folder: string; name?: string | undefined; wire: boolean; yes: boolean },
): Promise<Scaffolded> {
  const { folder } = input
  const name = input.name ?? (basename(folder) || 'project')
  const made: Scaffolded = { folder, name, created: [], kept: [], wired: [] }
  for (const [path, text] of Object.entries(scaffoldFiles(name))) made[await placeFile(folder, path, text)].push(path)
  const agents = input.wire ? await findLocalAgents(folder, ctx.io.env.HOME) : []
  for (const agent of agents) {
    const question = `${agent.name} is used here. Teach it how work is handed over (${agent.path})?`
    // Without a terminal nobody can be asked, and it is what the command is for.
    if (!input.yes && (await ask(ctx, question)) === false) continue
    made.wired.push({ agent: agent.name, path: agent.path, done: (await agent.wire(folder)) === 'created' })
  }
  return made
}

export function printScaffolded({ out }: Context, made: Scaffolded, next: readonly string[]): void {
  if (out.json) return out.document(made)
  out.line(green('✓ '), bold(made.name), ` in ${made.folder}`)
  for (const path of made.created) out.line('  created  ', path)
  for (const path of made.kept) out.line('  kept     ', path, ', which was there')
  for (const { agent, path, done } of made.wired)
    out.line(done ? '  wired    ' : '  kept     ', path, done ? ` for ${agent}` : `, which ${agent} has already`)
  out.note('Next:')
  for (const command of next) out.note('  $ ', command)
}
